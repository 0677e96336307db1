//! Refunds to customers over the network of the payment.

mod api;
mod model;

pub use api::{RefundListModel, RefundsApi};
pub use model::{RefundAnswerModel, RefundInputModel, RefundModel, order_refund, refund_models};
