//! The wallet rail and the sandbox's ledger against each other.

mod bench;
mod hostile;
mod mandates;
mod payments;
mod recorded;
mod stakes;
mod wire;
