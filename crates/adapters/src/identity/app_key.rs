//! The store's own identity on networks that use DIDs, and the keys of access tokens.

use super::did::{DidHash, KeyKind, Role, did_from_public_key};
use super::envelope;
use super::keys::{PublicKey, decode_base58, encode_base58};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Map, Value};
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;
use std::fmt;

/// The longest secret of an access token in base58, in bytes: one of 64 bytes has at most 89.
const SECRET_MAX: usize = 100;

/// An ed25519 key in one role. The one that represents this store has the role of an application: a holder of it can spend every delegation
/// that customers have granted.
#[derive(Clone)]
pub struct AppKey {
    signing: SigningKey,
    public: PublicKey,
    did: Did,
}

impl AppKey {
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self::with_role(seed, Role::Application)
    }

    /// The key of an access token, from the secret that its developer was shown (reference/store.md 4): seed and public key, multibase
    /// base58btc. `None`: the text is no such secret.
    #[must_use]
    pub fn from_token_secret(secret: &str) -> Option<Self> {
        let bytes = Some(secret).filter(|secret| secret.len() <= SECRET_MAX).and_then(decode_base58)?;
        let (seed, public) = bytes.split_first_chunk::<32>()?;
        let key = Self::with_role(seed, Role::Account);
        (key.public.as_bytes() == public).then_some(key)
    }

    pub(crate) fn with_role(seed: &[u8; 32], role: Role) -> Self {
        let signing = SigningKey::from_bytes(seed);
        let public = PublicKey::ed25519(signing.verifying_key().as_bytes());
        let did = did_from_public_key(&public, role);
        Self { signing, public, did }
    }

    #[must_use]
    pub const fn did(&self) -> &Did {
        &self.did
    }

    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The public key in its wire form, `z…`.
    #[must_use]
    pub fn public_key_base58(&self) -> String {
        self.public.to_base58()
    }

    /// Signs the SHA3-256 digest of `data`, as chains and wallets expect.
    #[must_use]
    pub fn sign(&self, data: &[u8]) -> [u8; 64] {
        self.signing.sign(&DidHash::Sha3.digest(data)).to_bytes()
    }

    /// As [`Self::sign`], multibase base58btc.
    #[must_use]
    pub fn sign_base58(&self, data: &[u8]) -> String {
        encode_base58(&self.sign(data))
    }

    /// Signs an envelope of this store around `body`, valid for five minutes from `now`. Drops null and empty members of `body`.
    #[must_use]
    pub fn sign_envelope(&self, body: Map<String, Value>, now: Timestamp) -> String {
        let unsigned = envelope::unsigned(KeyKind::Ed25519, &self.did, body, now);
        let signature = self.sign(unsigned.as_bytes());
        envelope::assemble(&unsigned, &signature)
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppKey({})", self.did)
    }
}
