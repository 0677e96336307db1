//! Decentralised identifiers, keys, and the signed envelopes exchanged with wallets.

mod app_key;
mod did;
mod envelope;
mod envelopes;
mod keys;
mod seals;

pub use app_key::AppKey;
pub use did::{
    DidError, DidHash, DidKind, KeyKind, Role, delegation_address, did_from_public_key, kind_of, parse_did, stake_address, token_address,
};
pub use envelope::{Claims, EnvelopeError, verify};
pub use envelopes::AppEnvelopes;
pub use keys::{KeyError, PublicKey};
pub(crate) use keys::{decode_base58, encode_base58};
pub use seals::HmacSeals;

#[cfg(test)]
mod tests;
