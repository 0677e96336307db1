//! Reading manifests and bundles: who may, and what they get.

use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::{Method, StatusCode};
use serde_json::Value;
use souk_adapters::testing::upload::SignedUpload;
use souk_domain::access::{Did, Role};

/// An answer as bytes.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    kind: String,
    length: String,
    pub(super) body: Vec<u8>,
}

pub(super) async fn get(store: &Publishing, who: &Who, verb: Method, path: &str) -> Answer {
    let mut request = store.app.client.request(verb, path);
    if let Who::Cookie(token) = who {
        request = request.header("cookie", format!("login_token={token}"));
    }
    let mut response = request.send().await.0;
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (kind, length) = (header("content-type"), header("content-length"));
    Answer { status: response.status(), kind, length, body: response.take_body().into_vec().await.expect("a body") }
}

/// A store with one draft.
async fn draft() -> (Publishing, Did, SignedUpload) {
    let store = Publishing::open().await;
    let upload = store.version("hello", "1.0.0");
    let (did, signed) = (upload.did(), upload.sign());
    assert_eq!(store.upload(&signed).await.0, StatusCode::OK);
    (store, did, signed)
}

#[tokio::test]
async fn a_draft_is_readable_by_its_developer_and_by_reviewers_only() {
    let (store, did, signed) = draft().await;
    let now = store.app.ctx.now();
    let other = souk_adapters::testing::upload::TestUpload::new(2, "any", "1.0.0", now).key;
    let other = enroll_developer(&store.app, &other).await;
    let (owner, admin) = (store.app.owner().await, store.app.person(Some(Role::Admin)).await);
    let (reviewer, guest) = (store.app.person(Some(Role::Reviewer)).await, store.app.person(None).await);
    for (who, status) in [
        (&store.developer, StatusCode::OK),
        (&owner, StatusCode::OK),
        (&admin, StatusCode::OK),
        (&reviewer, StatusCode::OK),
        (&other, StatusCode::NOT_FOUND),
        (&guest, StatusCode::NOT_FOUND),
        (&Who::Nobody, StatusCode::NOT_FOUND),
    ] {
        for (path, content) in [
            (format!("/api/blocklets/{did}/1.0.0/blocklet.json"), &signed.document),
            (format!("/api/blocklets/{did}/1.0.0/hello-1.0.0.tgz"), &signed.bundle),
            (format!("/api/blocklets/{did}/hello-1.0.0.tgz"), &signed.bundle),
        ] {
            let answer = get(&store, who, Method::GET, &path).await;
            assert_eq!(answer.status, status, "{who:?} {path}");
            assert_eq!(answer.body == *content, status == StatusCode::OK, "{who:?} {path}");
        }
    }
}

#[tokio::test]
async fn a_draft_is_no_default_and_absent_things_are_not_found() {
    let (store, did, _) = draft().await;
    for path in [
        format!("/api/blocklets/{did}/blocklet.json"),
        format!("/api/blocklets/{did}/2.0.0/blocklet.json"),
        format!("/api/blocklets/{did}/1.0/blocklet.json"),
        format!("/api/blocklets/{did}/1.0.0/other.tgz"),
        format!("/api/blocklets/{did}/other.tgz"),
        "/api/blocklets/z1/1.0.0/blocklet.json".to_owned(),
        "/api/blocklets/z8iZyFxvvqwW98MiqKv1tmws2o3iTZnTajE3B/blocklet.json".to_owned(),
    ] {
        let answer = get(&store, &store.developer, Method::GET, &path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    let answer = get(&store, &store.developer, Method::GET, &format!("/api/blocklets/{did}/1.0.0/readme")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn tools_get_the_types_and_lengths_that_they_expect() {
    let (store, did, signed) = draft().await;
    let bundle = format!("/api/blocklets/{did}/1.0.0/hello-1.0.0.tgz");
    for verb in [Method::HEAD, Method::GET] {
        let answer = get(&store, &store.developer, verb, &bundle).await;
        assert_eq!((answer.status, answer.kind.as_str()), (StatusCode::OK, "application/octet-stream"));
        assert_eq!(answer.length, signed.bundle.len().to_string());
    }
    let manifest = get(&store, &store.developer, Method::GET, &format!("/api/blocklets/{did}/1.0.0/blocklet.json")).await;
    assert_eq!(manifest.kind, "application/json; charset=utf-8");
    let json: Value = serde_json::from_slice(&manifest.body).expect("JSON");
    assert_eq!(json["dist"]["tarball"], "hello-1.0.0.tgz");
}

#[tokio::test]
async fn tools_learn_the_limit_of_bundles_from_the_store() {
    let store = Publishing::open().await;
    let answer = store.app.get(&Who::Nobody, "/api/store.json").await;
    for member in ["id", "pk", "name", "description", "logoUrl", "version"] {
        assert!(answer[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {answer}");
    }
    assert_eq!(answer["maxBundleSize"], "500 MB");
}

#[tokio::test]
async fn the_digest_of_a_served_bundle_is_the_one_of_openssl() {
    let (store, did, signed) = draft().await;
    let answer = get(&store, &store.developer, Method::GET, &format!("/api/blocklets/{did}/1.0.0/hello-1.0.0.tgz")).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bundle");
    std::fs::write(&file, &answer.body).expect("writes");
    let output = std::process::Command::new("openssl").args(["dgst", "-sha512", "-binary"]).arg(&file).output();
    let output = output.expect("openssl runs (Debian: apt-get install openssl)");
    let digest = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, output.stdout);
    let manifest: Value = serde_json::from_slice(&signed.document).expect("JSON");
    assert_eq!(manifest["dist"]["integrity"], format!("sha512-{digest}"));
}
