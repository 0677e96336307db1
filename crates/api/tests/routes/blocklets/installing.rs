//! What command lines read to install apps: releases, licenses, and bundles that continue.

use super::{Publishing, developer_of};
use crate::admin::app::{APP_SEED, Who};
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use souk_adapters::identity::{AppKey, Ed25519TokenKeys};
use souk_adapters::testing::upload::{SignedUpload, TestUpload};
use souk_domain::access::{Did, Role, end_device};
use souk_domain::publishing::access_tokens::{RequestPurpose, SignedRequest, TokenKeys};
use souk_domain::shared::{CategoryId, EntitlementId, InvoiceItemId, Mode, PaymentLinkId, SessionId, Text};
use souk_domain::store::{App, Availability, Category, Developer, Entitlement, RevokedPurchase};
use std::time::Duration;

/// A store without reviews.
struct Store {
    publishing: Publishing,
    admin: Who,
}

/// What a call has answered.
struct Answer {
    status: u16,
    headers: poem::http::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The code of a refusal with this status.
    fn code(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self.json()["code"].as_str().expect("a code").to_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The fields of a statement that the store has signed.
fn fields(answer: &Answer) -> std::collections::BTreeMap<String, String> {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let signed = answer.json();
    let text = |name: &str| signed[name].as_str().expect("a text").to_owned();
    let (statement, key, signature) = (text("statement"), text("public_key"), text("signature"));
    assert_eq!(key, AppKey::from_seed(&APP_SEED).public_key_base58());
    assert!(Ed25519TokenKeys.is_valid(&key, &Ed25519TokenKeys.digest(statement.as_bytes()), &signature), "{statement}");
    let (format, lines) = statement.split_once('\n').expect("lines");
    let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).expect("a field");
    lines.lines().map(pair).chain([("format".to_owned(), format.to_owned())]).collect()
}

fn key() -> AppKey {
    AppKey::from_token_secret(&Ed25519TokenKeys.create(&[5; 32]).secret).expect("a key")
}

impl Store {
    async fn open() -> Self {
        let publishing = Publishing::open().await;
        let mut unit = publishing.app.ctx.store.begin().await.expect("begins");
        let id = CategoryId::parse("cat_1").expect("an id");
        let category = Category { id, slug: "tools".to_owned(), name: Text::new("Tools", "工具"), position: 1 };
        unit.apps().insert_category(&category).await.expect("inserts");
        unit.commit().await.expect("commits");
        let admin = publishing.app.person(Some(Role::Admin)).await;
        Self { publishing, admin }
    }

    fn version(&self, version: &str) -> TestUpload {
        self.publishing.version("hello", version)
    }

    fn did(&self) -> Did {
        self.version("1.0.0").did()
    }

    async fn upload(&self, version: &str) -> SignedUpload {
        let signed = self.version(version).sign();
        let (status, answer) = self.publishing.upload(&signed).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        signed
    }

