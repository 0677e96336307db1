//! Money that goes back to customers.

mod api;
mod model;

pub use api::RefundsApi;
pub use model::{RefundInputModel, RefundModel, refund};
