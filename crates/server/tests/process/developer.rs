//! Developers of the store: they sign in with a wallet, get a passport from its operator, upload versions with an access token, and publish
//! them.

use crate::buyer::Buyer;
use crate::souk::Settings;
use crate::store_client::{CallOptions, CallResult, StoreClient};
use reqwest::Method;
use serde_json::{Value, json};
use souk_adapters::testing::RunningClock;
use souk_adapters::testing::upload::{SignedUpload, TestUpload};
use souk_domain::access::Did;
use souk_domain::publishing::bundle::checks::CheckName;
use souk_domain::shared::Clock;
use std::sync::Arc;

const BOUNDARY: &str = "----souk-upload";
/// The content type of a [`Form`].
pub const FORM_TYPE: &str = "multipart/form-data; boundary=----souk-upload";

/// The checks of a version.
pub const CHECKS: usize = CheckName::ALL.len();

/// The form of an upload without its bundle, which stands between its two parts.
pub struct Form {
    pub before: Vec<u8>,
    pub after: Vec<u8>,
}

impl Form {
    pub fn of(document: &[u8]) -> Self {
        let file = |name: &str| {
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n").into_bytes()
        };
        let before = [file("blocklet-meta").as_slice(), document, b"\r\n", file("blocklet-tarball").as_slice()].concat();
        let after = format!("\r\n--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nCLI\r\n--{BOUNDARY}--\r\n");
        Self { before, after: after.into_bytes() }
    }
}

pub struct Developer {
    client: Arc<StoreClient>,
    /// The cookies of the signed-in browser.
    pub cookies: String,
    /// The key of the access token.
    secret: String,
    /// A category of the store.
    category: String,
}

impl Developer {
    /// Signs in and gets a passport and a token. The store is open meanwhile.
    pub async fn enroll(client: Arc<StoreClient>, settings: &Settings, seed: u64) -> Self {
        let visitor = Buyer::arrive(Arc::clone(&client), seed).await;
        let did = visitor.address();
        let issue = ["passport", "issue", "--did", did.as_str(), "--role", "developer"];
        let issued = settings.command(&issue).output().await.expect("souk runs");
        assert!(issued.status.success(), "no passport: {}", String::from_utf8_lossy(&issued.stderr));
        let cookies = visitor.cookies;
        let token = json!({ "name": "test", "scopes": ["publish-new", "publish-update"], "apps": ["*"], "lifetime_days": 1 });
        let created = client.post("api/developer/access-tokens", Some(&cookies), token).await.expect("creates a token");
        let secret = created["secret_key"].as_str().expect("a key").to_owned();
        let categories = client.get("api/categories", None).await.expect("lists");
        let category = categories["list"][0]["id"].as_str().expect("a category").to_owned();
        Self { client, cookies, secret, category }
    }

    /// A version to sign now.
    pub fn version(&self, name: &str, version: &str) -> TestUpload {
        TestUpload::new(0, name, version, RunningClock.now()).signed_by(&self.secret)
    }

    pub async fn upload(&self, upload: &SignedUpload) -> CallResult<Value> {
        let Form { before, after } = Form::of(&upload.document);
        let body = [before, upload.bundle.clone(), after].concat();
        let options = CallOptions { body: Some((FORM_TYPE, body)), ..CallOptions::default() };
        self.client.call(Method::POST, "api/blocklets/upload", options).await.map(|answer| answer.body)
    }

    /// Takes a step of the review of a version.
    async fn take(&self, app: &Did, version: &str, step: Value) -> CallResult<Value> {
        let path = format!("api/apps/{app}/versions/{version}/review");
        let options = CallOptions { cookies: Some(&self.cookies), json: Some(step), ..CallOptions::default() };
        self.client.call(Method::PUT, &path, options).await.map(|answer| answer.body)
    }

    pub async fn publish(&self, app: &Did, version: &str) -> CallResult<Value> {
        self.take(app, version, json!({ "step": "publish", "category_id": self.category })).await
    }

    /// Lets the store publish a version. `at`: as RFC 3339 says.
    pub async fn schedule(&self, app: &Did, version: &str, at: &str) -> CallResult<Value> {
        self.take(app, version, json!({ "step": "schedule", "publish_at": at })).await
    }

    pub async fn yank(&self, app: &Did, version: &str) -> CallResult<Value> {
        self.take(app, version, json!({ "step": "yank", "comment": "It loses files" })).await
    }

    pub async fn is_published(&self, app: &Did, version: &str) -> CallResult<bool> {
        let review = self.client.get(&format!("api/apps/{app}/versions/{version}/review"), Some(&self.cookies)).await?;
        Ok(review["version"]["status"] == "PUBLISHED")
    }

    /// Whether every check of a version has a result.
    pub async fn is_checked(&self, app: &Did, version: &str) -> CallResult<bool> {
        let checks = self.client.get(&format!("api/apps/{app}/versions/{version}/checks"), Some(&self.cookies)).await?;
        Ok(checks["list"].as_array().map_or(0, Vec::len) == CHECKS)
    }
}