    async fn take(&self, who: &Who, version: &str, step: Value) {
        self.publishing.check_before(&step, &self.did(), version).await;
        let path = format!("/api/apps/{}/versions/{version}/review", self.did());
        let (status, answer) = self.publishing.app.call(who, Method::PUT, &path, &step).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn publish(&self, version: &str) -> SignedUpload {
        let signed = self.upload(version).await;
        self.take(&self.publishing.developer, version, json!({ "step": "publish", "category_id": "cat_1" })).await;
        signed
    }

    /// Puts the app into the catalogue as one that is sold in test mode.
    async fn sell(&self) {
        let now = self.publishing.app.ctx.now();
        let app = App {
            did: self.did(),
            availability: Availability::Available,
            is_listed: true,
            name: "hello".to_owned(),
            title: Text::new("Hello", ""),
            description: Text::default(),
            category_id: CategoryId::parse("cat_1").expect("an id"),
            developer: Developer { did: developer_of(&self.version("1.0.0").key), name: String::new(), verified: false },
            logo: String::new(),
            screenshots: Vec::new(),
            license: String::new(),
            website: None,
            test_link: PaymentLinkId::parse("plink_1").ok(),
            live_link: None,
            downloads: 0,
            version: String::new(),
            size: 0,
            created_at: now,
            updated_at: now,
        };
        let mut unit = self.publishing.app.ctx.store.begin().await.expect("begins");
        unit.apps().insert(&app).await.expect("inserts");
        unit.commit().await.expect("commits");
    }

    /// Signs a customer in on a computer, with or without the app.
    async fn sign_in(&self, has_app: bool) {
        let now = self.publishing.app.ctx.now();
        let buyer = Did::from_verified("zbuyer");
        self.publishing.app.enroll(buyer.clone(), None).await;
        self.publishing.sign_in_on(&key(), &buyer).await;
        let bought = Entitlement {
            id: EntitlementId::parse("ent_1").expect("an id"),
            mode: Mode::Test,
            holder: buyer,
            app: self.did(),
            session_id: SessionId::parse("cs_1").expect("an id"),
            subscription_id: None,
            invoice_id: None,
            invoice_item_id: InvoiceItemId::parse("ii_1").ok(),
            acquired_at: now,
            revoked_at: None,
            suspended_at: None,
        };
        if has_app {
            let mut unit = self.publishing.app.ctx.store.begin().await.expect("begins");
            unit.entitlements().grant(&bought).await.expect("grants");
            unit.commit().await.expect("commits");
        }
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, String)]) -> Answer {
        let mut request = self.publishing.app.client.request(method, path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut response = request.send().await.0;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.take_body().into_vec().await.expect("a body") }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[]).await
    }

    /// Sends a request that the computer's key has signed.
    async fn signed(&self, method: Method, path: &str) -> Answer {
        let (store, key, signed_at) = (AppKey::from_seed(&APP_SEED), key(), self.publishing.app.ctx.now().seconds());
        let request = SignedRequest {
            store: store.did(),
            purpose: if method == Method::GET { RequestPurpose::Read } else { RequestPurpose::Write },
            method: method.as_str(),
            path,
            body_digest: &hex::encode(Ed25519TokenKeys.digest(b"")),
            token: key.did(),
            signed_at,
            nonce: "0123456789abcdef",
            signature: "",
        };
        let signature = key.sign_base58(request.text().as_bytes());
        let headers = [
            ("x-souk-device", key.did().to_string()),
            ("x-souk-time", signed_at.to_string()),
            ("x-souk-nonce", "0123456789abcdef".to_owned()),
            ("x-souk-signature", signature),
        ];
        self.send(method.clone(), path, &headers).await
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/apps/{}/{rest}", self.did())
    }
}

#[tokio::test]
async fn a_release_says_what_is_published_and_is_signed_by_the_store() {
    let store = Store::open().await;
    let signed = store.publish("1.0.0").await;
    let (upload, now) = (store.version("1.0.0"), store.publishing.app.ctx.now());
    let sha256 = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    for path in ["release", "versions/1.0.0/release"] {
        let answer = store.get(&store.path(path)).await;
        assert_eq!(answer.header("cache-control"), "no-store");
        let fields = fields(&answer);
        for (name, value) in [
            ("format", "souk-release-1".to_owned()),
            ("store", AppKey::from_seed(&APP_SEED).did().to_string()),
            ("app", store.did().to_string()),
            ("name", "hello".to_owned()),
            ("version", "1.0.0".to_owned()),
            ("developer", developer_of(&upload.key).to_string()),
            ("signer", upload.key.did().to_string()),
            ("document-sha256", sha256(&signed.document)),
            ("bundle-sha256", sha256(&signed.bundle)),
            ("size", signed.bundle.len().to_string()),
            ("price", "free".to_owned()),
            ("issued", now.to_iso()),
            ("expires", now.plus(Duration::from_secs(3_600)).to_iso()),
        ] {
            assert_eq!(fields[name], value, "{name}");
        }
    }
}

