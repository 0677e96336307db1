//! The store's own identity on networks that use DIDs.

use super::did::{DidHash, KeyKind, Role, did_from_public_key};
use super::envelope;
use super::keys::PublicKey;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Map, Value};
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;
use std::fmt;

/// The key that represents this store: an ed25519 key in the role of an application. A holder of this key can spend every delegation
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
