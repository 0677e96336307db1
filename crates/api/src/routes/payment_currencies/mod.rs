//! Payment currencies.

mod api;
mod model;

pub use api::PaymentCurrenciesApi;
pub use model::*;
