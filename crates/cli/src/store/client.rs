//! Calls of a store's API, signed with an access token where the store asks who calls.

use super::model::{CategoriesAnswer, Category, ChecksAnswer, Refusal, ReviewAnswer, StoreInfo, UploadsAnswer};
use crate::profile::Connection;
use crate::report::{Check, printable};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use semver::Version;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use souk_adapters::identity::{AppKey, Ed25519TokenKeys, parse_did};
use souk_adapters::system::{SystemClock, SystemRandom};
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{RequestPurpose, SignedRequest, TokenKeys};
use souk_domain::shared::{Clock, Random};
use std::error::Error;
use std::time::Duration;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer, in bytes: a review with a long thread.
const ANSWER_MAX: usize = 8 << 20;
/// The versions that are listed, the newest ones.
const VERSIONS_SHOWN: u32 = 20;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot reach {store}: {cause}. Check the address of the store and the network, and try again")]
    Unreachable { store: String, cause: String },
    #[error("{store} redirects to {to}: use the address of the store that answers itself")]
    Redirects { store: String, to: String },
    #[error("{store} does not answer as a store does ({cause}): check its address")]
    NotAStore { store: String, cause: String },
    /// Its answers are not trusted, and it gets no signed request, which it could pass on to the store that is meant.
    #[error(
        "{store} answers as the store {found}, not as {expected}: if you trust it, run `souk connect {store} --replace`, or correct \
         SOUK_STORE_DID"
    )]
    OtherStore { store: String, expected: Did, found: Did },
    /// The message of the store as it is, and what to do next if the tool knows.
    #[error("{message}{}", next_step(.next.as_deref()))]
    Refused { status: u16, code: String, message: String, next: Option<String> },
}

fn next_step(next: Option<&str>) -> String {
    next.map(|next| format!("\n{next}")).unwrap_or_default()
}

impl StoreError {
    /// Whether the store has answered that there is no such thing.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// The code of a refusal; empty: it has none, or the store has not refused.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } => code,
            _ => "",
        }
    }

    /// Whether the same call can have another answer soon.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { status: 429 | 500..=599, .. })
    }
}

/// Unsigned calls of a store.
pub struct Http {
    client: Client,
    pub address: Url,
}

impl Http {
    /// # Errors
    /// The system has no certificates.
    pub fn new(address: Url) -> Result<Self, StoreError> {
        let builder = Client::builder().user_agent(concat!("souk/", env!("CARGO_PKG_VERSION"))).redirect(Policy::none());
        // A signature is for one address, so a redirect cannot be followed.
        let client = builder.connect_timeout(CONNECT_TIMEOUT).timeout(CALL_TIMEOUT).build();
        let client = client.map_err(|error| StoreError::Unreachable { store: address.to_string(), cause: cause_of(error) })?;
        Ok(Self { client, address })
    }

    /// A request of a path below the address, which begins with no slash.
    pub fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, StoreError> {
        let url = self.address.join(path).map_err(|error| self.not_a_store(error.to_string()))?;
        Ok(self.client.request(method, url))
    }

    /// Sends a request, and reads its answer.
    ///
    /// # Errors
    /// The store does not answer, or refuses.
    pub async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, StoreError> {
        let body = self.read(request).await?;
        serde_json::from_slice(&body).map_err(|error| self.not_a_store(error.to_string()))
    }

