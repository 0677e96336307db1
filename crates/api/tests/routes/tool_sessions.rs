//! `/api/did/{connect-cli,connect-studio,gen-key-pair}` as published tools call it, and `/api/tool-sessions`.

use crate::app::{Answer, Browser, Buyer, Connect, TestApp};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crypto_box::SecretKey;
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::{self, Role};
use souk_domain::publishing::tools::TOOL_SESSION_LIFETIME;
use std::time::Duration;

/// The key pair of the vector in reference/store.md 5.1.
const SECRET: [u8; 32] = [7; 32];
const KEY: &str = "E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20";
const CODE: &str = "2EZ4-ZTQA";
/// The key of did-connect.md 1.2 in the role of apps.
const APP: &str = "z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA";
const APP_KEY: &str = "zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
const SECOND: Duration = Duration::from_secs(1);

/// A tool that waits. It has no cookies, and connects from an address of its own.
struct Tool {
    browser: Browser,
    action: &'static str,
    token: String,
    /// The answer to its first call.
    begun: Value,
}

impl Tool {
    async fn ask(app: &TestApp, action: &'static str, query: &str) -> Self {
        let browser = app.browser().connecting_from("192.0.2.7:4711");
        let begun = browser.get(&format!("/api/did/{action}/token?source=Blocklet%20CLI&sourceAppPid=z1{query}")).await.ok();
        let token = begun["token"].as_str().expect("a token").to_owned();
        Self { browser, action, token, begun }
    }

    async fn connect(app: &TestApp) -> Self {
        Self::ask(app, "connect-cli", &format!("&_ek_={KEY}")).await
    }

    async fn status(&self) -> Answer {
        self.browser.get(&format!("/api/did/{}/status?_t_={}", self.action, self.token)).await
    }

    fn body(&self) -> Value {
        json!({ "token": self.token })
    }
}

async fn call(user: &Buyer, step: &str, body: &Value) -> Answer {
    user.browser.post(&format!("/api/tool-sessions/{step}"), body).await
}

fn open(config: &Value) -> Value {
    let sealed = STANDARD.decode(config.as_str().expect("a text")).expect("base64");
    serde_json::from_slice(&SecretKey::from(SECRET).unseal(&sealed).expect("opens")).expect("is JSON")
}

