//! `POST /start/{link}` and `GET /retrieve/{id}`

use crate::app::TestApp;
use serde_json::json;
use souk_adapters::{on_both, on_one};
use std::time::Duration;

on_one! {
    async fn starts_of_one_visitor_within_three_seconds_give_one_session(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let first = alice.start(&app.shop.atlas).await;
        app.advance(Duration::from_millis(2_900));
        assert_eq!(alice.start(&app.shop.atlas).await, first);
        assert_ne!(alice.start(&app.shop.gift).await, first, "another link is another visit");
        app.advance(Duration::from_millis(200));
        assert_ne!(alice.start(&app.shop.atlas).await, first);
        app.finish().await;
    }
}

on_both! {
    async fn starts_at_the_same_moment_give_one_session(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let ids = [alice.start(&app.shop.atlas), alice.start(&app.shop.atlas)].into_iter();
        let ids = futures_util::future::join_all(ids).await;
        assert_eq!(ids[0], ids[1]);
        assert_eq!(app.count("SELECT count(*) AS n FROM checkout_sessions").await, 1);
        app.finish().await;
    }
}

#[tokio::test]
async fn two_visitors_get_a_session_each() {
    let app = TestApp::open().await;
    let path = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
    let (one, other) = (app.browser().post(&path, &json!({})).await.ok(), app.browser().post(&path, &json!({})).await.ok());
    assert_ne!(one["checkoutSession"]["id"], other["checkoutSession"]["id"]);
    app.finish().await;
}

#[tokio::test]
async fn unknown_query_parameters_are_ignored() {
    let app = TestApp::open().await;
    let path = format!("/api/checkout-sessions/start/{}?utm_source=x&page=%20&livemode=maybe&locale=xx", app.shop.atlas.link);
    let started = app.browser().post(&path, &json!({})).await.ok();
    assert_eq!(started["checkoutSession"]["status"], "open");
    app.finish().await;
}

#[tokio::test]
async fn unknown_links_and_malformed_ids_are_rejected() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let missing = browser.post("/api/checkout-sessions/start/plink_01234", &json!({})).await.refused(404);
    assert_eq!(missing["error"], "Sorry, the page you visited does not exist.");
    let odd = browser.post("/api/checkout-sessions/start/nonsense", &json!({})).await.refused(400);
    assert_eq!(odd["error"], "Either a checkoutSession or a paymentLink id is required.");
    browser.get("/api/checkout-sessions/retrieve/cs_01234").await.refused(404);
    browser.get("/api/checkout-sessions/retrieve/plink_01234").await.refused(400);
    app.finish().await;
}

#[tokio::test]
async fn the_payer_is_visible_only_to_the_payer_and_the_owner() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    let stranger = app.sign_in("stranger").await;
    for found in [stranger.retrieve(&session).await, app.browser().get(&format!("/api/checkout-sessions/retrieve/{session}")).await.ok()] {
        let text = found.to_string();
        assert_eq!(found["checkoutSession"]["status"], "complete");
        for secret in ["alice@example.com", alice.wallet.did().as_str(), "\"customer\"", "invoice_id\":", "tx_hash"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
    let owner = app.owner().await;
    assert_eq!(owner.retrieve(&session).await["checkoutSession"]["customer_details"]["email"], "alice@example.com");
    app.finish().await;
}

#[tokio::test]
async fn metadata_of_products_prices_and_links_is_shown_to_the_store_only() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let private = json!({ "cost": "private 3" });
    let price = json!({ "unit_amount": "2", "currency_id": app.shop.token.as_str(), "metadata": private });
    let product = json!({ "name": "Lamp", "metadata": private, "prices": [price] });
    let product = owner.browser.post("/api/products", &product).await.ok();
    let page_info = json!({ "form_purpose_description": { "en": "For the delivery", "zh": "" } });
    let link = json!({
        "line_items": [{ "price_id": product["prices"][0]["id"], "quantity": 1 }],
        "metadata": { "cost": "private 3", "page_info": page_info },
    });
    let link = owner.browser.post("/api/payment-links", &link).await.ok();
    let session = alice.start_link(link["id"].as_str().expect("an id")).await;
    let path = format!("/api/checkout-sessions/retrieve/{session}");
    let assert_hidden = |seen: &serde_json::Value, by: &str| {
        assert!(!seen.to_string().contains("private 3"), "{by}: {seen}");
        let purpose = &seen["checkoutSession"]["metadata"]["page_info"]["form_purpose_description"]["en"];
        assert_eq!(purpose, "For the delivery", "{by}");
    };
    assert_hidden(&app.browser().get(&path).await.ok(), "a stranger before the submit");
    assert_hidden(&alice.submit_for_wallet(&app, &session).await, "the answer of the submit");
    assert_hidden(&alice.retrieve(&session).await, "the payer");
    assert_hidden(&app.browser().get(&path).await.ok(), "a stranger after the submit");
    let seen = owner.browser.get(&path).await.ok();
    for part in ["/checkoutSession/line_items/0/price", "/checkoutSession/line_items/0/price/product", "/paymentLink", "/checkoutSession"] {
        assert_eq!(seen.pointer(part).expect(part)["metadata"]["cost"], "private 3", "{part}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_total_that_overflows_is_refused_where_it_arises() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    // 300,000,000,000,000,000,000 tokens of 18 decimals: twice as many do not fit.
    let price = json!({ "unit_amount": "300000000000000000000", "currency_id": app.shop.token.as_str() });
    let product = owner.browser.post("/api/products", &json!({ "name": "Moon", "prices": [price] })).await.ok();
    let items = |quantity: u32| {
        let adjustable = json!({ "enabled": true, "minimum": 1, "maximum": 9 });
        json!({ "line_items": [{ "price_id": product["prices"][0]["id"], "quantity": quantity, "adjustable_quantity": adjustable }] })
    };
    for path in ["/api/payment-links", "/api/checkout-sessions"] {
        assert_eq!(owner.browser.post(path, &items(2)).await.refused(400)["code"], "AMOUNT_OVERFLOW", "{path}");
    }
    let link = owner.browser.post("/api/payment-links", &items(1)).await.ok();
    let session = alice.start_link(link["id"].as_str().expect("an id")).await;
    let adjust = json!({ "itemId": product["prices"][0]["id"], "quantity": 2 });
    let adjusted = alice.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &adjust).await;
    assert_eq!(adjusted.refused(400)["code"], "AMOUNT_OVERFLOW");
    let seen = alice.retrieve(&session).await;
    assert_eq!(seen["checkoutSession"]["amount_total"], format!("3{}", "0".repeat(38)), "the order is unchanged");
    app.finish().await;
}