    /// Sends a request, and reads the bytes of its answer.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn read(&self, request: RequestBuilder) -> Result<Vec<u8>, StoreError> {
        let response = self.open(request).await?;
        self.body(response).await
    }

    /// Sends a request, and begins to read its answer.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn open(&self, request: RequestBuilder) -> Result<Response, StoreError> {
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().map(printable).ok()).unwrap_or_default();
            return Err(StoreError::Redirects { store: self.address.to_string(), to });
        }
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response).await?;
        Err(self.refusal(status, &body))
    }

    /// What the store says of itself, and its DID.
    ///
    /// # Errors
    /// There is no store at the address.
    pub async fn info(&self) -> Result<(StoreInfo, Did), StoreError> {
        let info: StoreInfo = self.get("api/store.json").await?;
        let did = parse_did(&info.id).map_err(|error| self.not_a_store(error.to_string()))?;
        Ok((info, did))
    }

    /// # Errors
    /// As [`Self::send`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, StoreError> {
        self.send(self.request(Method::GET, path)?).await
    }

    pub fn unreachable(&self, error: reqwest::Error) -> StoreError {
        StoreError::Unreachable { store: self.address.to_string(), cause: cause_of(error) }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, StoreError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if body.len() + chunk.len() > ANSWER_MAX {
                return Err(self.not_a_store(format!("the answer is larger than {ANSWER_MAX} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    pub fn not_a_store(&self, cause: String) -> StoreError {
        StoreError::NotAStore { store: self.address.to_string(), cause: printable(&cause) }
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> StoreError {
        let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
        let Some(message) = refusal.message() else { return self.not_a_store(status.to_string()) };
        let tokens = || self.address.join("developer/access-tokens").map(String::from).unwrap_or_default();
        let code = refusal.code.clone().unwrap_or_default();
        let next = match code.as_str() {
            "TOKEN_UNKNOWN" | "TOKEN_SIGNATURE" | "TOKEN_EXPIRED" => {
                Some(format!("Create an access token at {}, or run `souk connect {}`.", tokens(), self.address))
            }
            "TOKEN_OUT_OF_SCOPE" | "TOKEN_OTHER_APP" => Some(format!("Create an access token that allows it at {}.", tokens())),
            "CI_ISSUER" | "PUBLISHER_NOT_REGISTERED" | "PUBLISHER_OTHER_REPOSITORY" => {
                Some(format!("Register the repository of this CI at {}.", tokens()))
            }
            "PUBLISHER_OTHER_APP" | "PUBLISHER_OTHER_WORKFLOW" | "PUBLISHER_OTHER_ENVIRONMENT" | "PUBLISHER_NEEDS_ENVIRONMENT" => {
                Some(format!("Register what this CI runs for at {}.", tokens()))
            }
            "PUBLISHER_UNPROTECTED_REF" => Some(format!("Protect the branch or tag, or register other ones as well at {}.", tokens())),
            "PUBLISHER_AMBIGUOUS" => Some(format!("Set SOUK_PUBLISHER to the id of the trusted publisher, which is at {}.", tokens())),
            "CI_TOKEN_REPLAYED" => Some("Run the whole job again, and publish each app in a job of its own.".to_owned()),
            "SIGNED_REQUEST_TIME" => Some("Set the clock of this computer.".to_owned()),
            "DEVICE_SIGNED_OUT" => Some(format!("Run `souk login {}`.", self.address)),
            "VERSION_NOT_HIGHER" => Some("Raise the version in blocklet.yml, and pack again.".to_owned()),
            "REVIEW_CATEGORY_REQUIRED" | "CATEGORY_UNKNOWN" => Some("Name the category of the app with --category.".to_owned()),
            _ => None,
        };
        StoreError::Refused { status: status.as_u16(), code: printable(&code), message: printable(&message), next }
    }
}

/// What an error says without the address, which can contain a one-time token.
fn cause_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    printable(&cause.to_string())
}

/// A store that knows the access token.
pub struct Store {
    pub http: Http,
    pub info: StoreInfo,
    pub key: AppKey,
    did: Did,
}

impl Store {
    /// Finds out which store answers, whose DID its signed requests name, and whether it accepts the token.
    ///
    /// # Errors
    /// There is no store at the address, or another one than the connection is for, or the token is not valid.
    pub async fn open(connection: Connection) -> Result<Self, StoreError> {
        let Connection { store, did: expected, key } = connection;
        let http = Http::new(store)?;
        let (info, did) = http.info().await?;
        if let Some(expected) = expected.filter(|expected| *expected != did) {
            return Err(StoreError::OtherStore { store: http.address.into(), expected, found: did });
        }
        let store = Self { http, info, key, did };
        // Before a large upload begins.
        store.signed::<IgnoredAny>(Method::GET, "/api/developer/access-tokens/current", None).await?;
        Ok(store)
    }

    pub async fn uploads(&self, app: &Did) -> Result<UploadsAnswer, StoreError> {
        self.signed(Method::GET, &format!("/api/apps/{app}/uploads?pageSize={VERSIONS_SHOWN}"), None).await
    }

    pub async fn review(&self, app: &Did, version: &Version) -> Result<ReviewAnswer, StoreError> {
        self.signed(Method::GET, &format!("/api/apps/{app}/versions/{version}/review"), None).await
    }

    /// Empty until they have run.
    pub async fn checks(&self, app: &Did, version: &Version) -> Result<Vec<Check>, StoreError> {
        let answer: ChecksAnswer = self.signed(Method::GET, &format!("/api/apps/{app}/versions/{version}/checks"), None).await?;
        Ok(answer.list)
    }

    /// Takes a step on a version, such as `request` or `yank`.
    pub async fn take(&self, app: &Did, version: &Version, step: &Step<'_>) -> Result<ReviewAnswer, StoreError> {
        let body = json!({ "step": step.name, "comment": step.comment, "category_id": step.category });
        self.signed(Method::PUT, &format!("/api/apps/{app}/versions/{version}/review"), Some(body)).await
    }

    pub async fn categories(&self) -> Result<Vec<Category>, StoreError> {
        let answer: CategoriesAnswer = self.http.get("api/categories").await?;
        Ok(answer.list)
    }

    /// Sends a request that the token signs. `path` begins with a slash, as the store sees it.
    async fn signed<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<Value>) -> Result<T, StoreError> {
        let signer = Signer { store: &self.did, key: &self.key, header: "x-souk-token" };
        let call = self.http.signed(&signer, method, path, body.map(|body| body.to_string()).unwrap_or_default())?;
        self.http.send(call).await
    }
}

/// The key that signs requests of a store.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'s> {
    /// The DID of the store.
    pub store: &'s Did,
    pub key: &'s AppKey,
    /// The header that names the key.
    pub header: &'static str,
}

impl Http {
    /// A request that a key signs. `path` begins with a slash, as the store sees it; an empty body is none.
    pub fn signed(&self, signer: &Signer<'_>, method: Method, path: &str, body: String) -> Result<RequestBuilder, StoreError> {
        let (signed_at, nonce) = (SystemClock.now().seconds(), hex::encode((&SystemRandom as &dyn Random).bytes::<16>()));
        let request = SignedRequest {
            store: signer.store,
            purpose: if method == Method::GET { RequestPurpose::Read } else { RequestPurpose::Write },
            method: method.as_str(),
            path,
            body_digest: &hex::encode(Ed25519TokenKeys.digest(body.as_bytes())),
            token: signer.key.did(),
            signed_at,
            nonce: &nonce,
            signature: "",
        };
        let signature = signer.key.sign_base58(request.text().as_bytes());
        let call = self.request(method.clone(), path.trim_start_matches('/'))?;
        let call = call.header(signer.header, signer.key.did().as_str()).header("x-souk-time", signed_at.to_string());
        let call = call.header("x-souk-nonce", nonce).header("x-souk-signature", signature);
        Ok(if body.is_empty() { call } else { call.header(CONTENT_TYPE, "application/json").body(body) })
    }
}

/// A step on a version.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step<'s> {
    pub name: &'s str,
    pub comment: &'s str,
    /// The id of a category.
    pub category: Option<&'s str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::tests::site;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_store_with_another_did_gets_no_signed_request() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let store = site(move |path, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            let answer = if path == "/api/store.json" { r#"{"id":"zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr"}"# } else { "{}" };
            answer.to_owned()
        });
        let store = store.await;
        let connection =
            |did: &str| Connection { store: store.clone(), did: Some(parse_did(did).expect("a DID")), key: AppKey::from_seed(&[1; 32]) };
        let refused = Store::open(connection("z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ")).await.err().expect("is refused").to_string();
        assert!(refused.contains("zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr") && refused.contains("--replace"), "{refused}");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        Store::open(connection("zNKtCNqYWLYWYW3gWRA1vnRykfCBZYHZvzKr")).await.map_err(|error| error.to_string()).expect("opens");
        assert_eq!(calls.load(Ordering::Relaxed), 3);
    }
}