on_both! {
    async fn a_developer_connects_the_command_line_by_the_protocol_of_published_tools(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (developer, owner) = (app.holder_of(Role::Developer).await, app.owner().await);
        let tool = Tool::connect(&app).await;
        assert_eq!((&tool.begun["status"], tool.token.len()), (&json!("created"), 32));
        assert_eq!(tool.begun["url"], format!("https://souk.example/connect-cli?_t_={}", tool.token));
        assert_eq!(tool.begun["appInfo"]["name"], "Souk");
        assert_eq!(tool.status().await.ok(), json!({ "token": tool.token, "status": "created" }), "no error in a live session");

        let request = call(&developer, "preview", &tool.body()).await.ok();
        assert_eq!((&request["action"], &request["source"]), (&json!("connect-cli"), &json!("Blocklet CLI")));
        assert_eq!((&request["address"], &request["code"]), (&json!("192.0.2.7"), &json!(CODE)));
        assert_eq!(tool.status().await.ok(), json!({ "token": tool.token, "status": "scanned" }));

        let mut approval = tool.body();
        approval["scopes"] = json!(["publish-update"]);
        approval["lifetime_days"] = json!(30);
        let approved = call(&developer, "approve", &approval).await;
        let token = approved.ok()["access_token"].clone();
        assert_eq!((&token["name"], &token["scopes"]), (&json!("Blocklet CLI"), &json!(["publish-update"])));

        let first = tool.status().await.ok();
        assert_eq!(first["status"], "succeed");
        assert_eq!(tool.status().await.ok(), first, "tools read the answer twice");
        let config = open(&first["config"]);
        let secret = config["secretKey"].as_str().expect("a secret");
        assert!((88..=89).contains(&secret.len()) && secret.starts_with('z'), "64 bytes in multibase base58btc");
        let expected = json!({
            "developerDid": developer.wallet.did().as_str(), "secretKey": secret, "email": "developer@example.com", "name": "developer Example",
        });
        assert_eq!(config, expected);
        assert!(!approved.text().contains(secret), "the page does not get it");
        app.advance(Duration::from_secs(60));
        let gone = tool.status().await.refused(400);
        assert_eq!(gone["error"], "Session not found or expired");
        assert_eq!(app.count("SELECT count(*) AS n FROM tool_sessions").await, 1);
        souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
        assert_eq!(app.count("SELECT count(*) AS n FROM tool_sessions").await, 0);

        let log = owner.browser.get("/api/audit-log?operation=tool.approve").await.ok();
        assert_eq!((&log["list"][0]["actor"]["id"], &log["list"][0]["objects"]), (&json!(developer.wallet.did().as_str()), &json!([token["id"]])));
        assert!(!log.to_string().contains(&tool.token) && !log.to_string().contains(secret), "{log}");
        app.finish().await;
    }

    async fn the_browser_creates_the_keys_of_apps_and_the_tool_reads_their_public_halves(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let tool = Tool::ask(&app, "gen-key-pair", "&monikers=atlas").await;
        let request = call(&alice, "preview", &tool.body()).await.ok();
        assert_eq!((&request["apps"], &request["code"]), (&json!(["atlas"]), &Value::Null));
        let with = |address: &str| {
            let mut approval = tool.body();
            approval["keys"] = json!([{ "address": address, "public_key": APP_KEY }]);
            approval
        };
        assert_eq!(call(&alice, "approve", &tool.body()).await.refused(400)["code"], "TOOL_KEY_COUNT");
        let account = "z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM";
        assert_eq!(call(&alice, "approve", &with(account)).await.refused(400)["code"], "TOOL_FOREIGN_KEY");
        assert_eq!(call(&alice, "approve", &with(APP)).await.ok(), json!({ "access_token": null }));
        let config = tool.status().await.ok()["config"].clone();
        assert_eq!(config, json!([{ "address": APP, "publicKey": APP_KEY }]));
        app.finish().await;
    }

    async fn a_customer_signs_in_on_a_computer_and_needs_no_passport(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let tool = Tool::ask(&app, "login-cli", &format!("&_ek_={KEY}")).await;
        let request = call(&alice, "preview", &tool.body()).await.ok();
        assert_eq!((&request["action"], &request["code"], &request["apps"]), (&json!("login-cli"), &json!(CODE), &json!([])));
        let approved = call(&alice, "approve", &tool.body()).await;
        assert_eq!(approved.ok(), json!({ "access_token": null }));
        let config = open(&tool.status().await.ok()["config"]);
        let secret = config["secretKey"].as_str().expect("a secret");
        let expected = json!({ "customerDid": alice.wallet.did().as_str(), "secretKey": secret, "name": "alice Example" });
        assert_eq!(config, expected);
        assert!(!approved.text().contains(secret), "the page does not get it");
        let devices = alice.browser.get("/api/devices").await.ok();
        assert_eq!((&devices["count"], &devices["list"][0]["name"]), (&json!(1), &json!("Blocklet CLI")));
        assert_eq!(alice.browser.get("/api/developer/access-tokens").await.status, 403, "it is no access token");
        let log = owner.browser.get("/api/audit-log?operation=tool.approve").await.ok();
        assert_eq!((&log["list"][0]["actor"]["id"], &log["list"][0]["objects"]), (&json!(alice.wallet.did().as_str()), &json!([devices["list"][0]["id"]])));
        app.finish().await;
    }

    async fn the_studio_gets_a_key_and_a_token_in_one_sealed_answer(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let developer = app.holder_of(Role::Developer).await;
        let tool = Tool::ask(&app, "connect-studio", &format!("&_ek_={KEY}&monikers=atlas")).await;
        let mut approval = tool.body();
        approval["name"] = json!("studio");
        approval["keys"] = json!([{ "address": APP, "public_key": APP_KEY }]);
        assert_eq!(call(&developer, "approve", &approval).await.ok()["access_token"]["name"], "studio");
        let config = open(&tool.status().await.ok()["config"]);
        assert_eq!(config["store"], json!({ "appId": app.app_key.did().as_str() }));
        assert_eq!(config["blocklet"], json!({ "address": APP, "publicKey": APP_KEY }));
        assert_eq!(config["developer"]["developerDid"], developer.wallet.did().as_str());
        app.finish().await;
    }
}

