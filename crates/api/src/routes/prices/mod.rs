//! Prices.

mod api;
mod model;

pub use api::PricesApi;
pub use model::*;
