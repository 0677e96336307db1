//! Implements the domain's [`DidAuthTokens`] port with the store's key.

use super::{AppKey, EnvelopeError, parse_did, verify};
use serde_json::Value;
use souk_domain::access::{self, Did, DidAuthTokens, OpenedEnvelope};
use souk_domain::shared::Timestamp;

pub struct AppDidAuthTokens {
    key: AppKey,
    public_key: String,
}

impl AppDidAuthTokens {
    #[must_use]
    pub fn new(key: AppKey) -> Self {
        let public_key = key.public_key_base58();
        Self { key, public_key }
    }
}

impl DidAuthTokens for AppDidAuthTokens {
    fn app_did(&self) -> &Did {
        self.key.did()
    }

    fn app_key(&self) -> &str {
        &self.public_key
    }

    fn sign(&self, claims: &str, now: Timestamp) -> String {
        let claims = match serde_json::from_str(claims) {
            Ok(Value::Object(claims)) => claims,
            _ => serde_json::Map::new(),
        };
        self.key.sign_envelope(claims, now)
    }

    fn open(&self, envelope: &str, public_key: &str, now: Timestamp) -> Result<OpenedEnvelope, access::EnvelopeError> {
        let claims = verify(envelope, public_key, now).map_err(|error| match error {
            EnvelopeError::Invalid => access::EnvelopeError::Invalid,
            EnvelopeError::Expired => access::EnvelopeError::Expired,
        })?;
        Ok(OpenedEnvelope { issuer: claims.issuer, body: Value::Object(claims.body).to_string() })
    }

    fn parse_did(&self, text: &str) -> Option<Did> {
        parse_did(text).ok()
    }
}
