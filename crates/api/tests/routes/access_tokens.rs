//! `/api/developer/access-tokens`.

use crate::app::{Answer, Browser, Buyer, Connect, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::identity::AppKey;
use souk_adapters::on_both;
use souk_domain::access::{self, Did, Role};
use souk_domain::publishing::access_tokens::{RequestPurpose, SIGNED_REQUEST_SKEW, SignedRequest, TokenKeys, order_expiry_reminders};
use std::time::Duration;

const PATH: &str = "/api/developer/access-tokens";
const DAY: Duration = Duration::from_secs(86_400);

fn input(name: &str) -> Value {
    json!({ "name": name, "scopes": ["publish-update", "publish-new"], "apps": ["*"], "lifetime_days": 30 })
}

async fn delete(developer: &Buyer, id: &str, typed: &str) -> Answer {
    developer.browser.call(Method::DELETE, &format!("{PATH}/{id}?name={typed}")).send().await
}

on_both! {
    async fn a_developer_sees_the_secret_of_a_token_once_and_deletes_it_by_its_name(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (developer, owner) = (app.holder_of(Role::Developer).await, app.owner().await);
        assert_eq!(developer.browser.get(PATH).await.ok(), json!({ "count": 0, "list": [] }));
        let answer = developer.browser.post(PATH, &input(" ci ")).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let created = answer.ok();
        let (token, secret) = (&created["token"], created["secret_key"].as_str().expect("a secret"));
        let id = token["id"].as_str().expect("an id");
        assert_eq!((&token["name"], &token["status"], &token["last_used_at"]), (&json!("ci"), &json!("active"), &Value::Null));
        assert_eq!(token["scopes"], json!(["publish-new", "publish-update"]));
        assert!(secret.starts_with('z') && id.starts_with("z1"), "{created}");
        let listed = developer.browser.get(PATH).await;
        assert_eq!(listed.ok(), json!({ "count": 1, "list": [token] }));
        assert!(!listed.text().contains(secret));

        assert_eq!(delete(&developer, id, "cd").await.refused(400)["code"], "TOKEN_NAME_DIFFERS");
        assert_eq!(delete(&developer, id, "ci").await.ok(), json!({ "count": 0, "list": [] }));
        delete(&developer, id, "ci").await.refused(404);
        let log = owner.browser.get("/api/audit-log").await.ok();
        let entries: Vec<_> = log["list"].as_array().expect("a list").iter().map(|entry| (&entry["operation"], &entry["objects"])).collect();
        let (deleted, created) = (json!("access_token.delete"), json!("access_token.create"));
        assert!(entries.contains(&(&deleted, &json!([id]))) && entries.contains(&(&created, &json!([id]))), "{log}");
        assert!(!log.to_string().contains(secret));
        app.finish().await;
    }

    async fn the_answer_with_a_secret_is_not_stored_for_its_idempotency_key(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let developer = app.holder_of(Role::Developer).await;
        let create = async || {
            let call = developer.browser.call(Method::POST, PATH).header("idempotency-key", "once");
            call.json(&input("ci")).send().await
        };
        create().await.ok();
        assert_eq!(create().await.refused(409)["code"], "TOKEN_NAME_TAKEN");
        assert_eq!(app.count("SELECT count(*) AS n FROM idempotency_keys").await, 0);
        app.finish().await;
    }

    async fn a_developer_is_reminded_once_before_a_token_expires(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let developer = app.holder_of(Role::Developer).await;
        developer.browser.post(PATH, &input("ci")).await.ok();
        developer.browser.post(PATH, &input("gone")).await.ok();
        app.advance(DAY * 22);
        assert_eq!(order_expiry_reminders(&app.ctx, 10).await.expect("orders"), 0);
        app.advance(DAY);
        assert_eq!(order_expiry_reminders(&app.ctx, 10).await.expect("orders"), 2);
        let gone = developer.browser.get(PATH).await.ok()["list"].as_array().expect("a list").iter().find(|one| one["name"] == "gone").cloned();
        delete(&developer, gone.expect("is listed")["id"].as_str().expect("an id"), "gone").await.ok();
        app.drain().await;
        assert_eq!(order_expiry_reminders(&app.ctx, 10).await.expect("orders"), 0);
        assert_eq!(app.sent_mails(), [""; 0], "its address is not confirmed");
        let mails = app.mails();
        assert_eq!(mails.len(), 1, "{mails:?}");
        assert!(mails[0].contains("ci") && mails[0].contains("/developer/access-tokens"), "{}", mails[0]);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_token_that_is_not_valid_is_refused_by_name() {
    let app = TestApp::open().await;
    let developer = app.holder_of(Role::Developer).await;
    developer.browser.post(PATH, &input("taken")).await.ok();
    let with = |name: &str, value: Value| {
        let mut changed = input("ci");
        changed[name] = value;
        changed
    };
    let required = developer.browser.post(PATH, &with("name", json!(""))).await.refused(400);
    assert_eq!((&required["error"], &required["code"]), (&json!("Access Token Name is required"), &json!("TOKEN_NAME_REQUIRED")));
    let cases = [
        (with("name", json!("n".repeat(65))), 400, "TOKEN_NAME_TOO_LONG"),
        (with("name", json!("a\tb")), 400, "CONTROL_CHARACTERS"),
        (with("name", json!("taken")), 409, "TOKEN_NAME_TAKEN"),
        (with("scopes", json!([])), 400, "TOKEN_SCOPE_REQUIRED"),
        (with("scopes", json!(["admin"])), 400, "INVALID"),
        (with("apps", json!([])), 400, "TOKEN_APPS"),
        (with("apps", json!(["a b"])), 400, "INVALID"),
        (with("lifetime_days", json!(366)), 400, "TOKEN_LIFETIME"),
    ];
    for (body, status, code) in cases {
        assert_eq!(developer.browser.post(PATH, &body).await.refused(status)["code"], code, "{body}");
    }
    app.finish().await;
}

#[tokio::test]
async fn creating_a_token_needs_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let developer = app.holder_of(Role::Developer).await;
    app.advance(Duration::from_secs(3_600));
    assert_eq!(developer.browser.post(PATH, &input("ci")).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&app, &developer.browser, "login", "").await.sign_in(&developer.wallet, "developer").await;
    developer.browser.post(PATH, &input("ci")).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn tokens_of_a_revoked_passport_stay_revoked_after_a_new_one() {
    let app = TestApp::open().await;
    let developer = app.holder_of(Role::Developer).await;
    developer.browser.post(PATH, &input("old")).await.ok();
    app.execute("UPDATE passports SET revoked_at = issued_at WHERE role = 'developer'").await;
    developer.browser.get(PATH).await.refused(403);
    access::issue_passport(&app.ctx, developer.wallet.did(), Role::Developer).await.expect("is issued");
    developer.browser.post(PATH, &input("new")).await.ok();
    let listed = developer.browser.get(PATH).await.ok();
    let mut states: Vec<_> =
        listed["list"].as_array().expect("a list").iter().map(|one| (one["name"].to_string(), one["status"].to_string())).collect();
    states.sort();
    assert_eq!(states, [("\"new\"", "\"active\""), ("\"old\"", "\"revoked\"")].map(|(name, status)| (name.to_owned(), status.to_owned())));
    app.finish().await;
}

/// A token with its key, which signs requests.
struct Signer {
    id: Did,
    key: AppKey,
    store: Did,
}

impl Signer {
    async fn of(app: &TestApp, developer: &Buyer) -> Self {
        let created = developer.browser.post(PATH, &input("signer")).await.ok();
        let secret = created["secret_key"].as_str().expect("a secret").trim_start_matches('z');
        let bytes = bs58::decode(secret).into_vec().expect("is base58");
        let key = AppKey::from_seed(bytes[..32].try_into().expect("a seed"));
        Self { id: Did::from_verified(created["token"]["id"].as_str().expect("an id")), key, store: app.app_key.did().clone() }
    }

    /// Sends a request with a signature for a path at a time.
    async fn get(&self, browser: &Browser, path: &str, signed_path: &str, signed_at: i64) -> Answer {
        let (nonce, digest) = ("0123456789abcdef", hex::encode(souk_adapters::identity::Ed25519TokenKeys.digest(b"")));
        let request = SignedRequest {
            store: &self.store,
            purpose: RequestPurpose::Read,
            method: "GET",
            path: signed_path,
            body_digest: &digest,
            token: &self.id,
            signed_at,
            nonce,
            signature: "",
        };
        let signature = format!("z{}", bs58::encode(self.key.sign(request.text().as_bytes())).into_string());
        let call = browser.call(Method::GET, path).header("x-souk-token", self.id.as_str()).header("x-souk-time", signed_at.to_string());
        call.header("x-souk-nonce", nonce).header("x-souk-signature", signature).send().await
    }
}

#[tokio::test]
async fn a_signed_request_is_accepted_for_its_path_and_time_only() {
    let app = TestApp::open().await;
    let developer = app.holder_of(Role::Developer).await;
    let signer = Signer::of(&app, &developer).await;
    let script = app.browser();
    let path = format!("{PATH}/current?livemode=true");
    let now = app.ctx.now().seconds();
    let token = signer.get(&script, &path, &path, now).await.ok();
    assert_eq!((&token["name"], &token["id"]), (&json!("signer"), &json!(signer.id.as_str())));
    let used = &developer.browser.get(PATH).await.ok()["list"][0]["last_used_at"];
    assert!(used.is_string(), "{used}");
    let skew = i64::try_from(SIGNED_REQUEST_SKEW.as_secs()).expect("fits");
    let other = format!("{PATH}/current?livemode=false");
    assert_eq!(signer.get(&script, &path, &other, now).await.refused(401)["code"], "TOKEN_SIGNATURE");
    for at in [now - skew - 1, now + skew + 1] {
        assert_eq!(signer.get(&script, &path, &path, at).await.refused(401)["code"], "SIGNED_REQUEST_TIME");
    }
    script.get(&path).await.refused(401);
    app.advance(DAY * 30);
    assert_eq!(signer.get(&script, &path, &path, app.ctx.now().seconds()).await.refused(401)["code"], "TOKEN_EXPIRED");
    app.finish().await;
}
