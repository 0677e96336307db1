//! Transfers on hold: refunds, payouts and transfers of deposits whose network moved another amount than ordered.

mod api;
mod model;

pub use api::TransfersApi;
