//! The compatibility layer of published tools: uploads, manifests and bundles.

mod checks;
mod comparison;
mod hostile;
mod installing;
mod load;
mod managed_apps;
mod reading;
mod reference_defects;
mod reviews;
mod selling;
mod signed;
mod upload;

use crate::admin::app::{APP_SEED, TestApp, Who};
use poem::Body;
use poem::http::{Method, StatusCode};
use serde_json::Value;
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::files::{FileStore, SpoolFolder};
use souk_adapters::identity::{AppKey, CheckedAppDids, Ed25519TokenKeys};
use souk_adapters::testing::upload::{SignedUpload, TestUpload};
use souk_domain::access::{Device, Did, Role};
use souk_domain::publishing::access_tokens::{AccessToken, AppPattern, RequestPurpose, SignedRequest, TokenKeys, TokenScope};
use souk_domain::publishing::bundle::checks::{CheckName, CheckPorts, CheckResult, Finding, Rule, run_checks};
use souk_domain::publishing::bundle::parse_version;
use souk_domain::publishing::publication::{PublishPorts, StorePublication, publish_by_store};
use souk_domain::shared::StorageError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const BOUNDARY: &str = "----souk-test";

/// A store with a developer.
pub struct Publishing {
    pub app: TestApp,
    pub developer: Who,
}

impl Publishing {
    pub async fn open() -> Self {
        Self::of(TestApp::open().await).await
    }

    async fn of(app: TestApp) -> Self {
        let key = TestUpload::new(1, "any", "1.0.0", app.ctx.now()).key;
        let developer = enroll_developer(&app, &key).await;
        Self { app, developer }
    }

    pub fn version(&self, name: &str, version: &str) -> TestUpload {
        TestUpload::new(1, name, version, self.app.ctx.now())
    }

    /// Runs the job that publishes a version of the app `hello` by the store.
    async fn publish_by_store(&self, version: &str) -> StorePublication {
        let app = &self.app;
        let (reader, did) = (LocalBundleReader::default(), self.version("hello", version).did());
        let files = FileStore::open(app.files.path().to_owned()).await.expect("opens");
        let ports = PublishPorts { dids: &CheckedAppDids, reader: &reader, files: &files };
        let mut unit = app.ctx.store.read().await.expect("reads");
        let stored = unit.uploads().find_version(&did, &version.parse().expect("a version")).await.expect("reads").expect("exists");
        drop(unit);
        publish_by_store(&app.ctx, &ports, &stored.id).await.expect("ends")
    }

    /// Stores that all checks of a version of the app `hello` have passed, but these.
    async fn check(&self, version: &str, failed: &[CheckName]) {
        let (app, did) = (&self.app, self.version("hello", version).did());
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let stored = unit.uploads().find_version(&did, &version.parse().expect("a version")).await.expect("reads").expect("exists");
        let finding = Finding::of(Rule::DigestBlocked, "a file");
        let result = |name: &CheckName| {
            let findings = if failed.contains(name) { vec![finding.clone()] } else { Vec::new() };
            CheckResult::of(*name, findings, app.ctx.now())
        };
        let results: Vec<_> = CheckName::ALL.iter().map(result).collect();
        unit.uploads().set_checks(&stored.id, &results).await.expect("stores");
        unit.commit().await.expect("commits");
    }

    pub async fn upload(&self, upload: &SignedUpload) -> (StatusCode, Value) {
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

    /// Signs a user in on the computer with the key, for a day.
    pub async fn sign_in_on(&self, key: &AppKey, user: &Did) {
        let now = self.app.ctx.now();
        let device = Device {
            id: key.did().clone(),
            user: user.clone(),
            name: "Souk CLI on laptop".to_owned(),
            public_key: key.public_key_base58(),
            created_at: now,
            used_at: now,
            expires_at: now.plus(Duration::from_secs(86_400)),
        };
        let mut unit = self.app.ctx.store.begin().await.expect("begins");
        unit.devices().insert(&device).await.expect("inserts");
        unit.commit().await.expect("commits");
    }

    /// Runs the checks of an uploaded version, as the job does.
    async fn run_checks(&self, app: &Did, version: &str) -> Result<(), StorageError> {
        let version = parse_version(version).expect("a version");
        let mut unit = self.app.ctx.store.read().await.expect("reads");
        let found = unit.uploads().find_version(app, &version).await.expect("reads").expect("is uploaded");
        drop(unit);
        let files = FileStore::open(self.app.files.path()).await.expect("opens");
        let spool = SpoolFolder::new(self.app.files.path().join("uploads"), Arc::clone(&self.app.ctx.random));
        let (dids, reader) = (CheckedAppDids, LocalBundleReader::default());
        let ports = CheckPorts { dids: &dids, reader: &reader, spool: &spool, files: &files };
        run_checks(&self.app.ctx, &ports, &found.id).await
    }

    /// Runs the checks of a version before a step publishes it.
    async fn check_before(&self, step: &Value, app: &Did, version: &str) {
        if step["step"] == "publish" {
            self.run_checks(app, version).await.expect("run");
        }
    }

    /// The stored files, and those of uploads in progress.
    fn files(&self) -> usize {
        files_below(self.app.files.path())
    }
}

/// Enrolls a developer whose access token has the key, for all apps and scopes.
pub async fn enroll_developer(app: &TestApp, key: &AppKey) -> Who {
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
        publisher: None,
        created_at: now,
        expires_at: now.plus(Duration::from_secs(3_600)),
        remind_at: None,
        last_used_at: None,
    };
    unit.access_tokens().insert(&token).await.expect("inserts");
    unit.commit().await.expect("commits");
}

/// The headers of a request that an access token has signed.
pub fn signed_headers(app: &TestApp, key: &AppKey, method: &Method, path: &str, body: &str, nonce: &str) -> [(&'static str, String); 4] {
    let (store, signed_at) = (AppKey::from_seed(&APP_SEED), app.ctx.now().seconds());
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let request = SignedRequest {
        store: store.did(),
        purpose: if is_read { RequestPurpose::Read } else { RequestPurpose::Write },
        method: method.as_str(),
        path,
        body_digest: &hex::encode(Ed25519TokenKeys.digest(body.as_bytes())),
        token: key.did(),
        signed_at,
        nonce,
        signature: "",
    };
    let signature = format!("z{}", bs58::encode(key.sign(request.text().as_bytes())).into_string());
    [
        ("x-souk-token", key.did().to_string()),
        ("x-souk-time", signed_at.to_string()),
        ("x-souk-nonce", nonce.to_owned()),
        ("x-souk-signature", signature),
    ]
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
