//! The payment networks of test mode: a ledger with ArcBlock's wire format and a card processor with Stripe's API.
//!
//! Both stand in for external networks, so this crate depends on no other crate of Souk. It parses addresses, transactions and
//! signatures with its own code, written against the published formats. If the store's rails and the sandbox disagree about a format,
//! a contract test fails.

mod admission;
pub mod cards;
mod did;
mod gas_payer;
pub mod ledger;
pub mod store;
pub mod time;
mod wire;

pub use admission::{Admission, Write};
