//! Prices, and the products they are of, on the wire.

mod api;
mod model;
mod wire;

pub use api::PricesApi;
pub use model::*;
pub use wire::*;
