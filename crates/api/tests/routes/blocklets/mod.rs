//! The compatibility layer of published tools: uploads, manifests and bundles.

mod checks;
mod hostile;
mod load;
mod reading;
mod reviews;
mod upload;

use crate::admin::app::{TestApp, Who};
use poem::Body;
use poem::http::StatusCode;
use serde_json::Value;
use souk_adapters::identity::AppKey;
use souk_adapters::testing::upload::{SignedUpload, TestUpload};
use souk_domain::access::{Did, Role};
use souk_domain::publishing::access_tokens::{AccessToken, AppPattern, TokenScope};
use std::path::Path;
use std::time::Duration;

const BOUNDARY: &str = "----souk-test";

/// A store with a developer.
struct Publishing {
    app: TestApp,
    developer: Who,
}

impl Publishing {
    async fn open() -> Self {
        Self::of(TestApp::open().await).await
    }

    async fn of(app: TestApp) -> Self {
        let key = TestUpload::new(1, "any", "1.0.0", app.ctx.now()).key;
        let developer = enroll_developer(&app, &key).await;
        Self { app, developer }
    }

    fn version(&self, name: &str, version: &str) -> TestUpload {
        TestUpload::new(1, name, version, self.app.ctx.now())
    }

    async fn upload(&self, upload: &SignedUpload) -> (StatusCode, Value) {
        let parts = [("blocklet-meta", upload.document.as_slice()), ("blocklet-tarball", upload.bundle.as_slice()), ("source", b"CLI")];
        self.send(&parts).await
    }

    async fn send(&self, parts: &[(&str, &[u8])]) -> (StatusCode, Value) {
        self.send_body(form(parts)).await
    }

    async fn send_body(&self, body: impl Into<Body>) -> (StatusCode, Value) {
        let request = self.app.client.post("/api/blocklets/upload");
        let request = request.header("content-type", format!("multipart/form-data; boundary={BOUNDARY}")).body(body.into());
        let mut response = request.send().await.0;
        let text = response.take_body().into_string().await.expect("a text");
        (response.status(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// The stored files, and those of uploads in progress.
    fn files(&self) -> usize {
        files_below(self.app.files.path())
    }
}

/// Enrolls a developer whose access token has the key, for all apps and scopes.
async fn enroll_developer(app: &TestApp, key: &AppKey) -> Who {
    let did = developer_of(key);
    let developer = app.enroll(did.clone(), Some(Role::Developer)).await;
    give_token(app, key, &did, TokenScope::ALL, "*").await;
    developer
}

/// The developer whose first access token has the key.
fn developer_of(key: &AppKey) -> Did {
    Did::from_verified(format!("{}-owner", key.did()))
}

/// Stores an access token of a developer that is valid for an hour.
async fn give_token(app: &TestApp, key: &AppKey, owner: &Did, scopes: &[TokenScope], apps: &str) {
    let now = app.ctx.now();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let passports = unit.users().passports(owner).await.expect("reads");
    let token = AccessToken {
        id: key.did().clone(),
        owner: owner.clone(),
        passport_id: passports.first().expect("a passport").id.clone(),
        name: format!("token of {}", key.did()),
        public_key: key.public_key_base58(),
        scopes: scopes.iter().copied().collect(),
        apps: vec![AppPattern::parse(apps).expect("a pattern")],
        created_at: now,
        expires_at: now.plus(Duration::from_secs(3_600)),
        remind_at: None,
        last_used_at: None,
    };
    unit.access_tokens().insert(&token).await.expect("inserts");
    unit.commit().await.expect("commits");
}

fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

/// A multipart form.
fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let file = if *name == "source" { String::new() } else { format!("; filename=\"{name}\"") };
        body.extend(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n").bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}
