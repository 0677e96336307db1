//! Products.

mod api;
mod model;

pub use api::ProductsApi;
pub use model::*;
