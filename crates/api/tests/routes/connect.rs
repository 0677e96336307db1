//! `/api/did/{action}`: sign-in and payment with a wallet that may be malicious.

use crate::app::{Browser, Connect, TestApp, altered, claim_of, profile_of, wallet};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::arcblock::{Itx, Transaction, TransferV3Tx};
use souk_adapters::on_both;
use souk_domain::access::ConnectSession;
use souk_domain::operation::VisitorNetwork;
use souk_domain::storage::KeyedCall;
use std::time::Duration;

#[tokio::test]
async fn only_the_browser_that_began_a_login_receives_its_cookie() {
    let app = TestApp::open().await;
    let (browser, other) = (app.browser(), app.browser());
    let connect = Connect::begin(&app, &browser, "login", "").await;
    let alice = wallet("alice");
    let asked = connect.scan().await;
    let asked = connect.answer(&alice, &asked, json!([])).await;
    let done = connect.answer(&alice, &asked, json!([profile_of("alice")])).await;
    assert_eq!(done["status"], "ok");

    let seen = connect.status_from(&other).await;
    assert_eq!(seen.ok()["status"], "succeed");
    assert!(seen.ok().get("did").is_none(), "the token alone tells no did");
    assert!(seen.header("set-cookie").is_none());
    assert_eq!(other.get("/api/session").await.ok()["user"], Value::Null);

    let own = connect.status().await;
    assert_eq!(own.ok()["did"], alice.did().as_str());
    let cookie = own.header("set-cookie").expect("a cookie").to_owned();
    for part in ["login_token=", "Path=/", "HttpOnly", "SameSite=Lax", "Secure", "Max-Age=2592000"] {
        assert!(cookie.contains(part), "{part} is not in {cookie}");
    }
    let user = &browser.get("/api/session").await.ok()["user"];
    assert_eq!((&user["did"], &user["fullName"]), (&alice.did().as_str().into(), &"alice Example".into()));
    app.finish().await;
}

const OTHER_WALLET: &str = "Login user and wallet user mismatch, please relogin and try again";

/// A login that has succeeded, so that the next status request returns the cookie.
async fn succeeded(app: &TestApp, browser: &Browser) -> Connect {
    let connect = Connect::begin(app, browser, "login", "").await;
    let alice = wallet("alice");
    let asked = connect.scan().await;
    let asked = connect.answer(&alice, &asked, json!([])).await;
    connect.answer(&alice, &asked, json!([profile_of("alice")])).await;
    connect
}

#[tokio::test]
async fn a_redeemed_connect_token_opens_no_login_after_logout() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let (first, second) = (succeeded(&app, &browser).await, succeeded(&app, &browser).await);
    let bound = browser.cookie("connect_browser").expect("a cookie");
    assert!(first.status().await.header("set-cookie").is_some());
    assert_eq!(second.status().await.header("set-cookie"), None, "signed in already");
    let left = browser.post("/api/session/logout", &json!({})).await;
    assert_eq!(left.status, 204);
    assert_eq!(browser.cookie("connect_browser"), None);
    browser.set_cookie("connect_browser", &bound);
    for connect in [&first, &second] {
        let seen = connect.status().await;
        assert_eq!(seen.ok()["status"], "succeed");
        assert_eq!(seen.header("set-cookie"), None);
    }
    assert_eq!(browser.get("/api/session").await.ok()["user"], Value::Null);
    app.finish().await;
}

#[tokio::test]
async fn a_lost_login_cookie_is_reissued_and_the_lost_one_becomes_invalid() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let connect = succeeded(&app, &browser).await;
    assert!(connect.status().await.header("set-cookie").is_some());
    let lost = browser.cookie("login_token").expect("a cookie");
    browser.set_cookie("login_token", "");
    assert!(connect.status().await.header("set-cookie").is_some());
    assert!(browser.get("/api/session").await.ok()["user"].is_object());
    browser.set_cookie("login_token", &lost);
    assert_eq!(browser.get("/api/session").await.ok()["user"], Value::Null);
    app.finish().await;
}

#[tokio::test]
async fn a_store_without_https_sets_its_cookies_without_secure() {
    let app = TestApp::reached_at("http://127.0.0.1:8080/").await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let alice = wallet("alice");
    let asked = connect.scan().await;
    let asked = connect.answer(&alice, &asked, json!([])).await;
    connect.answer(&alice, &asked, json!([profile_of("alice")])).await;
    let status = connect.status().await;
    assert!(!status.header("set-cookie").expect("a cookie").contains("Secure"));
    app.finish().await;
}

