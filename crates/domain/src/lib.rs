//! Rules and ports of Souk: no async runtime, no database, no HTTP, no clock of its own.

pub mod access;
pub mod billing;
pub mod checkout;
pub mod context;
pub mod customer;
pub mod doctor;
pub mod events;
mod handlers;
pub mod ledger;
pub mod mail;
pub mod operation;
pub mod payment;
pub mod pricing;
pub mod privacy;
pub mod profile;
pub mod publishing;
pub mod shared;
pub mod storage;
pub mod store;

pub use handlers::{purpose_handlers, stake_uses};
