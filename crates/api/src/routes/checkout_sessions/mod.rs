//! Checkout sessions.

mod api;
mod manage;
mod model;

pub use api::CheckoutApi;
pub use manage::*;
pub use model::*;
