//! The JWT-like envelopes of DID Connect: three base64url parts, sorted keys, and times as decimal strings.

use super::did::{DidHash, KeyKind, parse_did};
use super::keys::PublicKey;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use souk_domain::access::Did;
use souk_domain::shared::Timestamp;

/// How long an envelope signed by this store is valid, in seconds.
const LIFETIME: i64 = 300;
/// The allowed difference between two clocks, in seconds.
const TOLERANCE: i64 = 5;
/// From this version on, the hash of the text is signed instead of the text.
const HASHED: &str = "1.1.0";
const UNHASHED: &str = "1.0.0";

/// Reasons why an envelope is rejected. Wallets show these texts (did-connect.md 2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("Invalid JWT token")]
    Invalid,
    #[error("JWT token expired, make sure your device time in sync with network")]
    Expired,
}

/// The content of a verified envelope.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    /// The signer's DID in its canonical form.
    pub issuer: Did,
    /// The signer's key.
    pub key: PublicKey,
    /// The whole body, including the envelope's own members.
    pub body: Map<String, Value>,
}

impl Claims {
    /// The Unix seconds at which the envelope was issued, and from which on it is not accepted any more.
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        let time = |name: &str| self.body.get(name).and_then(seconds);
        Some((time("iat")?, time("exp")?.saturating_add(TOLERANCE + 1)))
    }
}

/// Verifies that the owner of `public_key` (base58) signed `token`, and that it is valid at `now`.
///
/// The signature is checked before the times, so that only the signer can get [`EnvelopeError::Expired`].
pub fn verify(token: &str, public_key: &str, now: Timestamp) -> Result<Claims, EnvelopeError> {
    let claims = read(token, public_key).ok_or(EnvelopeError::Invalid)?;
    let time = |name: &str| claims.body.get(name).map(seconds);
    let expires = time("exp").flatten().ok_or(EnvelopeError::Invalid)?;
    let issued = time("iat").flatten().ok_or(EnvelopeError::Invalid)?;
    let not_before = time("nbf").unwrap_or(Some(issued)).ok_or(EnvelopeError::Invalid)?;
    let now = now.seconds();
    let fresh = expires.saturating_add(TOLERANCE) >= now && issued.max(not_before) <= now.saturating_add(TOLERANCE);
    if fresh { Ok(claims) } else { Err(EnvelopeError::Expired) }
}

fn read(token: &str, public_key: &str) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, body) = signed.split_once('.')?;
    let header = object(header)?;
    let body = object(body)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let issuer = parse_did(body.get("iss")?.as_str()?).ok()?;
    let key = PublicKey::of_did_base58(&issuer, public_key).ok()?;
    if !algorithm_fits(header.get("alg")?.as_str()?, key.kind()) {
        return None;
    }
    let genuine = match body.get("version")?.as_str()? {
        HASHED => key.verify(&DidHash::Sha3.digest(signed.as_bytes()), &signature),
        // Only ed25519 hashes its message itself. The other curves sign a digest, and this text is not one.
        UNHASHED if key.kind() == KeyKind::Ed25519 => key.verify(signed.as_bytes(), &signature),
        _ => false,
    };
    genuine.then_some(Claims { issuer, key, body })
}

/// Builds the first two parts of an envelope, which are signed.
pub(super) fn unsigned(kind: KeyKind, issuer: &Did, mut body: Map<String, Value>, now: Timestamp) -> String {
    let at = now.seconds();
    body.insert("iss".to_owned(), json!(format!("did:abt:{issuer}")));
    body.insert("iat".to_owned(), json!(at.to_string()));
    body.insert("nbf".to_owned(), json!(at.to_string()));
    body.insert("exp".to_owned(), json!(at.saturating_add(LIFETIME).to_string()));
    body.insert("version".to_owned(), json!(HASHED));
    body.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    let header = json!({"alg": algorithm(kind), "type": "JWT"});
    format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), URL_SAFE_NO_PAD.encode(Value::Object(body).to_string()))
}

pub(super) fn assemble(unsigned: &str, signature: &[u8]) -> String {
    format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
}

const fn algorithm(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Ed25519 => "Ed25519",
        KeyKind::Secp256k1 => "ES256K",
        KeyKind::Ethereum => "Ethereum",
    }
}

fn algorithm_fits(named: &str, kind: KeyKind) -> bool {
    named.eq_ignore_ascii_case(algorithm(kind)) || (kind == KeyKind::Secp256k1 && named.eq_ignore_ascii_case("secp256k1"))
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Reads a time in seconds. Times are decimal strings, but some signers send numbers.
fn seconds(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
