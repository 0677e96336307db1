//! ArcBlock's chains: transactions in both encodings, and the rail that pays over them.

mod any;
mod messages;
mod transaction;
pub(crate) mod wire;

pub use any::{BigUint, Itx, Payload};
pub use messages::*;
pub use transaction::{SignatureError, transaction_hash};
pub use wire::{DecodeError, Format};

#[cfg(test)]
mod tests;