#[tokio::test]
async fn what_new_installs_do_not_get_has_no_release() {
    let store = Store::open().await;
    let (release, named) = (store.path("release"), |version: &str| store.path(&format!("versions/{version}/release")));
    assert_eq!(store.get(&release).await.code(404), "NOT_FOUND");
    store.upload("1.0.0-beta.1").await;
    assert_eq!(store.get(&named("1.0.0-beta.1")).await.code(404), "NOT_FOUND", "a draft");
    store.take(&store.publishing.developer, "1.0.0-beta.1", json!({ "step": "publish", "category_id": "cat_1" })).await;
    assert_eq!(store.get(&release).await.code(404), "ONLY_PRE_RELEASES");
    assert_eq!(fields(&store.get(&named("1.0.0-beta.1")).await)["version"], "1.0.0-beta.1", "somebody names it");
    store.publish("1.0.0").await;
    store.publish("1.1.0-beta.1").await;
    assert_eq!(fields(&store.get(&release).await)["version"], "1.0.0");
    let yank = json!({ "step": "yank", "comment": "It loses data" });
    store.take(&store.publishing.developer, "1.0.0", yank.clone()).await;
    assert_eq!(store.get(&named("1.0.0")).await.code(410), "VERSION_YANKED");
    assert_eq!(store.get(&release).await.code(404), "ONLY_PRE_RELEASES");
    for version in ["1.0.0-beta.1", "1.1.0-beta.1"] {
        store.take(&store.publishing.developer, version, yank.clone()).await;
    }
    assert_eq!(store.get(&release).await.code(410), "APP_WITHDRAWN");
    store.take(&store.publishing.developer, "1.0.0", json!({ "step": "undo_yank" })).await;
    store.upload("2.0.0-beta.1").await;
    store.take(&store.admin, "1.0.0", json!({ "step": "block", "comment": "Spam" })).await;
    for path in [release, named("1.0.0")] {
        assert_eq!(store.get(&path).await.code(403), "APP_BLOCKED");
    }
    for version in ["1", "2.0.0", "2.0.0-beta.1", "latest"] {
        assert_eq!(store.get(&named(version)).await.code(404), "NOT_FOUND", "{version}");
    }
}

#[tokio::test]
async fn a_draft_is_installed_by_computers_of_its_developer_and_of_reviewers_only() {
    let store = Store::open().await;
    // A user who may see a draft does not have to buy the app.
    store.sell().await;
    let signed = store.upload("1.0.0").await;
    let (developer, reviewer) = (developer_of(&store.version("1.0.0").key), Did::from_verified("z1rita"));
    store.publishing.app.enroll(reviewer.clone(), Some(Role::Reviewer)).await;
    let other = Did::from_verified("z1other");
    store.publishing.app.enroll(other.clone(), Some(Role::Developer)).await;
    let release = store.path("versions/1.0.0/release");
    let own = |name: &str| format!("/api/blocklets/{}/1.0.0/{name}", store.did());
    let (document, bundle) = (own("blocklet.json"), own("hello-1.0.0.tgz"));
    for (user, is_involved) in [(&developer, true), (&reviewer, true), (&other, false)] {
        store.publishing.sign_in_on(&key(), user).await;
        if is_involved {
            let said = fields(&store.signed(Method::GET, &release).await);
            let facts = ["format", "version", "status", "price"].map(|name| said[name].as_str());
            assert_eq!(facts, ["souk-unpublished-1", "1.0.0", "DRAFT", "paid"], "{user}");
            for (path, content) in [(&document, &signed.document), (&bundle, &signed.bundle)] {
                let answer = store.signed(Method::GET, path).await;
                assert!(answer.status == 200 && answer.body == *content, "{user} {path}: {}", answer.status);
            }
        } else {
            for path in [&release, &document, &bundle] {
                assert_eq!(store.signed(Method::GET, path).await.code(404), "NOT_FOUND", "{path}");
            }
        }
        let default = store.signed(Method::GET, &store.path("release")).await;
        assert_eq!(default.code(404), "NOT_FOUND", "who does not name it does not get it");
        assert!(end_device(&store.publishing.app.ctx, user, key().did()).await.expect("ends"));
    }
    for path in [&release, &document, &bundle] {
        assert_eq!(store.signed(Method::GET, path).await.code(401), "DEVICE_SIGNED_OUT", "{path}");
        assert_eq!(store.get(path).await.code(404), "NOT_FOUND", "{path}");
    }
    store.publishing.sign_in_on(&key(), &developer).await;
    store.take(&store.publishing.developer, "1.0.0", json!({ "step": "publish", "category_id": "cat_1" })).await;
    assert_eq!(fields(&store.signed(Method::GET, &release).await)["format"], "souk-release-1");
}

