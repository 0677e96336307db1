//! Prices, and the wire models of prices and products.

mod api;
mod model;
mod wire;

pub use api::PricesApi;
pub use model::*;
pub use wire::*;
