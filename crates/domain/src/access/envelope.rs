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

/// A proof that an app has signed, which is used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppProof {
    /// SHA-256 of what the app has signed, in lower-case hex.
    pub digest: String,
    /// From then on, it is not accepted any more.
    pub expires_at: Timestamp,
}

/// Why an app has not proved its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppProofError {
    #[error("the DID is not that of an application")]
    NotApplication,
    #[error("the public key does not belong to the DID")]
    ForeignKey,
    #[error("the envelope names another issuer")]
    OtherIssuer,
    /// Its signature or its times are not valid, it was made for a wallet, or the app is this store.
    #[error("the envelope is not valid")]
    Invalid,
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
    /// Signs a text with the store's key: ed25519 over its SHA3-256, multibase base58btc. The first line of the text names its format, so
    /// that it cannot be taken for an envelope or a transaction.
    fn sign_text(&self, text: &str) -> String;
    /// Verifies signature, issuer and times. Keys other than ed25519 must use envelope version 1.1.0.
    fn open(&self, envelope: &str, public_key: &str, now: Timestamp) -> Result<OpenedEnvelope, EnvelopeError>;
    /// Checks that an app, which is not this store, has signed an envelope to prove its key. One that it has signed for a wallet, which
    /// everybody gets who connects to the app, proves nothing. An envelope is valid for a day at most.
    fn check_app_proof(&self, app: &Did, public_key: &str, envelope: &str, now: Timestamp) -> Result<AppProof, AppProofError>;
    /// Validates and normalizes an address from user input.
    fn parse_did(&self, text: &str) -> Option<Did>;
}
