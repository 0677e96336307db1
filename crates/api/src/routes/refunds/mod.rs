//! Money that goes back to customers over the network that brought it.

mod api;
mod model;

pub use api::{RefundListModel, RefundsApi};
pub use model::{RefundAnswerModel, RefundInputModel, RefundModel, order_refund};
