//! What test mode pays against: a ledger that speaks ArcBlock's wire and a card processor that speaks Stripe's.
//!
//! Both stand in for external networks, so this crate depends on no other crate of Souk: it reads addresses, transactions and
//! signatures with code of its own, written against the published formats. Where the store's rails and the sandbox disagree about a
//! format, a contract test fails.

pub mod cards;
mod did;
mod gas_payer;
pub mod ledger;
pub mod store;
pub mod time;
mod wire;
