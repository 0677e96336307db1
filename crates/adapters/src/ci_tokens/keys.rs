//! The keys that issuers publish, by OpenID Connect Discovery 1.0.

use crate::outbound::DocumentReader;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::Value;
use souk_domain::publishing::trusted::CiTokenError;
use souk_domain::shared::Timestamp;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// How long keys are used after they were fetched.
const KEYS_AGE_MAX: Duration = Duration::from_secs(3_600);
/// The shortest time between two fetches from an issuer, whether they succeed or not.
const FETCH_INTERVAL: Duration = Duration::from_secs(60);
/// The largest document of an issuer, in bytes. The keys of GitHub have about 10 kB.
const DOCUMENT_MAX: usize = 256 << 10;
/// The most keys of an issuer that are read.
const KEYS_MAX: usize = 100;
/// The most issuers that are remembered. The owner allows fewer.
const ISSUERS_MAX: usize = 64;

/// A key of an issuer.
#[derive(Clone)]
pub struct Key {
    id: String,
    /// The algorithm for which it is meant, if the issuer says so.
    pub algorithm: Option<String>,
    pub key: DecodingKey,
}

#[derive(Default)]
struct Cached {
    keys: Vec<Key>,
    fetched_at: Option<Timestamp>,
    /// The last time that they were to be fetched.
    tried_at: Option<Timestamp>,
}

impl Cached {
    fn find(&self, id: &str) -> Option<Key> {
        self.keys.iter().find(|key| key.id == id).cloned()
    }
}

/// The keys of one issuer. The task that fetches them holds the lock, and other tasks wait for its result.
type SharedCache = Arc<tokio::sync::Mutex<Cached>>;

pub struct IssuerKeys {
    reader: DocumentReader,
    issuers: Mutex<HashMap<String, SharedCache>>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl IssuerKeys {
    pub fn new(reader: DocumentReader) -> Self {
        Self { reader, issuers: Mutex::default() }
    }

    /// The key of an issuer with this id.
    ///
    /// # Errors
    /// The issuer publishes no such key, or does not answer.
    pub async fn find(&self, issuer: &str, id: &str, now: Timestamp) -> Result<Key, CiTokenError> {
        let is_within = |at: Option<Timestamp>, time: Duration| at.is_some_and(|at| now.since(at) < time);
        let mut cached = self.cache_of(issuer).lock_owned().await;
        let is_fresh = is_within(cached.fetched_at, KEYS_AGE_MAX);
        if let Some(key) = cached.find(id).filter(|_| is_fresh) {
            return Ok(key);
        }
        let unknown = || CiTokenError::UnknownKey(issuer.to_owned());
        let unavailable = || CiTokenError::IssuerUnavailable(issuer.to_owned());
        if is_within(cached.tried_at, FETCH_INTERVAL) {
            return Err(if is_fresh { unknown() } else { unavailable() });
        }
        cached.tried_at = Some(now);
        let (reader, address) = (self.reader.clone(), issuer.to_owned());
        // A task of its own: a stranger who asks and goes away must not leave everybody else without keys until the next attempt.
        let fetching = tokio::spawn(async move {
            let keys = fetch(&reader, &address).await?;
            *cached = Cached { keys: keys.clone(), fetched_at: Some(now), tried_at: Some(now) };
            Ok::<_, String>(keys)
        });
        match fetching.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(keys) => keys.into_iter().find(|key| key.id == id).ok_or_else(unknown),
            Err(error) => {
                tracing::warn!(issuer, error, "the keys of an issuer of CI tokens cannot be fetched");
                Err(unavailable())
            }
        }
    }

    fn cache_of(&self, issuer: &str) -> SharedCache {
        let mut issuers = self.issuers.lock().unwrap_or_else(PoisonError::into_inner);
        if issuers.len() >= ISSUERS_MAX && !issuers.contains_key(issuer) {
            issuers.clear();
        }
        Arc::clone(issuers.entry(issuer.to_owned()).or_default())
    }
}

async fn fetch(reader: &DocumentReader, issuer: &str) -> Result<Vec<Key>, String> {
    let address = Url::parse(&format!("{issuer}/.well-known/openid-configuration")).map_err(|error| error.to_string())?;
    let document = reader.read(&address, DOCUMENT_MAX).await.map_err(|error| error.to_string())?;
    let Discovery { issuer: named, jwks_uri } = serde_json::from_slice(&document).map_err(|error| error.to_string())?;
    if named != issuer {
        return Err("its discovery document is that of another issuer".to_owned());
    }
    let keys = Url::parse(&jwks_uri).map_err(|error| error.to_string())?;
    if keys.scheme() != address.scheme() {
        return Err("its keys are not at an address with https".to_owned());
    }
    let document = reader.read(&keys, DOCUMENT_MAX).await.map_err(|error| error.to_string())?;
    let set: KeySet = serde_json::from_slice(&document).map_err(|error| error.to_string())?;
    Ok(set.keys.into_iter().take(KEYS_MAX).filter_map(read_key).collect())
}

/// A public key for signatures. Others, which an issuer may publish as well, are of no use here.
fn read_key(value: Value) -> Option<Key> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let is_for_signatures = text("use").is_none_or(|purpose| purpose == "sig");
    let is_public = matches!(text("kty")?.as_str(), "RSA" | "EC" | "OKP");
    let (id, algorithm) = (text("kid")?, text("alg"));
    let jwk: Jwk = if is_for_signatures && is_public { serde_json::from_value(value).ok()? } else { return None };
    Some(Key { id, algorithm, key: DecodingKey::from_jwk(&jwk).ok()? })
}
