//! Refunds to customers over the network of the payment.

mod api;
mod model;

pub use api::{RefundListModel, RefundsApi};
pub use model::{FailureModel, RefundAnswerModel, RefundInputModel, RefundModel, order_refund, refund_model, refund_models};
