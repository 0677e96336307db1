//! Decentralised identifiers, keys, and the signed envelopes exchanged with wallets.

mod app_dids;
mod app_key;
mod did;
mod did_auth_tokens;
mod envelope;
mod keys;
mod mac;
mod token_keys;
mod tool_seals;

pub use app_dids::CheckedAppDids;
pub use app_key::AppKey;
pub use did::{
    DidError, DidHash, DidKind, KeyKind, Role, app_did_of_name, delegation_address, did_from_public_key, kind_of, parse_did, stake_address,
    token_address,
};
pub use did_auth_tokens::AppDidAuthTokens;
pub use envelope::{Claims, EnvelopeError, verify};
pub use keys::{KeyError, PublicKey};
pub(crate) use keys::{decode_base58, encode_base58};
pub use mac::HmacSigner;
pub use token_keys::Ed25519TokenKeys;
pub use tool_seals::SodiumToolSeals;

#[cfg(test)]
mod tests;
