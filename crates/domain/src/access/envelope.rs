//! The signed envelopes that wallets and the store exchange (reference/did-connect.md 2.2).

use super::Did;
use crate::shared::Timestamp;

/// An envelope with valid signature and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedEnvelope {
    pub issuer: Did,
    /// The claims as JSON text.
    pub body: String,
}

/// Why an envelope is rejected. Wallets know these texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("Invalid JWT token")]
    Invalid,
    #[error("JWT token expired, make sure your device time in sync with network")]
    Expired,
}

pub trait DidAuthTokens: Send + Sync {
    /// The store's own address (role application).
    fn app_did(&self) -> &Did;
    /// The store's public key, base58.
    fn app_key(&self) -> &str;
    /// Signs claims (a JSON object as text) for a wallet; issuer and times are added.
    fn sign(&self, claims: &str, now: Timestamp) -> String;
    /// Verifies signature, issuer and times. Keys other than ed25519 must use envelope version 1.1.0.
    fn open(&self, envelope: &str, public_key: &str, now: Timestamp) -> Result<OpenedEnvelope, EnvelopeError>;
    /// Validates and normalizes an address from user input.
    fn parse_did(&self, text: &str) -> Option<Did>;
}
