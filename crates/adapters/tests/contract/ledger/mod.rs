//! The wallet rail and the sandbox's ledger against each other.

pub mod bench;
mod hostile;
mod mandates;
mod payments;
mod recorded;
mod stakes;
mod wire;