#[tokio::test]
async fn the_deep_link_uses_the_configured_url_and_not_the_host_header() {
    let app = TestApp::open().await;
    let call = app.browser();
    let begun = call.call(Method::GET, "/api/did/login/token").header("host", "evil.example").send().await.ok();
    let link = begun["url"].as_str().expect("a link");
    assert!(link.starts_with("https://abtwallet.io/i/?action=requestAuth&url=https%253A%252F%252Fsouk.example%252Fapi%252Fdid%252Flogin"));
    app.finish().await;
}

#[tokio::test]
async fn a_wrong_challenge_is_rejected_and_the_right_one_still_works() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let alice = wallet("alice");
    let asked = connect.scan().await;
    let mut wrong = asked.clone();
    wrong["challenge"] = json!("0".repeat(32));
    assert_eq!(connect.answer(&alice, &wrong, json!([])).await["errorMessage"], "Challenge mismatch");
    assert_eq!(connect.status().await.ok()["status"], "scanned");
    let asked_next = connect.answer(&alice, &asked, json!([])).await;
    assert_eq!(asked_next["requestedClaims"][0]["type"], "profile");
    assert_ne!(asked_next["challenge"], asked["challenge"], "a new one for each step");
    assert_eq!(connect.answer(&alice, &asked, json!([])).await["errorMessage"], "Challenge mismatch", "and each only once");
    app.finish().await;
}

#[tokio::test]
async fn a_page_may_send_its_parameters_in_the_body() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let params = json!({ "checkoutSessionId": session, "locale": "zh", "nonsense": { "a": 1 } });
    let begun = alice.browser.post("/api/did/payment/token?locale=en", &params).await.ok();
    let scanned = app.browser().get(&format!("/api/did/payment/auth?_t_={}", begun["token"].as_str().expect("a token"))).await.ok();
    assert!(scanned["authInfo"].is_string(), "{scanned}");
    let kept = app.count("SELECT count(*) AS n FROM connect_sessions WHERE params LIKE '%checkoutSessionId%' AND params LIKE '%en%'").await;
    let dropped = app.count("SELECT count(*) AS n FROM connect_sessions WHERE params LIKE '%nonsense%' OR params LIKE '%zh%'").await;
    assert_eq!((kept, dropped), (1, 0));
    let malformed = alice.browser.call(Method::POST, "/api/did/payment/token").body("application/json", b"{".to_vec());
    assert_eq!(malformed.send().await.status, 400);
    app.finish().await;
}

#[tokio::test]
async fn another_wallet_cannot_take_over_the_second_step() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let asked = connect.scan().await;
    let asked = connect.answer(&wallet("alice"), &asked, json!([])).await;
    let refused = connect.answer(&wallet("mallory"), &asked, json!([profile_of("mallory")])).await;
    assert_eq!(refused["errorMessage"], OTHER_WALLET);
    assert_eq!(connect.status().await.refused(403)["error"], OTHER_WALLET, "the page sees the error");
    let late = connect.answer(&wallet("alice"), &asked, json!([profile_of("alice")])).await;
    assert_eq!(late["errorMessage"], "Session not found or expired");
    app.finish().await;
}

#[tokio::test]
async fn declining_and_being_busy_end_the_session() {
    let app = TestApp::open().await;
    let alice = wallet("alice");
    for (action, status, error) in [
        ("declineAuth", "error", "You have declined the authentication request"),
        ("busy", "busy", "Busy processing another DID Connect request"),
    ] {
        let connect = Connect::begin(&app, &app.browser(), "login", "").await;
        let asked = connect.scan().await;
        connect.post(&connect.signed(&alice, &asked, action, json!([]))).await.ok();
        let seen = connect.status().await.ok();
        assert_eq!((&seen["status"], &seen["error"]), (&status.into(), &error.into()));
    }
    app.finish().await;
}

#[tokio::test]
async fn an_envelope_that_is_too_old_or_signed_by_another_key_ends_the_session() {
    let app = TestApp::open().await;
    let alice = wallet("alice");
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let asked = connect.scan().await;
    let early = connect.signed(&alice, &asked, "responseAuth", json!([]));
    let late = Connect::begin(&app, &app.browser(), "login", "").await;
    app.advance(Duration::from_secs(290));
    let asked = late.scan().await;
    let old = late.signed(&alice, &asked, "responseAuth", json!([]));
    drop(early);
    app.advance(Duration::from_secs(9));
    assert_eq!(late.read(&late.post(&old).await)["requestedClaims"][0]["type"], "profile", "nine seconds are no age");

    let forged = Connect::begin(&app, &app.browser(), "login", "").await;
    let asked = forged.scan().await;
    let mut body = forged.signed(&alice, &asked, "responseAuth", json!([]));
    body["userPk"] = json!(wallet("mallory").public_key_base58());
    assert_eq!(forged.read(&forged.post(&body).await)["errorMessage"], "Invalid JWT token");
    let seen = forged.status().await.ok();
    assert_eq!((&seen["status"], &seen["code"]), (&"error".into(), &"CONNECT_SIGNATURE".into()));
    app.finish().await;
}

