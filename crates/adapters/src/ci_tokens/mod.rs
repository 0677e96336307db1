//! Implements the domain's [`CiTokens`] port: OIDC tokens of CI, verified with the keys that their issuers publish.

mod claims;
mod keys;

#[cfg(test)]
mod tests;

use crate::outbound::{DocumentReader, PrivateNetworks};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Validation, decode};
use keys::{IssuerKeys, Key};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use souk_domain::publishing::trusted::{CiClaims, CiTokenError, CiTokens, TrustedIssuer};
use souk_domain::shared::Timestamp;
use std::time::Duration;

/// How long the store waits for a document of an issuer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The most characters of a name that a refusal shows.
const SHOWN_MAX: usize = 32;

/// Verifies CI tokens. The keys of issuers are kept in memory.
pub struct OidcCiTokens {
    keys: IssuerKeys,
}

impl OidcCiTokens {
    /// `private`: whether issuers may be in a private network, as a GitLab of one's own is.
    ///
    /// # Errors
    /// The system has no certificates.
    pub fn new(private: PrivateNetworks) -> Result<Self, reqwest::Error> {
        Ok(Self { keys: IssuerKeys::new(DocumentReader::new(private, TIMEOUT)?) })
    }
}

/// The header of a token. Its parameters are those of RFC 7515.
#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that the recipient must understand. This store understands none.
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Unverified {
    iss: String,
}

/// The algorithms with which issuers may sign: none without a signature, and none whose key is a shared secret.
fn allowed(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        "EdDSA" => Algorithm::EdDSA,
        _ => return None,
    })
}

/// A part of a token, which has three.
fn part<T: DeserializeOwned>(token: &str, index: usize) -> Result<T, CiTokenError> {
    let parts: Vec<_> = token.split('.').collect();
    let encoded = parts.get(index).filter(|_| parts.len() == 3).ok_or(CiTokenError::Malformed)?;
    let text = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| CiTokenError::Malformed)?;
    serde_json::from_slice(&text).map_err(|_| CiTokenError::Malformed)
}

#[async_trait]
impl CiTokens for OidcCiTokens {
    fn issuer_of(&self, token: &str) -> Result<String, CiTokenError> {
        part::<Unverified>(token, 1).map(|claims| claims.iss)
    }

    async fn verify(&self, token: &str, issuer: &TrustedIssuer, now: Timestamp) -> Result<CiClaims, CiTokenError> {
        let Header { alg, kid, crit } = part(token, 0)?;
        let shown = || -> String { alg.chars().filter(|letter| !letter.is_control()).take(SHOWN_MAX).collect() };
        let algorithm = allowed(&alg).ok_or_else(|| CiTokenError::Algorithm(shown()))?;
        let kid = kid.filter(|_| crit.is_none()).ok_or(CiTokenError::Malformed)?;
        let Key { algorithm: named, key, .. } = self.keys.find(&issuer.address, &kid, now).await?;
        if named.is_some_and(|named| named != alg) {
            return Err(CiTokenError::Algorithm(shown()));
        }
        let mut validation = Validation::new(algorithm);
        // The library compares with the clock of the system; the domain compares with the clock of the store, and checks the other claims.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let verified = decode::<Value>(token, &key, &validation).map_err(|_| CiTokenError::Signature)?;
        claims::read(&verified.claims, issuer)
    }
}