#[tokio::test]
async fn an_app_that_nobody_has_signed_is_said_so() {
    let store = Store::open().await;
    store.sell().await;
    assert_eq!(store.get(&store.path("release")).await.code(404), "RELEASE_UNSIGNED");
}

#[tokio::test]
async fn a_bundle_continues_where_a_download_was_interrupted() {
    let store = Store::open().await;
    let bundle = store.publish("1.0.0").await.bundle;
    for path in [store.path("1.0.0/bundle"), format!("/api/blocklets/{}/1.0.0/hello-1.0.0.tgz", store.did())] {
        let whole = store.get(&path).await;
        assert_eq!((whole.status, whole.header("accept-ranges"), whole.body == bundle), (200, "bytes", true));
        let tag = whole.header("etag").to_owned();
        let (half, length) = (bundle.len() / 2, bundle.len());
        let from = |start: String, tag: &str| [("range", format!("bytes={start}")), ("if-range", tag.to_owned())];
        let rest = store.send(Method::GET, &path, &from(format!("{half}-"), &tag)).await;
        assert_eq!((rest.status, rest.body == bundle[half..]), (206, true), "{path}");
        assert_eq!(rest.header("content-range"), format!("bytes {half}-{}/{length}", length - 1));
        assert_eq!(rest.header("content-length"), (length - half).to_string());
        // Another bundle, and ranges that are not understood, give the whole bundle.
        for (range, tag) in [
            (format!("{half}-"), "\"other\""),
            (format!("{length}-"), tag.as_str()),
            ("0-".to_owned(), tag.as_str()),
            ("-5".to_owned(), tag.as_str()),
            (format!("{half}-{length}"), tag.as_str()),
        ] {
            let answer = store.send(Method::GET, &path, &from(range.clone(), tag)).await;
            assert_eq!((answer.status, answer.body.len()), (200, length), "{range}");
        }
        let without_tag = store.send(Method::GET, &path, &[("range", format!("bytes={half}-"))]).await;
        assert_eq!(without_tag.status, 200);
        let head = store.send(Method::HEAD, &path, &from(format!("{half}-"), &tag)).await;
        assert_eq!((head.status, head.header("content-length")), (200, length.to_string().as_str()));
    }
    // Seven whole downloads by each address; what continues counts as none.
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{}", store.did())).await;
    assert_eq!((&shown["downloads"], &shown["installable"]), (&json!(14), &json!(true)), "{shown}");
}

#[tokio::test]
async fn an_app_that_is_sold_is_licensed_and_downloaded_by_those_who_have_bought_it() {
    let store = Store::open().await;
    store.sell().await;
    store.publish("1.0.0").await;
    assert_eq!(fields(&store.get(&store.path("release")).await)["price"], "paid");
    let (license, download) = (store.path("license"), store.path("1.0.0/bundle"));
    assert_eq!(store.get(&license).await.status, 401, "nobody has signed it");
    assert_eq!(store.signed(Method::GET, &license).await.code(401), "DEVICE_SIGNED_OUT");
    store.sign_in(false).await;
    assert_eq!(store.signed(Method::GET, &license).await.code(403), "PURCHASE_REQUIRED");
    assert_eq!(store.signed(Method::GET, &download).await.code(403), "PURCHASE_REQUIRED");
    let published_tools = format!("/api/blocklets/{}/1.0.0/hello-1.0.0.tgz", store.did());
    assert_eq!(store.get(&published_tools).await.code(403), "PURCHASE_REQUIRED");
    let manifest = store.get(&format!("/api/blocklets/{}/1.0.0/blocklet.json", store.did())).await;
    assert_eq!(manifest.status, 200, "what it is can be read");
}

