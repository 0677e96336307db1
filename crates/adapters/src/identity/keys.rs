//! Public keys in the form that wallets send, and the verification of their signatures.

use super::did::{KeyKind, did_of_kind, kind_of};
use k256::ecdsa::signature::hazmat::PrehashVerifier;
use souk_domain::access::Did;

/// The longest text of a key, in characters: 65 bytes have 90. Decoding base58 takes time that grows with the square of its length, and
/// anybody can send a text of a megabyte.
const KEY_TEXT_MAX: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("not a public key of this kind")]
    Malformed,
    #[error("the public key does not belong to the DID")]
    Foreign,
}

/// A public key of a known kind: 32 bytes for ed25519, 65 bytes with a leading 4 for secp256k1, 64 bytes for Ethereum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    kind: KeyKind,
    bytes: Vec<u8>,
}

impl PublicKey {
    pub fn new(kind: KeyKind, bytes: &[u8]) -> Result<Self, KeyError> {
        let well_formed = match kind {
            KeyKind::Ed25519 => bytes.len() == 32,
            KeyKind::Secp256k1 => bytes.len() == 65 && bytes[0] == 4,
            KeyKind::Ethereum => bytes.len() == 64,
        };
        if well_formed { Ok(Self { kind, bytes: bytes.to_vec() }) } else { Err(KeyError::Malformed) }
    }

    /// Reads the key of `did`. Fails unless the DID is derived from the key.
    pub fn of_did(did: &Did, bytes: &[u8]) -> Result<Self, KeyError> {
        let kind = kind_of(did).map_err(|_| KeyError::Foreign)?;
        let key = Self::new(kind.key, bytes)?;
        if did_of_kind(&key, kind) == *did { Ok(key) } else { Err(KeyError::Foreign) }
    }

    /// Like [`Self::of_did`], for the base58 text (`z…`) that wallets send.
    pub fn of_did_base58(did: &Did, text: &str) -> Result<Self, KeyError> {
        let bytes = Some(text).filter(|text| text.len() <= KEY_TEXT_MAX).and_then(decode_base58);
        Self::of_did(did, &bytes.ok_or(KeyError::Malformed)?)
    }

    #[must_use]
    pub fn ed25519(bytes: &[u8; 32]) -> Self {
        Self { kind: KeyKind::Ed25519, bytes: bytes.to_vec() }
    }

    #[must_use]
    pub const fn kind(&self) -> KeyKind {
        self.kind
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[must_use]
    pub fn to_base58(&self) -> String {
        encode_base58(&self.bytes)
    }

    /// Verifies a signature. For ed25519, `message` is the signed message; for the other kinds it is the signed 32-byte digest, and the
    /// signature must be DER-encoded with a low `s`, so that it cannot be altered into a second valid signature.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.kind {
            KeyKind::Ed25519 => self.verify_ed25519(message, signature).is_some(),
            KeyKind::Secp256k1 => verify_ecdsa(&self.bytes, message, signature).is_some(),
            KeyKind::Ethereum => verify_ecdsa(&[&[4], self.bytes.as_slice()].concat(), message, signature).is_some(),
        }
    }

    fn verify_ed25519(&self, message: &[u8], signature: &[u8]) -> Option<()> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(self.bytes.as_slice().try_into().ok()?).ok()?;
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        key.verify_strict(message, &signature).ok()
    }
}

fn verify_ecdsa(point: &[u8], digest: &[u8], signature: &[u8]) -> Option<()> {
    let key = k256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
    let signature = k256::ecdsa::Signature::from_der(signature).ok()?;
    if digest.len() != 32 || signature.normalize_s() != signature {
        return None;
    }
    key.verify_prehash(digest, &signature).ok()
}

/// Encodes bytes as multibase base58btc, the wire form of keys, signatures and transactions.
pub(crate) fn encode_base58(bytes: &[u8]) -> String {
    format!("z{}", bs58::encode(bytes).into_string())
}

pub(crate) fn decode_base58(text: &str) -> Option<Vec<u8>> {
    bs58::decode(text.strip_prefix('z')?).into_vec().ok()
}
