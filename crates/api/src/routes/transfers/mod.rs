//! Transfers on hold: refunds, payouts and transfers of deposits whose network moved a different amount than ordered.

mod api;
mod model;

pub use api::TransfersApi;
