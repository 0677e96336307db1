//! Tests the wallet rail and the sandbox's ledger against each other.

pub mod bench;
mod generations;
mod hostile;
mod mandates;
mod movements;
mod payments;
mod recorded;
mod retention;
mod schema;
pub mod stakes;
mod wire;
