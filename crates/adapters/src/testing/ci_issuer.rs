//! An issuer of CI tokens on 127.0.0.1, with a discovery document and keys as GitHub and GitLab publish them.

use super::site::{SiteAnswer, site};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the issuer publishes, which a test can change.
#[derive(Debug, Default)]
struct Published {
    /// The names of the keys; each is the key of its name.
    keys: Vec<String>,
    /// The discovery document is that of this issuer.
    issuer: String,
    /// Instead of the keys.
    answer: Option<SiteAnswer>,
    /// How often the keys were fetched.
    fetched: usize,
}

/// A stand-in for an issuer.
pub struct StandInIssuer {
    /// As its tokens name it.
    pub address: String,
    published: Arc<Mutex<Published>>,
}

impl StandInIssuer {
    /// Opens an issuer with a key of the name `first`.
    pub async fn open() -> Self {
        let published = Arc::new(Mutex::new(Published { keys: vec!["first".to_owned()], ..Published::default() }));
        let shown = Arc::clone(&published);
        let address = site(move |path| answer(&mut lock(&shown), path)).await;
        lock(&published).issuer.clone_from(&address);
        Self { address, published }
    }

    /// Publishes these keys only.
    pub fn publish(&self, keys: &[&str]) {
        self.published().keys = keys.iter().map(|name| (*name).to_owned()).collect();
    }

    /// Names another issuer in the discovery document.
    pub fn pose_as(&self, issuer: &str) {
        issuer.clone_into(&mut self.published().issuer);
    }

    /// Answers this instead of the keys.
    pub fn answer_keys(&self, answer: Option<SiteAnswer>) {
        self.published().answer = answer;
    }

    /// How often the keys were fetched.
    #[must_use]
    pub fn fetched(&self) -> usize {
        self.published().fetched
    }

    /// A token that is signed with the key `first`.
    #[must_use]
    pub fn sign(&self, claims: &Value) -> String {
        sign("first", &json!({ "alg": "EdDSA", "typ": "JWT", "kid": "first" }), claims)
    }

    fn published(&self) -> MutexGuard<'_, Published> {
        lock(&self.published)
    }
}

fn lock(published: &Mutex<Published>) -> MutexGuard<'_, Published> {
    published.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A token with any header, signed with the key of a name.
#[must_use]
pub fn sign(key: &str, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = signing_key(key).sign(signed.as_bytes()).to_bytes();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn signing_key(name: &str) -> SigningKey {
    let mut seed = [7; 32];
    for (place, byte) in seed.iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    SigningKey::from_bytes(&seed)
}

fn answer(published: &mut Published, path: &str) -> SiteAnswer {
    match path {
        "/.well-known/openid-configuration" => {
            let issuer = &published.issuer;
            SiteAnswer::ok(json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }).to_string())
        }
        "/keys" => {
            published.fetched += 1;
            let key = |name: &String| {
                let public = URL_SAFE_NO_PAD.encode(signing_key(name).verifying_key().as_bytes());
                json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": name, "x": public })
            };
            let keys: Vec<_> = published.keys.iter().map(key).collect();
            published.answer.clone().unwrap_or_else(|| SiteAnswer::ok(json!({ "keys": keys }).to_string()))
        }
        _ => SiteAnswer { status: 404, ..SiteAnswer::ok("") },
    }
}
