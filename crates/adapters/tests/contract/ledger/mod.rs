//! The wallet rail and the sandbox's ledger against each other.

mod bench;
mod hostile;
mod payments;
mod recorded;
mod wire;
