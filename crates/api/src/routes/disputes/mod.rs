//! Disputes of card payments, for the store's admins.

mod api;
mod model;

pub use api::DisputesApi;
pub use model::{DisputeModel, disputes};
