//! Checkout sessions.

mod api;
mod manage;
mod model;
mod offers;
mod terms;

pub use api::CheckoutApi;
pub use manage::*;
pub use model::*;
pub use offers::OffersApi;
pub use terms::*;
