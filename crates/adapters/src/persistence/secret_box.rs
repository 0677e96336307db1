//! Encryption of secrets at rest. Secrets are encrypted before they reach the database; only a holder of the key can decrypt them.

use chacha20poly1305::aead::{Aead, Generate, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use souk_domain::shared::StorageError;

/// Length in bytes of an XChaCha20 nonce, which precedes the ciphertext. At 192 bits, random nonces do not collide.
const NONCE_LENGTH: usize = 24;

/// Encrypts and decrypts texts with XChaCha20-Poly1305 under one key.
pub struct SecretBox(XChaCha20Poly1305);

impl SecretBox {
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// Encrypts a text. It can be decrypted only for the same `place` (table, column and id), so that somebody with write access to the
    /// database cannot substitute one secret for another.
    pub fn encrypt(&self, place: &str, text: &str) -> Result<Vec<u8>, StorageError> {
        let nonce = XNonce::generate();
        let sealed = self.0.encrypt(&nonce, Payload { msg: text.as_bytes(), aad: place.as_bytes() });
        let sealed = sealed.map_err(|_| StorageError::Driver("a secret could not be encrypted".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts a text that was encrypted for this place. Returns `None` if the key or the place differs, or if the bytes were changed.
    #[must_use]
    pub fn open(&self, place: &str, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LENGTH)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let text = self.0.decrypt(&nonce, Payload { msg: sealed, aad: place.as_bytes() }).ok()?;
        String::from_utf8(text).ok()
    }

    /// Decrypts a column's value; failure is [`StorageError::Corrupt`].
    pub(super) fn open_column(&self, table: &'static str, column: &'static str, id: &str, sealed: &[u8]) -> Result<String, StorageError> {
        self.open(&place(table, column, id), sealed).ok_or_else(|| StorageError::Corrupt {
            table,
            column,
            value: format!("of {id}: it was not encrypted with this store's key"),
        })
    }
}

/// Names the place of a secret: the associated data that binds it to its column and row.
pub(super) fn place(table: &str, column: &str, id: &str) -> String {
    format!("{table}.{column}:{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_decrypts_only_with_its_key_and_in_its_place() {
        let secrets = SecretBox::new(&[7; 32]);
        let sealed = secrets.encrypt("a", "sk_test_1").expect("encrypts");
        assert_eq!(secrets.open("a", &sealed).as_deref(), Some("sk_test_1"));
        assert_eq!(secrets.open("b", &sealed), None);
        assert_eq!(SecretBox::new(&[8; 32]).open("a", &sealed), None);
        assert_eq!(secrets.open("a", &sealed[..20]), None);
        let mut changed = sealed.clone();
        changed[NONCE_LENGTH] ^= 1;
        assert_eq!(secrets.open("a", &changed), None);
    }

    #[test]
    fn encrypting_a_secret_twice_gives_different_bytes() {
        let secrets = SecretBox::new(&[7; 32]);
        let sealed = secrets.encrypt("a", "sk_test_1").expect("encrypts");
        assert_ne!(sealed, secrets.encrypt("a", "sk_test_1").expect("encrypts"));
        assert!(!sealed.windows(9).any(|window| window == b"sk_test_1"));
    }
}