#[tokio::test]
async fn a_license_names_its_holder_and_computer_and_ends_with_a_refund_or_a_block() {
    let store = Store::open().await;
    store.sell().await;
    let bundle = store.publish("1.0.0").await.bundle;
    store.sign_in(true).await;
    let (license, download) = (store.path("license"), store.path("1.0.0/bundle"));
    let now = store.publishing.app.ctx.now();
    let issued = fields(&store.signed(Method::GET, &license).await);
    for (name, value) in [
        ("format", "souk-license-1".to_owned()),
        ("store", AppKey::from_seed(&APP_SEED).did().to_string()),
        ("app", store.did().to_string()),
        ("holder", "zbuyer".to_owned()),
        ("device", key().did().to_string()),
        ("mode", "test".to_owned()),
        ("issued", now.to_iso()),
        ("expires", now.plus(Duration::from_secs(30 * 86_400)).to_iso()),
    ] {
        assert_eq!(issued[name], value, "{name}");
    }
    let downloaded = store.signed(Method::GET, &download).await;
    assert!(downloaded.status == 200 && downloaded.body == bundle);

    store.take(&store.admin, "1.0.0", json!({ "step": "block", "comment": "Spam" })).await;
    for path in [&license, &download] {
        assert_eq!(store.signed(Method::GET, path).await.code(403), "APP_BLOCKED");
    }
    store.take(&store.admin, "1.0.0", json!({ "step": "unblock" })).await;
    assert_eq!(store.signed(Method::GET, &license).await.status, 200);

    let mut unit = store.publishing.app.ctx.store.begin().await.expect("begins");
    let refunded = RevokedPurchase { item: InvoiceItemId::parse("ii_1").expect("an id"), at: now };
    unit.entitlements().revoke_all(&[refunded]).await.expect("revokes");
    unit.commit().await.expect("commits");
    for path in [&license, &download] {
        assert_eq!(store.signed(Method::GET, path).await.code(403), "PURCHASE_REQUIRED");
    }
}

#[tokio::test]
async fn a_computer_signs_itself_out_and_its_user_signs_it_out() {
    let store = Store::open().await;
    store.sign_in(false).await;
    let (app, buyer) = (&store.publishing.app, Who::Cookie("token-of-zbuyer".to_owned()));
    let listed = app.get(&buyer, "/api/devices").await;
    assert_eq!((&listed["count"], &listed["list"][0]["name"]), (&json!(1), &json!("Souk CLI on laptop")));
    let other = app.person(None).await;
    assert_eq!(app.get(&other, "/api/devices").await["count"], 0);
    assert_eq!(app.call(&Who::Nobody, Method::GET, "/api/devices", &Value::Null).await.0, 401);
    let path = format!("/api/devices/{}", key().did());
    assert_eq!(app.call(&other, Method::DELETE, &path, &Value::Null).await.0, 404, "another user's computer");
    assert_eq!(app.call(&buyer, Method::DELETE, &path, &Value::Null).await.1["count"], 0);
    assert_eq!(store.signed(Method::DELETE, "/api/devices/current").await.code(401), "DEVICE_SIGNED_OUT");

    let again = Store::open().await;
    again.sign_in(false).await;
    assert_eq!(again.signed(Method::DELETE, "/api/devices/current").await.status, 204);
    assert_eq!(again.publishing.app.get(&buyer, "/api/devices").await["count"], 0);
    assert_eq!(again.send(Method::DELETE, "/api/devices/current", &[]).await.status, 401);
}