#[tokio::test]
async fn an_envelope_from_a_clock_that_is_behind_is_rejected_with_the_reason() {
    let app = TestApp::open().await;
    let alice = wallet("alice");
    let first = Connect::begin(&app, &app.browser(), "login", "").await;
    let asked = first.scan().await;
    let stale = first.signed(&alice, &asked, "responseAuth", json!([]));
    app.advance(Duration::from_secs(299));
    let second = Connect::begin(&app, &app.browser(), "login", "").await;
    second.scan().await;
    app.advance(Duration::from_secs(7));
    let refused = second.read(&second.post(&stale).await);
    assert_eq!(refused["errorMessage"], "JWT token expired, make sure your device time in sync with network");
    let seen = second.status().await.ok();
    assert_eq!((&seen["status"], &seen["code"]), (&"error".into(), &"CONNECT_CLOCK".into()));
    assert_eq!(first.read(&first.post(&stale).await)["errorMessage"], "Session not found or expired");
    first.status().await.refused(400);
    app.finish().await;
}

#[tokio::test]
async fn unknown_sessions_and_unknown_actions_have_different_errors() {
    let app = TestApp::open().await;
    let browser = app.browser();
    assert_eq!(browser.get("/api/did/login/status").await.refused(400)["error"], "Session Id is required to check status");
    assert_eq!(browser.get("/api/did/login/status?_t_=x").await.refused(400)["error"], "Session not found or expired");
    browser.get("/api/did/nonsense/token").await.refused(404);
    browser.get("/api/did/payment/token").await.refused(401);
    let login = Connect::begin(&app, &browser, "login", "").await;
    browser.get(&format!("/api/did/payment/status?_t_={}", login.token)).await.refused(400);
    app.finish().await;
}

#[tokio::test]
async fn a_browser_that_abandons_its_session_removes_it() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let connect = Connect::begin(&app, &browser, "login", "").await;
    browser.get(&format!("/api/did/login/timeout?_t_={}", connect.token)).await.ok();
    connect.status().await.refused(400);
    app.finish().await;
}

#[tokio::test]
async fn a_session_stores_only_known_parameters() {
    let app = TestApp::open().await;
    let long = "x".repeat(400);
    let connect = Connect::begin(&app, &app.browser(), "login", &format!("&a={long}&b={long}&checkoutSessionId=cs_1&mode=setup")).await;
    let found = app.ctx.store.read().await.expect("reads").connect_sessions().find(&connect.token, app.ctx.now()).await;
    let params = found.expect("reads").expect("is there").params;
    assert_eq!(params.keys().collect::<Vec<_>>(), ["checkoutSessionId", "livemode", "locale", "mode"]);
    app.finish().await;
}

#[tokio::test]
async fn one_run_prunes_a_thousand_expired_sessions_and_keys() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let now = app.ctx.now();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let session = unit.connect_sessions().find(&connect.token, now).await.expect("reads").expect("is there");
    for number in 0..1_000 {
        let session = ConnectSession { token: format!("{number:032}"), ..session.clone() };
        unit.connect_sessions().insert(&session, &VisitorNetwork::default()).await.expect("inserts");
        let call = KeyedCall { caller: "anna".to_owned(), key: format!("k{number}"), claimed_at: now, objects: &[] };
        unit.idempotency().claim(&call, "first", now).await.expect("claims");
    }
    unit.commit().await.expect("commits");
    app.advance(Duration::from_secs(25 * 3_600));
    souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
    assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions").await, 0);
    assert_eq!(app.count("SELECT count(*) AS n FROM idempotency_keys").await, 0);
    app.finish().await;
}

#[tokio::test]
async fn a_checkout_session_that_was_never_submitted_is_deleted_after_thirty_days() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    alice.buy(&app, &app.shop.atlas).await;
    app.drain().await;
    let start = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
    app.browser().post(&start, &json!({})).await.ok();
    for days in [29, 2] {
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions").await, 2);
        app.advance(Duration::from_secs(days * 24 * 3_600));
        souk_domain::checkout::expire_due(&app.ctx, 10).await.expect("expires");
        souk_workers::schedule::prune(&app.ctx).await.expect("prunes");
    }
    assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions").await, 1);
    assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions WHERE payer IS NOT NULL").await, 1);
    app.finish().await;
}

