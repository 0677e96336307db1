//! Payment methods.

mod api;
mod model;

pub use api::PaymentMethodsApi;
pub use model::*;
