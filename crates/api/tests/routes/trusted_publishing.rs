//! `/api/developer/trusted-publishers`, and the exchange of CI tokens at `/api/trusted-publishing/token`.

use crate::app::{Answer, Buyer, Connect, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::identity::{AppKey, Ed25519TokenKeys};
use souk_adapters::on_both;
use souk_adapters::testing::{SiteAnswer, StandInIssuer, sign_ci_token};
use souk_domain::access::Role;
use souk_domain::publishing::access_tokens::{RequestPurpose, SignedRequest, TokenKeys};
use souk_domain::publishing::{Preferences, change_preferences};
use std::time::Duration;

const PUBLISHERS: &str = "/api/developer/trusted-publishers";
const EXCHANGE: &str = "/api/trusted-publishing/token";
/// The DID that is derived from the name of the app.
const APP: &str = "z8ia4e5vAeDsQEE2P26bQqz9oWR1Lxg9qUMaV";
const NAME: &str = "static-demo-blocklet";

/// A store that accepts the CI tokens of a stand-in issuer, with a developer.
struct Store {
    app: TestApp,
    issuer: StandInIssuer,
    developer: Buyer,
}

impl Store {
    async fn of(app: TestApp) -> Self {
        let issuer = StandInIssuer::open().await;
        let preferences = Preferences { github_issuers: vec![issuer.address.clone()], ..Preferences::default() };
        change_preferences(&app.ctx, 0, preferences).await.expect("are changed");
        let developer = app.holder_of(Role::Developer).await;
        Self { app, issuer, developer }
    }

    async fn open() -> Self {
        Self::of(TestApp::open().await).await
    }

    fn input(&self) -> Value {
        json!({
            "issuer": self.issuer.address, "repository": "octo/atlas", "workflow": "release.yml", "environment": "",
            "scopes": ["publish-new", "publish-update"], "apps": ["static-*"],
        })
    }

    async fn register(&self) -> Value {
        self.developer.browser.post(PUBLISHERS, &self.input()).await.ok()["list"][0].clone()
    }

    /// The claims of a token that was just issued.
    fn claims(&self, id: &str) -> Value {
        let now = self.app.ctx.now().seconds();
        json!({
            "iss": self.issuer.address, "aud": "https://souk.example", "jti": id, "iat": now, "nbf": now, "exp": now + 300,
            "repository": "octo/atlas", "repository_id": "42", "event_name": "push", "ref_protected": "true",
            "workflow_ref": "octo/atlas/.github/workflows/release.yml@refs/heads/main",
        })
    }

    async fn exchange(&self, token: &str) -> Answer {
        self.app.browser().post(EXCHANGE, &json!({ "token": token, "did": APP, "name": NAME })).await
    }

    /// Reads the token that signs the request.
    async fn current(&self, secret: &str) -> Answer {
        let key = AppKey::from_token_secret(secret).expect("a secret");
        let (path, digest) = ("/api/developer/access-tokens/current?livemode=true", hex::encode(Ed25519TokenKeys.digest(b"")));
        let (now, nonce) = (self.app.ctx.now().seconds(), "0123456789abcdef");
        let request = SignedRequest {
            store: self.app.app_key.did(),
            purpose: RequestPurpose::Read,
            method: "GET",
            path,
            body_digest: &digest,
            token: key.did(),
            signed_at: now,
            nonce,
            signature: "",
        };
        let signature = key.sign_base58(request.text().as_bytes());
        let browser = self.app.browser();
        let call = browser.call(Method::GET, path).header("x-souk-token", key.did().as_str()).header("x-souk-time", now.to_string());
        call.header("x-souk-nonce", nonce).header("x-souk-signature", signature).send().await
    }
}

on_both! {
    async fn a_ci_exchanges_its_token_for_one_of_15_minutes_for_one_app(db: &TestDatabase) {
        let store = Store::of(TestApp::on(db).await).await;
        let owner = store.app.owner().await;
        let empty = store.developer.browser.get(PUBLISHERS).await.ok();
        let issuers = json!([
            { "address": store.issuer.address, "provider": "github" }, { "address": "https://gitlab.com", "provider": "gitlab" },
        ]);
        assert_eq!(empty, json!({ "count": 0, "list": [], "issuers": issuers, "audience": "https://souk.example" }));
        let publisher = store.register().await;
        let facts = (&publisher["status"], &publisher["workflow"], &publisher["environment"], &publisher["repository_id"]);
        assert_eq!(facts, (&json!("active"), &json!("release.yml"), &Value::Null, &Value::Null));
        assert_eq!(publisher["protected_refs_only"], true, "unless the developer wants otherwise");

        let token = store.issuer.sign(&store.claims("j1"));
        let answer = store.exchange(&token).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let created = answer.ok();
        let secret = created["secret_key"].as_str().expect("a secret").to_owned();
        assert_eq!((&created["publisher"], &created["new_app"]), (&publisher["id"], &json!(true)), "{created}");
        assert_eq!(created["developer"], store.developer.wallet.did().as_str());
        assert_eq!((&created["token"]["apps"], &created["token"]["scopes"]), (&json!([APP]), &publisher["scopes"]));
        let current = store.current(&secret).await.ok();
        assert_eq!((&current["id"], &current["status"]), (&created["token"]["id"], &json!("active")));
        assert_eq!(store.exchange(&token).await.refused(401)["code"], "CI_TOKEN_REPLAYED");
        let tokens = store.developer.browser.get("/api/developer/access-tokens").await.ok();
        assert_eq!(tokens["count"], 0, "the developer has created none");
        assert!(store.developer.browser.get(PUBLISHERS).await.ok()["list"][0]["last_used_at"].is_string());

        let log = owner.browser.get("/api/audit-log").await.ok();
        let entries = log["list"].as_array().expect("a list");
        let exchanged: Vec<_> = entries.iter().filter(|entry| entry["operation"] == "trusted_publisher.exchange").collect();
        assert_eq!(exchanged.len(), 1, "a refused exchange leaves no entry: {log}");
        let objects = exchanged[0]["objects"].as_array().expect("objects");
        for object in [&publisher["id"], &json!(APP), &created["token"]["id"]] {
            assert!(objects.contains(object), "{object} {log}");
        }
        assert_eq!(exchanged[0]["actor"]["id"], store.developer.wallet.did().as_str());
        let registered = entries.iter().find(|entry| entry["operation"] == "trusted_publisher.register").expect("is recorded");
        assert_eq!(registered["objects"], json!([publisher["id"]]));
        assert!(!log.to_string().contains(&secret) && !log.to_string().contains(&token), "no secret is recorded");

        store.app.advance(Duration::from_secs(901));
        assert_eq!(store.current(&secret).await.refused(401)["code"], "TOKEN_EXPIRED");
        store.app.finish().await;
    }

    async fn a_removed_publisher_ends_its_tokens(db: &TestDatabase) {
        let store = Store::of(TestApp::on(db).await).await;
        let publisher = store.register().await;
        let created = store.exchange(&store.issuer.sign(&store.claims("j1"))).await.ok();
        let secret = created["secret_key"].as_str().expect("a secret").to_owned();
        let remove = async |id: &str| store.developer.browser.call(Method::DELETE, &format!("{PUBLISHERS}/{id}")).send().await;
        let id = publisher["id"].as_str().expect("an id");
        assert_eq!(remove(id).await.ok()["count"], 0);
        remove(id).await.refused(404);
        assert_eq!(store.current(&secret).await.refused(401)["code"], "TOKEN_UNKNOWN");
        let refused = store.exchange(&store.issuer.sign(&store.claims("j2"))).await.refused(403);
        assert_eq!((&refused["code"], &refused["params"]["repository"]), (&json!("PUBLISHER_NOT_REGISTERED"), &json!("octo/atlas")));
        store.app.finish().await;
    }
}

#[tokio::test]
async fn each_ci_token_that_is_not_valid_is_refused_by_name() {
    let store = Store::open().await;
    store.register().await;
    let now = store.app.ctx.now().seconds();
    let with = |name: &str, value: Value| {
        let mut claims = store.claims("j1");
        claims[name] = value;
        store.issuer.sign(&claims)
    };
    let signed = |header: Value| sign_ci_token("first", &header, &store.claims("j1"));
    let foreign = sign_ci_token("second", &json!({ "alg": "EdDSA", "kid": "first" }), &store.claims("j1"));
    let cases = [
        ("no token".to_owned(), 401, "CI_TOKEN_MALFORMED"),
        ("x".repeat(20_000), 401, "CI_TOKEN_MALFORMED"),
        (with("iss", json!("https://ci.example")), 401, "CI_ISSUER"),
        (signed(json!({ "alg": "none", "kid": "first" })), 401, "CI_TOKEN_ALGORITHM"),
        (signed(json!({ "alg": "HS256", "kid": "first" })), 401, "CI_TOKEN_ALGORITHM"),
        (signed(json!({ "alg": "EdDSA", "kid": "other" })), 401, "CI_TOKEN_KEY"),
        (foreign, 401, "CI_TOKEN_SIGNATURE"),
        (with("jti", Value::Null), 401, "CI_TOKEN_CLAIM"),
        (with("aud", json!("https://other.example")), 401, "CI_TOKEN_AUDIENCE"),
        (with("exp", json!(now - 30)), 401, "CI_TOKEN_EXPIRED"),
        (with("iat", json!(now + 31)), 401, "CI_TOKEN_NOT_YET_VALID"),
        (with("nbf", json!(now + 31)), 401, "CI_TOKEN_NOT_YET_VALID"),
        (with("exp", json!(now + 86_401)), 401, "CI_TOKEN_LIFETIME"),
        (with("event_name", json!("pull_request_target")), 403, "CI_EVENT"),
        (with("event_name", json!("issues")), 403, "PUBLISHER_NEEDS_ENVIRONMENT"),
        (with("ref_protected", json!("false")), 403, "PUBLISHER_UNPROTECTED_REF"),
        (with("repository", json!("octo/other")), 403, "PUBLISHER_NOT_REGISTERED"),
        (with("workflow_ref", json!("octo/atlas/.github/workflows/test.yml@main")), 403, "PUBLISHER_OTHER_WORKFLOW"),
        (with("workflow_ref", json!("octo/shared/.github/workflows/release.yml@main")), 403, "PUBLISHER_OTHER_WORKFLOW"),
    ];
    for (token, status, code) in cases {
        let refused = store.exchange(&token).await.refused(status);
        assert_eq!(refused["code"], code, "{refused}");
        assert!(!refused.to_string().contains(&token), "a token is in no answer");
    }
    let token = store.issuer.sign(&store.claims("j1"));
    let asked =
        async |did: &str, name: &str| store.app.browser().post(EXCHANGE, &json!({ "token": token, "did": did, "name": name })).await;
    assert_eq!(asked("nonsense", NAME).await.refused(400)["code"], "INVALID");
    assert_eq!(asked("z8iZyFxvvqwW98MiqKv1tmws2o3iTZnTajE3B", "payment").await.refused(403)["code"], "PUBLISHER_OTHER_APP");
    store.exchange(&token).await.ok();
    let renamed = with("repository_id", json!("43"));
    assert_eq!(store.exchange(&renamed).await.refused(403)["code"], "PUBLISHER_OTHER_REPOSITORY", "the name went to another repository");
    store.app.finish().await;
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_named() {
    let store = Store::open().await;
    store.register().await;
    store.issuer.answer_keys(Some(SiteAnswer { status: 500, ..SiteAnswer::ok("") }));
    let token = store.issuer.sign(&store.claims("j1"));
    let refused = store.exchange(&token).await.refused(503);
    assert_eq!((&refused["code"], &refused["params"]["issuer"]), (&json!("CI_ISSUER_UNAVAILABLE"), &json!(store.issuer.address)));
    store.issuer.answer_keys(None);
    store.app.advance(Duration::from_secs(60));
    store.exchange(&token).await.ok();
    store.app.finish().await;
}

#[tokio::test]
async fn the_answer_with_a_secret_is_not_stored_for_its_idempotency_key() {
    let store = Store::open().await;
    store.register().await;
    let token = store.issuer.sign(&store.claims("j1"));
    let body = json!({ "token": token, "did": APP, "name": NAME });
    let send = async || store.developer.browser.call(Method::POST, EXCHANGE).header("idempotency-key", "once").json(&body).send().await;
    send().await.ok();
    assert_eq!(send().await.refused(401)["code"], "CI_TOKEN_REPLAYED");
    assert_eq!(store.app.count("SELECT count(*) AS n FROM idempotency_keys").await, 0);
    store.app.finish().await;
}

#[tokio::test]
async fn a_publisher_that_is_not_valid_is_refused_by_name() {
    let store = Store::open().await;
    let with = |name: &str, value: Value| {
        let mut changed = store.input();
        changed[name] = value;
        changed
    };
    let cases = [
        (with("issuer", json!("https://ci.example")), 400, "CI_ISSUER"),
        (with("repository", json!("atlas")), 400, "PUBLISHER_REPOSITORY"),
        (with("repository_id", json!("R_1")), 400, "PUBLISHER_REPOSITORY_ID"),
        (with("workflow", json!("release")), 400, "PUBLISHER_WORKFLOW"),
        (with("environment", json!("a\nb")), 400, "PUBLISHER_ENVIRONMENT"),
        (with("scopes", json!([])), 400, "PUBLISHER_SCOPE_REQUIRED"),
        (with("scopes", json!(["admin"])), 400, "INVALID"),
        (with("apps", json!([])), 400, "PUBLISHER_APPS"),
        (with("apps", json!(["a b"])), 400, "INVALID"),
    ];
    for (body, status, code) in cases {
        assert_eq!(store.developer.browser.post(PUBLISHERS, &body).await.refused(status)["code"], code, "{body}");
    }
    store.register().await;
    let again = store.developer.browser.post(PUBLISHERS, &with("repository", json!("Octo/Atlas"))).await.refused(409);
    assert_eq!(again["code"], "PUBLISHER_EXISTS");
    store.app.finish().await;
}

#[tokio::test]
async fn registering_a_publisher_needs_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let store = Store::of(app).await;
    store.app.advance(Duration::from_secs(3_600));
    assert_eq!(store.developer.browser.post(PUBLISHERS, &store.input()).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&store.app, &store.developer.browser, "login", "").await.sign_in(&store.developer.wallet, "developer").await;
    store.register().await;
    store.app.finish().await;
}

#[tokio::test]
async fn publishers_of_a_revoked_passport_and_of_an_issuer_that_is_no_longer_accepted_are_shown_as_such() {
    let store = Store::open().await;
    store.register().await;
    let status = async || store.developer.browser.get(PUBLISHERS).await.ok()["list"][0]["status"].clone();
    let none = Preferences { github_issuers: Vec::new(), ..Preferences::default() };
    change_preferences(&store.app.ctx, 1, none).await.expect("are changed");
    assert_eq!(status().await, "not_accepted");
    assert_eq!(store.exchange(&store.issuer.sign(&store.claims("j1"))).await.refused(401)["code"], "CI_ISSUER");
    store.app.execute("UPDATE passports SET revoked_at = issued_at WHERE role = 'developer'").await;
    souk_domain::access::issue_passport(&store.app.ctx, store.developer.wallet.did(), Role::Developer).await.expect("is issued");
    assert_eq!(status().await, "revoked");
    store.app.finish().await;
}
