//! `/api/disputes`: disputes of card payments

use crate::app::{Buyer, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;
use std::time::Duration;

/// A card that pays and is disputed as fraudulent.
const DISPUTED: &str = "4000000000000259";

/// Makes a purchase whose payment is disputed, and delivers the processor's event. Returns the session.
async fn disputed(app: &TestApp, buyer: &Buyer) -> Value {
    let session = buyer.start(&app.shop.atlas).await;
    let secret = buyer.submit_for_card(app, &session).await;
    assert_eq!(app.networks.confirm(&secret, DISPUTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    buyer.retrieve(&session).await;
    app.drain().await;
    let (signature, body) = app.networks.event("charge.dispute.created").await;
    let path = format!("/api/webhooks/{}", app.shop.card);
    let browser = app.browser();
    for _ in 0..2 {
        let call = browser.call(Method::POST, &path).header("stripe-signature", signature.clone());
        assert_eq!(call.body("application/json", body.clone()).send().await.status, 200);
    }
    app.drain().await;
    buyer.retrieve(&session).await["checkoutSession"].clone()
}

on_both! {
    async fn a_dispute_suspends_the_entitlement_and_is_shown_to_the_store(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let session = disputed(&app, &alice).await;
        let listed = owner.browser.get("/api/disputes").await.ok();
        let dispute = &listed["list"][0];
        assert_eq!((&listed["count"], &dispute["status"], &dispute["amount"]), (&json!(1), &json!("needs_response"), &json!("499")), "{listed}");
        assert_eq!((&dispute["reason"], &dispute["funds_withdrawn"]), (&json!("fraudulent"), &json!(true)));
        assert_eq!((&dispute["customer"]["id"], &dispute["customer"]["name"]), (&dispute["customer_id"], &json!("alice Example")));
        assert_eq!((&dispute["payment_intent_id"], &dispute["invoice_ids"]), (&session["payment_intent_id"], &json!([session["invoice_id"]])));
        let invoice = format!("/api/invoices/{}", session["invoice_id"].as_str().expect("an invoice"));
        let seen = owner.browser.get(&invoice).await.ok();
        assert_eq!((&seen["disputes"][0]["id"], &seen["payments"][0]["disputed"]), (&dispute["id"], &json!("499")));
        assert!(alice.browser.get(&invoice).await.ok()["disputes"].is_null());
        assert_eq!(alice.browser.get("/api/entitlements").await.ok()["list"][0]["status"], "suspended");
        assert_eq!(session["entitlements"][0]["status"], "suspended");
        alice.browser.get(&app.shop.atlas.bundle_path()).await.refused(403);
        assert_eq!(app.breaches().await, [""; 0]);

        let one = format!("/api/disputes/{}", dispute["id"].as_str().expect("an id"));
        assert_eq!(owner.browser.get(&one).await.ok()["id"], dispute["id"]);
        for path in [one.as_str(), "/api/disputes"] {
            app.browser().get(path).await.refused(401);
            alice.browser.get(path).await.refused(403);
        }
        owner.browser.live().get(&one).await.refused(404);
        owner.browser.get("/api/disputes/dp_01234").await.refused(404);
        let payment = session["payment_intent_id"].as_str().expect("a payment");
        for (query, count) in [
            ("open=true".to_owned(), 1),
            (format!("customer_id={}", alice.wallet.did()), 1),
            ("customer_id=cus_nobody".to_owned(), 0),
            (format!("payment_intent_id={payment}"), 1),
            ("payment_intent_id=pi_01234".to_owned(), 0),
            ("payment_intent_id=nonsense".to_owned(), 0),
        ] {
            assert_eq!(owner.browser.get(&format!("/api/disputes?{query}")).await.ok()["count"], count, "{query}");
        }
        assert_eq!(owner.browser.live().get("/api/disputes").await.ok()["count"], 0);
        let get = async |scope: &str| {
            let key = NewKey { name: "script".to_owned(), mode: Mode::Test, scopes: vec![Scope::parse(scope).expect("a scope")] };
            let secret = create_key(&app.ctx, key).await.expect("is made").secret;
            let browser = app.browser();
            browser.call(Method::GET, "/api/disputes").header("authorization", format!("Bearer {secret}")).send().await.status
        };
        assert_eq!((get("disputes:read").await, get("refunds:read").await), (200, 403));
        app.finish().await;
    }
}
