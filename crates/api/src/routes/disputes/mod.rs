//! Disputes of card payments, for those who run the store.

mod api;
mod model;

pub use api::DisputesApi;
pub use model::{DisputeModel, disputes};
