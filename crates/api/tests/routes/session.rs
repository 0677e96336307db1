//! `/api/session`: the signed-in user, logout, and the claim of ownership.

use crate::app::TestApp;
use serde_json::{Value, json};
use souk_api::auth::token_hash;
use souk_domain::access::offer_ownership;
use std::time::Duration;

#[tokio::test]
async fn logout_invalidates_the_token() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let token = alice.browser.cookie("login_token").expect("a cookie");
    let left = alice.browser.post("/api/session/logout", &json!({})).await;
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")));
    alice.browser.set_cookie("login_token", &token);
    assert_eq!(alice.browser.get("/api/session").await.ok()["user"], Value::Null);
    app.finish().await;
}

#[tokio::test]
async fn a_login_ends_thirty_days_after_its_last_use() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    assert_eq!(alice.browser.get("/api/session").await.header("set-cookie"), None, "it was opened today");
    app.advance(Duration::from_secs(30 * 86_400 - 1));
    let used = alice.browser.get("/api/session").await;
    assert!(used.ok()["user"].is_object());
    assert!(used.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=2592000")), "the cookie lasts as long");
    app.advance(Duration::from_secs(30 * 86_400 - 1));
    assert!(alice.browser.get("/api/payment-intents").await.status == 200, "it was extended");
    app.advance(Duration::from_secs(1));
    assert_eq!(alice.browser.get("/api/session").await.ok()["user"], Value::Null);
    app.finish().await;
}

#[tokio::test]
async fn the_ownership_link_creates_one_owner_and_is_then_invalid() {
    let app = TestApp::open().await;
    assert!(offer_ownership(&app.ctx, &token_hash("the-link")).await.expect("is offered"));
    app.browser().post("/api/session/claim-owner", &json!({ "token": "the-link" })).await.refused(401);
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let another = bob.browser.post("/api/session/claim-owner", &json!({ "token": "another" })).await.refused(403);
    assert_eq!(another["error"], "This link has been used or is not valid");
    assert_eq!(another["code"], "OWNER_LINK_USED");
    let claimed = alice.browser.post("/api/session/claim-owner", &json!({ "token": "the-link" })).await.ok();
    assert_eq!(claimed["user"]["role"], "owner");
    bob.browser.post("/api/session/claim-owner", &json!({ "token": "the-link" })).await.refused(403);
    assert_eq!(bob.browser.get("/api/session").await.ok()["user"]["role"], "");
    assert!(!offer_ownership(&app.ctx, &token_hash("a-second-link")).await.expect("answers"), "the store has its owner");
    app.finish().await;
}

#[tokio::test]
async fn a_blocked_user_does_not_become_the_owner_and_leaves_the_link_to_others() {
    let app = TestApp::open().await;
    offer_ownership(&app.ctx, &token_hash("the-link")).await.expect("is offered");
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let mut unit = app.ctx.store.begin().await.expect("begins");
    assert!(unit.users().set_blocked(alice.wallet.did(), Some(app.ctx.now())).await.expect("blocks"));
    unit.commit().await.expect("commits");
    let claim = json!({ "token": "the-link" });
    assert_eq!(alice.browser.post("/api/session/claim-owner", &claim).await.refused(403)["code"], "USER_BLOCKED");
    assert_eq!(bob.browser.post("/api/session/claim-owner", &claim).await.ok()["user"]["role"], "owner");
    app.finish().await;
}

#[tokio::test]
async fn of_two_concurrent_claims_with_different_links_one_succeeds() {
    let app = TestApp::open().await;
    offer_ownership(&app.ctx, &token_hash("one")).await.expect("is offered");
    offer_ownership(&app.ctx, &token_hash("two")).await.expect("is offered");
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let (one, two) = (json!({ "token": "one" }), json!({ "token": "two" }));
    let claims = [alice.browser.post("/api/session/claim-owner", &one), bob.browser.post("/api/session/claim-owner", &two)];
    let statuses: Vec<_> = futures_util::future::join_all(claims).await.iter().map(|answer| answer.status).collect();
    assert!(statuses == [200, 403] || statuses == [403, 200], "{statuses:?}");
    app.finish().await;
}