on_both! {
    async fn a_repeated_wallet_response_moves_no_money(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        let (connect, asked) = alice.request_payment(&app, &session).await;
        let body = connect.signed(&alice.wallet, &asked, "responseAuth", claim_of(&alice.wallet, &asked));
        let (first, second) = tokio::join!(connect.post(&body), connect.post(&body));
        let both = [first, second].map(|answer| connect.read(&answer));
        assert!(both.iter().any(|answer| answer["status"] == "ok"), "{both:?}");
        let is_busy = |answer: &Value| answer["errorCode"] == "CONNECT_BUSY";
        assert!(both.iter().all(|answer| answer["status"] == "ok" || is_busy(answer)), "{both:?}");
        let again = connect.read(&connect.post(&body).await);
        assert_eq!(again["status"], "ok", "it has the same result: {again}");
        assert!(both.iter().any(|answer| answer["response"] == again["response"]), "{both:?}");
        let mallory = wallet("mallory");
        let foreign = connect.signed(&mallory, &asked, "responseAuth", json!([]));
        assert_eq!(connect.read(&connect.post(&foreign).await)["errorMessage"], OTHER_WALLET, "another wallet learns nothing");
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }
}

type Change = fn(&mut Transaction);

fn transfer(transaction: &mut Transaction) -> &mut TransferV3Tx {
    let Some(Itx::TransferV3Tx(transfer)) = &mut transaction.itx else { panic!("a transfer") };
    transfer
}

#[tokio::test]
async fn a_transfer_that_differs_from_the_request_is_never_sent() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let cases: [(&str, Change); 7] = [
        ("amount", |tx| transfer(tx).outputs[0].tokens[0].value = "1".to_owned()),
        ("receiver", |tx| {
            let payer = tx.from.clone();
            transfer(tx).outputs[0].owner = payer;
        }),
        ("token", |tx| transfer(tx).outputs[0].tokens[0].address = "z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei".to_owned()),
        ("chain", |tx| tx.chain_id = "main".to_owned()),
        ("nonce", |tx| tx.nonce += 1),
        ("what is taken", |tx| transfer(tx).inputs[0].tokens[0].value = "20000000000000000000".to_owned()),
        ("the order it names", |tx| transfer(tx).data = None),
    ];
    for (what, change) in cases {
        let (connect, asked) = alice.request_payment(&app, &session).await;
        let refused = connect.answer(&alice.wallet, &asked, altered(&alice.wallet, &asked, change)).await;
        assert_eq!(refused["status"], "error", "{what}: {refused}");
        assert_eq!(connect.status().await.ok()["status"], "error", "{what}");
    }
    assert!(app.networks.transfers_to(app.app_key.did().as_str()).await.is_empty());
    assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 0);
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok", "the honest transfer still pays");
    app.finish().await;
}

#[tokio::test]
async fn a_transfer_for_one_order_does_not_pay_another() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let (one, other) = (alice.start(&app.shop.atlas).await, alice.start(&app.shop.seats).await);
    alice.submit_for_wallet(&app, &one).await;
    alice.submit_for_wallet(&app, &other).await;
    let (_, asked) = alice.request_payment(&app, &one).await;
    let claim = claim_of(&alice.wallet, &asked);
    let (connect, asked) = alice.request_payment(&app, &other).await;
    assert_eq!(connect.answer(&alice.wallet, &asked, claim).await["status"], "error");
    assert!(app.networks.transfers_to(app.app_key.did().as_str()).await.is_empty());
    app.finish().await;
}

#[tokio::test]
async fn another_wallet_does_not_pay_for_the_signed_in_one() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    let mallory = wallet("mallory");
    let refused = connect.answer(&mallory, &asked, claim_of(&mallory, &asked)).await;
    assert_eq!(refused["errorMessage"], OTHER_WALLET);
    assert_eq!(connect.status().await.refused(403)["error"], OTHER_WALLET);
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok", "the right one may begin again");
    app.finish().await;
}

#[tokio::test]
async fn declining_a_payment_leaves_the_order_open() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    connect.post(&connect.signed(&alice.wallet, &asked, "declineAuth", json!([]))).await.ok();
    assert_eq!(connect.status().await.ok()["status"], "error");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    app.finish().await;
}

#[tokio::test]
async fn malformed_wallet_responses_are_rejected_as_problems() {
    let app = TestApp::open().await;
    let connect = Connect::begin(&app, &app.browser(), "login", "").await;
    let path = format!("/api/did/login/auth?_t_={}", connect.token);
    let browser = app.browser();
    browser.call(Method::POST, &path).body("application/json", b"{".to_vec()).send().await.refused(400);
    browser.call(Method::POST, &path).body("application/json", vec![b'x'; 200_000]).send().await.refused(413);
    let answer = connect.read(&connect.post(&json!({})).await);
    assert_eq!(answer["status"], "error");
    app.finish().await;
}
