//! Payment links.

mod api;
mod model;

pub use api::PaymentLinksApi;
pub use model::*;
