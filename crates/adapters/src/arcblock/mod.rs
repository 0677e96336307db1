//! ArcBlock's chains: transactions in both encodings, and the payment rail over these chains.

mod any;
mod gas;
mod generations;
mod graphql;
mod mandate;
mod messages;
mod movements;
mod outcome;
mod rail;
mod stake;
mod stake_terms;
mod states;
mod store_tx;
mod test_wallet;
mod transaction;
mod transfer;
mod wallet_tx;
pub(crate) mod wire;

pub use any::{BigUint, Itx, Payload};
pub use messages::*;
pub use rail::ArcblockRail;
pub use test_wallet::TestWallet;
pub use transaction::{DecodedTransaction, SignatureError, transaction_hash};
pub use wire::{DecodeError, Format};

#[cfg(test)]
mod mandate_tests;
#[cfg(test)]
mod rail_tests;
#[cfg(test)]
mod stake_tests;
#[cfg(test)]
mod store_tx_tests;
#[cfg(test)]
mod tests;
