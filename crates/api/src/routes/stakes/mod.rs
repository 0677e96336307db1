//! Stakes: refundable deposits that networks hold for the store.

mod api;
mod model;

pub use api::StakesApi;
pub use model::{OverdraftModel, StakeModel, stakes};
