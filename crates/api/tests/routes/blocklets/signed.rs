//! What tools do with an access token after an upload: requests that the token has signed.

use super::{Publishing, developer_of, enroll_developer, give_token, signed_headers};
use crate::admin::app::Who;
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use souk_adapters::identity::AppKey;
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Passport, Role};
use souk_domain::publishing::access_tokens::TokenScope;
use souk_domain::shared::{CategoryId, PassportId, Text};
use souk_domain::store::Category;
use std::time::Duration;

/// Tokens of the developer besides the one that may do everything, by the seeds of their keys: scopes and apps.
const LIMITED: [(u8, &[TokenScope], &str); 3] =
    [(11, &[TokenScope::Yank], "*"), (12, &[TokenScope::PublishNew], "*"), (13, TokenScope::ALL, "other-*")];

struct Store {
    publishing: Publishing,
}

/// A request with what its signature covers.
#[derive(Clone, Copy)]
struct Sent<'s> {
    path: &'s str,
    signed_path: &'s str,
    /// Empty: it is a GET.
    body: &'s str,
    signed_body: &'s str,
    nonce: &'s str,
    /// A cookie beside the signature, which is ignored like the idempotency key that is sent with it.
    cookie: Option<&'s str>,
}

impl<'s> Sent<'s> {
    const fn get(path: &'s str) -> Self {
        Self::put(path, "", "0123456789abcdef")
    }

    const fn put(path: &'s str, body: &'s str, nonce: &'s str) -> Self {
        Self { path, signed_path: path, body, signed_body: body, nonce, cookie: None }
    }
}

impl Store {
    /// A store without reviews, in which version 1.0.0 of an app is uploaded.
    async fn open() -> Self {
        let publishing = Publishing::open().await;
        let mut unit = publishing.app.ctx.store.begin().await.expect("begins");
        let id = CategoryId::parse("cat_1").expect("an id");
        let category = Category { id, slug: "tools".to_owned(), name: Text::new("Tools", "工具"), position: 1 };
        unit.apps().insert_category(&category).await.expect("inserts");
        unit.commit().await.expect("commits");
        let store = Self { publishing };
        store.upload("1.0.0").await;
        store
    }

