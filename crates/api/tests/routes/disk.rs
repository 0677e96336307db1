//! While the disk is short, the store takes nothing new and records payments in progress.

use crate::app::{ACCEPTED, TestApp};
use poem::http::Method;
use serde_json::json;
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;
use std::time::Duration;

#[tokio::test]
async fn a_short_disk_refuses_new_sessions_and_settles_open_payments() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.disk.set_short(true);

    let path = format!("/api/checkout-sessions/start/{}", app.shop.gift.link);
    let refused = alice.browser.post(&path, &json!({})).await;
    assert_eq!(refused.refused(503)["code"], "NO_SPACE");
    assert!(refused.json()["error"].as_str().expect("a message").contains("out of disk space"));
    let readiness = app.browser().get("/readyz").await.ok();
    assert_eq!((&readiness["status"], &readiness["degraded"]), (&json!("ok"), &json!(["disk"])));

    // The payment that had begun before.
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.drain().await;

    app.disk.set_short(false);
    alice.start(&app.shop.gift).await;
    assert_eq!(app.browser().get("/readyz").await.ok().get("degraded"), None);
    app.finish().await;
}

#[tokio::test]
async fn a_session_of_an_integrator_is_refused_as_well() {
    let app = TestApp::open().await;
    let new = NewKey { name: "script".to_owned(), mode: Mode::Test, scopes: vec![Scope::parse("*").expect("a scope")] };
    let authorization = format!("Bearer {}", create_key(&app.ctx, new).await.expect("is created").secret);
    let body = json!({ "line_items": [{ "price_id": app.shop.atlas.price, "quantity": 1 }] });
    let browser = app.browser();
    let create =
        async || browser.call(Method::POST, "/api/checkout-sessions").header("authorization", &authorization).json(&body).send().await;
    app.disk.set_short(true);
    assert_eq!(create().await.refused(503)["code"], "NO_SPACE");
    app.disk.set_short(false);
    create().await.ok();
    app.finish().await;
}

#[tokio::test]
async fn only_administrators_see_which_disk_is_short() {
    let app = TestApp::open().await;
    let (owner, mallory) = (app.owner().await, app.sign_in("mallory").await);
    assert_eq!(owner.browser.get("/api/disk").await.ok()["short"], false);
    app.disk.set_short(true);
    let shown = owner.browser.get("/api/disk").await.ok();
    assert_eq!(shown, json!({ "short": true, "host": "shop-1", "folder": "/srv/souk", "free_bytes": 1_000, "reserve_bytes": 2_000 }));
    assert_eq!(mallory.browser.get("/api/disk").await.status, 403);
    app.finish().await;
}
