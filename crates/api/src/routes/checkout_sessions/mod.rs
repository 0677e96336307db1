//! Checkout sessions.

mod api;
mod model;

pub use api::CheckoutApi;
pub use model::*;
