//! `PUT /{id}/submit`: permissions, repeated submits, and expiry.

use crate::app::{TestApp, form};
use serde_json::json;
use souk_adapters::{on_both, on_one};
use std::time::Duration;

on_both! {
    async fn submitting_twice_and_from_two_tabs_leads_to_one_intent_and_one_card_attempt(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let filled = form(&app.shop, "alice", true);
        let tabs = futures_util::future::join_all([alice.submit(&session, &filled), alice.submit(&session, &filled)]).await;
        let again = alice.submit(&session, &filled).await.ok();
        for tab in &tabs {
            let tab = tab.ok();
            assert_eq!(tab["paymentIntent"]["id"], again["paymentIntent"]["id"]);
            assert_eq!(tab["stripeContext"]["client_secret"], again["stripeContext"]["client_secret"]);
        }
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 1);
        assert_eq!(app.count("SELECT count(*) AS n FROM payment_intents").await, 1);
        assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 1);
        app.finish().await;
    }
}

on_one! {
    async fn a_session_that_was_paid_in_one_tab_is_complete_in_the_other(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.buy(&app, &app.shop.atlas).await;
        let other_tab = alice.submit(&session, &form(&app.shop, "alice", true)).await.ok();
        assert_eq!(other_tab["checkoutSession"]["status"], "complete");
        assert!(other_tab.get("stripeContext").is_none());
        let connect = alice.request_payment(&app, &session).await.1;
        assert_eq!(connect["errorMessage"], "This order has already been paid");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_submit_requires_a_login() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let started = browser.post(&format!("/api/checkout-sessions/start/{}", app.shop.atlas.link), &json!({})).await.ok();
    let session = started["checkoutSession"]["id"].as_str().expect("an id");
    let refused = browser.put(&format!("/api/checkout-sessions/{session}/submit"), &form(&app.shop, "x", false)).await.refused(401);
    assert_eq!(refused["code"], "forbidden");
    app.finish().await;
}

#[tokio::test]
async fn the_session_of_another_payer_is_forbidden() {
    let app = TestApp::open().await;
    let (alice, mallory) = (app.sign_in("alice").await, app.sign_in("mallory").await);
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    mallory.submit(&session, &form(&app.shop, "mallory", false)).await.refused(403);
    let aborted = mallory.browser.post(&format!("/api/checkout-sessions/{session}/abort-stripe"), &json!({})).await;
    aborted.refused(403);
    let (_, asked) = mallory.request_payment(&app, &session).await;
    assert_eq!(asked["errorMessage"], "Account changed, please pay manually.");
    app.finish().await;
}

#[tokio::test]
async fn an_expired_session_is_rejected_before_and_after_the_expiry_job() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    app.advance(Duration::from_secs(24 * 3_600));
    for _ in 0..2 {
        let refused = alice.submit(&session, &form(&app.shop, "alice", false)).await.refused(400);
        assert_eq!((&refused["error"], &refused["code"]), (&"This link has expired...".into(), &"EXPIRED".into()));
        souk_domain::checkout::expire_due(&app.ctx, 10).await.expect("expires");
    }
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "expired");
    app.finish().await;
}

#[tokio::test]
async fn a_session_cannot_be_paid_by_wallet_after_it_expired() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    app.advance(Duration::from_secs(24 * 3_600 - 10));
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    app.advance(Duration::from_secs(10));
    let done = connect.answer(&alice.wallet, &asked, crate::app::claim_of(&alice.wallet, &asked)).await;
    assert_eq!(done["errorMessage"], "This link has expired...");
    assert!(app.networks.transfers_to(app.app_key.did().as_str()).await.is_empty());
    app.finish().await;
}

#[tokio::test]
async fn unsupported_methods_and_currencies_are_rejected_by_name() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    for (method, currency, error) in [
        ("pm_unknown", app.shop.token.as_str(), "This payment method is not supported"),
        ("", app.shop.token.as_str(), "This payment method is not supported"),
        (app.shop.wallet.as_str(), app.shop.dollar.as_str(), "Currency not configured for price"),
        (app.shop.wallet.as_str(), "pc_unknown", "Currency not configured for price"),
    ] {
        let mut filled = form(&app.shop, "alice", false);
        filled["payment_method"] = json!(method);
        filled["payment_currency"] = json!(currency);
        assert_eq!(alice.submit(&session, &filled).await.refused(400)["error"], error);
    }
    app.finish().await;
}

#[tokio::test]
async fn unknown_sessions_are_not_found() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let filled = form(&app.shop, "alice", false);
    for id in ["cs_01234", "nonsense", "in_1", "cs_%2e%2e%2fetc"] {
        alice.submit(id, &filled).await.refused(404);
        alice.browser.post(&format!("/api/checkout-sessions/{id}/abort-stripe"), &json!({})).await.refused(404);
        let change = json!({ "itemId": app.shop.atlas.price, "quantity": 1 });
        alice.browser.put(&format!("/api/checkout-sessions/{id}/adjust-quantity"), &change).await.refused(404);
    }
    app.finish().await;
}