    /// Uploads a version, and runs its checks.
    async fn upload(&self, version: &str) {
        let upload = self.version(version);
        let (status, answer) = self.publishing.upload(&upload.sign()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        self.publishing.run_checks(&upload.did(), version).await.expect("run");
    }

    fn version(&self, version: &str) -> TestUpload {
        self.publishing.version("hello", version)
    }

    fn path(&self, version: &str, part: &str) -> String {
        format!("/api/apps/{}/versions/{version}/{part}", self.version(version).did())
    }

    /// Sends a request that a token has signed.
    async fn send(&self, key: &AppKey, sent: Sent<'_>) -> (u16, Value) {
        let Sent { path, signed_path, body, signed_body, nonce, cookie } = sent;
        let method = if body.is_empty() { Method::GET } else { Method::PUT };
        let mut call = self.publishing.app.client.request(method.clone(), path);
        for (name, value) in signed_headers(&self.publishing.app, key, &method, signed_path, signed_body, nonce) {
            call = call.header(name, value);
        }
        if let Some(cookie) = cookie {
            call = call.header("idempotency-key", "once").header("cookie", cookie);
        }
        let mut response = call.content_type("application/json").body(body.to_owned()).send().await.0;
        let text = response.take_body().into_string().await.expect("a text");
        (response.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn read(&self, key: &AppKey, path: &str) -> (u16, Value) {
        self.send(key, Sent::get(path)).await
    }

    /// Takes a step. Returns the status of the version, or the code of the refusal.
    async fn take(&self, key: &AppKey, version: &str, step: Value, nonce: &str) -> String {
        let (path, body) = (self.path(version, "review"), step.to_string());
        let (_, answer) = self.send(key, Sent::put(&path, &body, nonce)).await;
        let found = answer["version"]["status"].as_str().or_else(|| answer["code"].as_str());
        found.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn key(&self) -> AppKey {
        self.version("1.0.0").key
    }

    async fn limited(&self, seed: u8) -> AppKey {
        let (_, scopes, apps) = LIMITED.into_iter().find(|(of, ..)| *of == seed).expect("a token");
        let key = TestUpload::new(seed, "any", "1.0.0", self.publishing.app.ctx.now()).key;
        give_token(&self.publishing.app, &key, &developer_of(&self.key()), scopes, apps).await;
        key
    }
}

#[tokio::test]
async fn a_token_reads_publishes_and_yanks_versions_of_its_owner() {
    let store = Store::open().await;
    let key = store.key();
    let (status, review) = store.read(&key, &store.path("1.0.0", "review")).await;
    assert_eq!((status, &review["need"], &review["role"]), (200, &Value::Null, &json!("app_owner")), "{review}");
    assert_eq!(store.read(&key, &store.path("1.0.0", "checks")).await.0, 200);
    let (_, uploads) = store.read(&key, &format!("/api/apps/{}/uploads", store.version("1.0.0").did())).await;
    assert_eq!((&uploads["count"], &uploads["list"][0]["status"]), (&json!(1), &json!("DRAFT")));

    let publish = json!({ "step": "publish", "category_id": "cat_1" });
    assert_eq!(store.take(&key, "1.0.0", json!({ "step": "publish" }), "nonce-of-publish-1").await, "REVIEW_CATEGORY_REQUIRED");
    assert_eq!(store.take(&key, "1.0.0", publish.clone(), "nonce-of-publish-2").await, "PUBLISHED");
    assert_eq!(store.take(&key, "1.0.0", publish, "nonce-of-publish-2").await, "SIGNED_REQUEST_REPLAYED");
    let yank = json!({ "step": "yank", "comment": "It loses data" });
    assert_eq!(store.take(&key, "1.0.0", yank, "nonce-of-the-yank").await, "PUBLISHED");
    let (_, review) = store.read(&key, &store.path("1.0.0", "review")).await;
    assert_eq!(review["version"]["yanked_by"], "developer");

    let owner = store.publishing.app.owner().await;
    let log = store.publishing.app.get(&owner, "/api/audit-log").await;
    let of_token: Vec<_> =
        log["list"].as_array().expect("a list").iter().filter(|entry| entry["objects"].to_string().contains(key.did().as_str())).collect();
    // What was refused has changed nothing.
    let mut operations: Vec<_> = of_token.iter().map(|entry| entry["operation"].as_str().expect("a text")).collect();
    // The clock stands still, so their order is not known.
    operations.sort_unstable();
    assert_eq!(operations, ["version.publish", "version.upload", "version.yank"], "{log}");
    let developer = developer_of(&key).to_string();
    assert!(of_token.iter().all(|entry| entry["actor"]["id"] == developer.as_str()), "{log}");
}

#[tokio::test]
async fn a_token_takes_the_steps_of_its_scopes_for_its_apps_only() {
    let store = Store::open().await;
    let request = || json!({ "step": "request" });
    let (yanks, publishes_new, of_others) = (store.limited(11).await, store.limited(12).await, store.limited(13).await);
    assert_eq!(store.take(&yanks, "1.0.0", request(), "nonce-0123456789-1").await, "TOKEN_OUT_OF_SCOPE");
    assert_eq!(store.take(&of_others, "1.0.0", request(), "nonce-0123456789-2").await, "TOKEN_OTHER_APP");
    assert_eq!(store.read(&of_others, &store.path("1.0.0", "review")).await.1["code"], "TOKEN_OTHER_APP");
    let yank = json!({ "step": "yank", "comment": "It loses data" });
    assert_eq!(store.take(&publishes_new, "1.0.0", yank, "nonce-0123456789-3").await, "TOKEN_OUT_OF_SCOPE");
    store.upload("1.1.0").await;
    assert_eq!(store.take(&publishes_new, "1.1.0", request(), "nonce-0123456789-4").await, "TOKEN_OUT_OF_SCOPE");
    assert_eq!(store.take(&store.key(), "1.1.0", request(), "nonce-0123456789-5").await, "PENDING_REVIEW");
}

#[tokio::test]
async fn a_token_has_none_of_the_other_rights_of_its_owner() {
    let store = Store::open().await;
    let app = &store.publishing.app;
    let key = TestUpload::new(2, "any", "1.0.0", app.ctx.now()).key;
    enroll_developer(app, &key).await;
    let now = app.ctx.now();
    let id = PassportId::new(now, app.ctx.random.as_ref());
    let passport = Passport { id, holder: developer_of(&key), role: Role::Admin, issued_at: now, revoked_at: None, stake_id: None };
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.users().issue_passport(&passport).await.expect("writes");
    unit.commit().await.expect("commits");
    let admin = Who::Cookie(format!("token-of-{}", developer_of(&key)));
    assert_eq!(app.call(&admin, Method::GET, &store.path("1.0.0", "review"), &Value::Null).await.0, 200);
    assert_eq!(store.read(&key, &store.path("1.0.0", "review")).await.0, 404);
    let block = json!({ "step": "block", "comment": "Spam" });
    assert_eq!(store.take(&key, "1.0.0", block, "nonce-0123456789-6").await, "NOT_FOUND");
    for (step, nonce) in [("cancel", "nonce-0123456789-7"), ("block", "nonce-0123456789-8"), ("approve", "nonce-0123456789-9")] {
        assert_eq!(store.take(&store.key(), "1.0.0", json!({ "step": step, "comment": "Yes" }), nonce).await, "TOKEN_STEP", "{step}");
    }
    // A cookie beside a signature does not help: the request is the token's.
    let path = format!("/api/apps/{}/uploads", store.version("1.0.0").did());
    let call = app.client.get(&path).header("cookie", format!("login_token=token-of-{}", developer_of(&key)));
    assert_eq!(call.header("x-souk-token", key.did().as_str()).send().await.0.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_signature_is_for_one_path_query_and_body() {
    let store = Store::open().await;
    let key = store.key();
    let (review, checks) = (store.path("1.0.0", "review"), store.path("1.0.0", "checks"));
    let uploads = format!("/api/apps/{}/uploads", store.version("1.0.0").did());
    let [one, two] = ["1", "2"].map(|size| format!("{uploads}?pageSize={size}"));
    let (publish, request) = (json!({ "step": "publish", "category_id": "cat_1" }).to_string(), json!({ "step": "request" }).to_string());
    for sent in [
        Sent { signed_path: &review, ..Sent::get(&checks) },
        Sent { signed_path: &one, ..Sent::get(&two) },
        Sent { signed_path: &uploads, ..Sent::get(&one) },
        Sent { signed_body: &request, ..Sent::put(&review, &publish, "nonce-0123456789-1") },
    ] {
        let (status, answer) = store.send(&key, sent).await;
        assert_eq!((status, &answer["code"]), (401, &json!("TOKEN_SIGNATURE")), "{}: {answer}", sent.path);
    }
    // The prefix under which a store can be mounted belongs to its address.
    let mounted = format!("/payment{review}");
    assert_eq!(store.send(&key, Sent { signed_path: &review, ..Sent::get(&mounted) }).await.0, 200);
    assert_eq!(store.send(&key, Sent::get(&mounted)).await.1["code"], "TOKEN_SIGNATURE");
    // The nonce of a refused request was not used.
    assert_eq!(store.send(&key, Sent::put(&review, &publish, "nonce-0123456789-1")).await.1["version"]["status"], "PUBLISHED");
}

#[tokio::test]
async fn a_token_that_has_ended_neither_reads_nor_publishes() {
    let now = |store: &Store| store.publishing.app.ctx.now();
    for (ending, status, code) in [
        ("expired", 401, "TOKEN_EXPIRED"),
        ("deleted", 401, "TOKEN_UNKNOWN"),
        ("revoked", 403, "PASSPORT_NOT_FOUND"),
        ("issued anew", 403, "PASSPORT_NOT_FOUND"),
    ] {
        let store = Store::open().await;
        let (key, owner) = (store.key(), developer_of(&store.key()));
        let (review, publish) = (store.path("1.0.0", "review"), json!({ "step": "publish", "category_id": "cat_1" }).to_string());
        assert_eq!(store.read(&key, &review).await.0, 200);
        let mut unit = store.publishing.app.ctx.store.begin().await.expect("begins");
        match ending {
            "expired" => store.publishing.app.clock.advance(Duration::from_secs(3_600)),
            "deleted" => assert!(unit.access_tokens().delete(&owner, key.did()).await.expect("deletes")),
            _ => {
                let passports = unit.users().passports(&owner).await.expect("reads");
                let passport = passports.first().expect("a passport");
                assert!(unit.users().revoke_passport(&passport.id, now(&store)).await.expect("revokes"));
                if ending == "issued anew" {
                    let id = PassportId::new(now(&store), store.publishing.app.ctx.random.as_ref());
                    unit.users().issue_passport(&Passport { id, ..passport.clone() }).await.expect("issues");
                }
            }
        }
        unit.commit().await.expect("commits");
        for sent in [Sent::get(&review), Sent::put(&review, &publish, "nonce-0123456789-1")] {
            let (answered, answer) = store.send(&key, sent).await;
            assert_eq!((answered, &answer["code"]), (status, &json!(code)), "{ending}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_token_neither_publishes_a_blocked_app_nor_sees_the_drafts_of_others() {
    let store = Store::open().await;
    let app = &store.publishing.app;
    let other = TestUpload::new(2, "any", "1.0.0", app.ctx.now()).key;
    enroll_developer(app, &other).await;
    let uploads = format!("/api/apps/{}/uploads", store.version("1.0.0").did());
    for path in [store.path("1.0.0", "review"), store.path("1.0.0", "checks"), uploads] {
        assert_eq!(store.read(&other, &path).await.0, 404, "{path}");
    }
    let yank = json!({ "step": "yank", "comment": "It loses data" });
    assert_eq!(store.take(&other, "1.0.0", yank, "nonce-0123456789-1").await, "NOT_FOUND");
    let owner = app.owner().await;
    app.put(&owner, &store.path("1.0.0", "review"), json!({ "step": "block", "comment": "Spam" })).await;
    let publish = json!({ "step": "publish", "category_id": "cat_1" });
    assert_eq!(store.take(&store.key(), "1.0.0", publish, "nonce-0123456789-2").await, "REVIEW_APP_BLOCKED");
}

#[tokio::test]
async fn an_idempotency_key_has_no_effect_on_a_signed_request() {
    let store = Store::open().await;
    let (key, review) = (store.key(), store.path("1.0.0", "review"));
    let publish = json!({ "step": "publish", "category_id": "cat_1" }).to_string();
    let cookie = format!("login_token=token-of-{}", developer_of(&key));
    let with = |nonce| Sent { cookie: Some(&cookie), ..Sent::put(&review, &publish, nonce) };
    assert_eq!(store.send(&key, with("nonce-0123456789-1")).await.1["version"]["status"], "PUBLISHED");
    assert_eq!(store.send(&key, with("nonce-0123456789-1")).await.1["code"], "SIGNED_REQUEST_REPLAYED");
    assert_eq!(store.send(&key, with("nonce-0123456789-2")).await.1["code"], "REVIEW_ALREADY_PUBLISHED");
}