#[tokio::test]
async fn a_denied_request_fails_with_its_reason_and_cannot_be_approved_any_more() {
    let app = TestApp::open().await;
    let developer = app.holder_of(Role::Developer).await;
    let tool = Tool::connect(&app).await;
    assert_eq!(call(&developer, "deny", &tool.body()).await.status, 204);
    let seen = tool.status().await.ok();
    assert_eq!((&seen["status"], &seen["error"]), (&json!("error"), &json!("The request was denied in the browser")));
    for step in ["preview", "approve", "deny"] {
        assert_eq!(call(&developer, step, &tool.body()).await.refused(409)["code"], "TOOL_ANSWERED", "{step}");
    }
    assert_eq!(developer.browser.get("/api/developer/access-tokens").await.ok()["count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn an_approved_request_cannot_be_used_for_another_developer() {
    let app = TestApp::open().await;
    let (developer, alice) = (app.holder_of(Role::Developer).await, app.sign_in("alice").await);
    access::issue_passport(&app.ctx, alice.wallet.did(), Role::Developer).await.expect("is issued");
    let (tool, other) = (Tool::connect(&app).await, Tool::connect(&app).await);
    call(&developer, "approve", &tool.body()).await.ok();
    assert_eq!(call(&alice, "approve", &tool.body()).await.refused(409)["code"], "TOOL_ANSWERED");
    assert_eq!(open(&tool.status().await.ok()["config"])["developerDid"], developer.wallet.did().as_str());
    assert_eq!(other.status().await.ok()["status"], "created", "another tool's session");
    assert_eq!(alice.browser.get("/api/developer/access-tokens").await.ok()["count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn an_approval_that_is_sent_twice_with_its_key_has_one_answer_and_one_token() {
    let app = TestApp::open().await;
    let (developer, tool) = (app.holder_of(Role::Developer).await, Tool::connect(&app).await);
    let approve = async || {
        let call = developer.browser.call(Method::POST, "/api/tool-sessions/approve").header("idempotency-key", "once");
        call.json(&tool.body()).send().await
    };
    let first = approve().await;
    let again = approve().await;
    assert_eq!((again.ok(), again.header("idempotent-replayed")), (first.ok(), Some("true")));
    assert_eq!(developer.browser.get("/api/developer/access-tokens").await.ok()["count"], 1);
    app.finish().await;
}

#[tokio::test]
async fn a_name_that_is_too_long_for_one_parameter_is_refused_and_many_names_are_not() {
    let app = TestApp::open().await;
    let names: Vec<_> = (0..10).map(|number| format!("{number}{}", "n".repeat(63))).collect();
    let tool = Tool::ask(&app, "gen-key-pair", &format!("&monikers={}", names.join(","))).await;
    let alice = app.sign_in("alice").await;
    assert_eq!(call(&alice, "preview", &tool.body()).await.ok()["apps"], json!(names));
    let long = "n".repeat(1_000);
    let refused = app.browser().get(&format!("/api/did/gen-key-pair/token?monikers={long}")).await.refused(400);
    assert_eq!(refused["code"], "TOO_LONG");
    // A tool of another action does not end the session.
    app.browser().get(&format!("/api/did/connect-cli/timeout?_t_={}", tool.token)).await.ok();
    assert_eq!(tool.status().await.ok()["status"], "scanned");
    app.finish().await;
}

#[tokio::test]
async fn who_is_no_developer_is_refused_by_name_and_the_tool_goes_on_waiting() {
    let app = TestApp::open().await;
    let (alice, tool) = (app.sign_in("alice").await, Tool::connect(&app).await);
    call(&alice, "preview", &tool.body()).await.ok();
    let refused = call(&alice, "approve", &tool.body()).await.refused(403);
    assert_eq!(
        (&refused["error"], &refused["code"]),
        (&json!("You need a developer passport. Register as a developer first."), &json!("DEVELOPER_REQUIRED"))
    );
    assert_eq!(tool.status().await.ok()["status"], "scanned");
    app.browser().post("/api/tool-sessions/approve", &tool.body()).await.refused(401);
    let elsewhere = alice.browser.call(Method::POST, "/api/tool-sessions/approve").header("origin", "https://evil.example");
    elsewhere.json(&tool.body()).send().await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn an_approval_needs_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let developer = app.holder_of(Role::Developer).await;
    let tool = Tool::connect(&app).await;
    app.advance(Duration::from_secs(3_600));
    assert_eq!(call(&developer, "approve", &tool.body()).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&app, &developer.browser, "login", "").await.sign_in(&developer.wallet, "developer").await;
    call(&developer, "approve", &tool.body()).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn a_session_ends_by_its_timeout_and_by_its_age() {
    let app = TestApp::open().await;
    let developer = app.holder_of(Role::Developer).await;
    let (ended, aged) = (Tool::connect(&app).await, Tool::connect(&app).await);
    call(&developer, "preview", &ended.body()).await.ok();
    let timeout = ended.browser.get(&format!("/api/did/connect-cli/timeout?_t_={}", ended.token)).await;
    assert_eq!(timeout.ok(), json!({ "token": ended.token }));
    app.advance(TOOL_SESSION_LIFETIME - SECOND);
    assert_eq!(aged.status().await.ok()["status"], "created");
    app.advance(SECOND);
    for tool in [&ended, &aged] {
        assert_eq!(tool.status().await.refused(400)["error"], "Session not found or expired");
        assert_eq!(call(&developer, "preview", &tool.body()).await.refused(400)["code"], "CONNECT_EXPIRED");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_request_that_is_not_valid_is_refused_before_anything_is_stored() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let long = "n".repeat(65);
    for (action, query, code) in [
        ("connect-cli", String::new(), "INVALID"),
        ("login-cli", String::new(), "INVALID"),
        ("connect-cli", "_ek_=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned(), "INVALID"),
        ("connect-cli", format!("_ek_={KEY}&source={long}"), "TOO_LONG"),
        ("connect-studio", format!("_ek_={KEY}"), "APP_NAME_REQUIRED"),
        ("connect-studio", format!("_ek_={KEY}&monikers=a,b"), "TOO_MANY_APPS"),
        ("gen-key-pair", String::new(), "APP_NAME_REQUIRED"),
        ("gen-key-pair", format!("monikers={long}"), "TOO_LONG"),
    ] {
        let refused = browser.get(&format!("/api/did/{action}/token?x=1&{query}")).await.refused(400);
        assert_eq!(refused["code"], code, "{action} {query}: {refused}");
    }
    assert_eq!(app.count("SELECT count(*) AS n FROM tool_sessions").await, 0);
    for path in ["status?_t_=", "status?_t_=00ff"] {
        assert_eq!(browser.get(&format!("/api/did/connect-cli/{path}")).await.refused(400)["error"], "Session not found or expired");
    }
    let tool = Tool::connect(&app).await;
    browser.get(&format!("/api/did/connect-cli/auth?_t_={}", tool.token)).await.refused(404);
    let of_other_action = browser.get(&format!("/api/did/gen-key-pair/status?_t_={}", tool.token)).await;
    assert_eq!(of_other_action.refused(400)["error"], "Session not found or expired");
    app.finish().await;
}
