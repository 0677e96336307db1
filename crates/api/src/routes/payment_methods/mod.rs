//! Payment methods.

mod api;
mod check;
mod model;

pub use api::PaymentMethodsApi;
pub use check::*;
pub use model::*;
