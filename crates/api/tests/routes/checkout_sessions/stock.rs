//! Stock, purchase limits and reservations.

use crate::app::{ACCEPTED, Buyer, Sold, TestApp, claim_of, form};
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::checkout::expire_due;
use std::time::Duration;

async fn adjust(buyer: &Buyer, session: &str, sold: &Sold, quantity: u64) -> crate::app::Answer {
    let change = json!({ "itemId": sold.price, "quantity": quantity });
    buyer.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await
}

async fn sold_of(buyer: &Buyer, session: &str) -> Value {
    buyer.retrieve(session).await["checkoutSession"]["line_items"][0]["price"]["quantity_sold"].clone()
}

#[tokio::test]
async fn inventory_is_named_before_the_purchase_limit() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    let refused = adjust(&alice, &session, &app.shop.seats, 6).await.refused(400);
    assert_eq!((&refused["error"], &refused["code"]), (&"Exceed inventory".into(), &"EXCEED_INVENTORY".into()));
    let refused = adjust(&alice, &session, &app.shop.seats, 4).await.refused(400);
    assert_eq!((&refused["error"], &refused["code"]), (&"Exceed purchase limit".into(), &"EXCEED_PURCHASE_LIMIT".into()));
    let adjusted = adjust(&alice, &session, &app.shop.seats, 3).await.ok();
    assert_eq!(adjusted["line_items"][0]["quantity"], 3);
    let unit: u128 = adjusted["line_items"][0]["price"]["unit_amount"].as_str().and_then(|unit| unit.parse().ok()).expect("an amount");
    assert!(unit > 0);
    for shown in [&adjusted, &alice.retrieve(&session).await["checkoutSession"]] {
        assert_eq!(shown["amount_total"], (unit * 3).to_string(), "before anybody submits");
        assert_eq!(shown["amount_subtotal"], shown["amount_total"]);
    }
    app.finish().await;
}

#[tokio::test]
async fn invalid_quantities_and_fixed_items_are_rejected() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    adjust(&alice, &session, &app.shop.seats, 0).await.refused(400);
    adjust(&alice, &session, &app.shop.seats, u64::MAX).await.refused(400);
    adjust(&alice, &session, &app.shop.atlas, 1).await.refused(404);
    let fixed = alice.start(&app.shop.atlas).await;
    adjust(&alice, &fixed, &app.shop.atlas, 2).await.refused(400);
    app.finish().await;
}

#[tokio::test]
async fn stock_is_reserved_at_submit_and_released_when_the_session_expires() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let session = alice.start(&app.shop.seats).await;
    adjust(&alice, &session, &app.shop.seats, 3).await.ok();
    assert_eq!(sold_of(&alice, &session).await, 0);
    let submitted = alice.submit_for_wallet(&app, &session).await;
    assert_eq!(submitted["paymentIntent"]["amount"], "30000000000000000000");
    assert_eq!(sold_of(&alice, &session).await, 3);
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(sold_of(&alice, &session).await, 3, "a second submit holds nothing more");

    let other = bob.start(&app.shop.seats).await;
    adjust(&bob, &other, &app.shop.seats, 3).await.refused(400);
    adjust(&bob, &other, &app.shop.seats, 2).await.ok();
    bob.submit_for_wallet(&app, &other).await;
    assert_eq!(bob.pay_by_wallet(&app, &other).await["status"], "ok");

    app.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 1);
    assert_eq!(sold_of(&alice, &session).await, 2, "what was paid stays sold");
    let carol = app.sign_in("carol").await;
    let third = carol.start(&app.shop.seats).await;
    adjust(&carol, &third, &app.shop.seats, 3).await.ok();
    carol.submit_for_wallet(&app, &third).await;
    app.finish().await;
}

#[tokio::test]
async fn a_card_attempt_ends_at_the_processor_before_its_session_expires() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 1);
    assert_ne!(app.networks.confirm(&secret, ACCEPTED).await.0, 200, "the card form that stayed open charges nothing");
    assert_eq!(sold_of(&alice, &session).await, 0);
    app.finish().await;
}

#[tokio::test]
async fn a_card_charged_just_before_expiry_completes_the_purchase() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    let secret = alice.submit_for_card(&app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 0);
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}

on_both! {
    async fn ten_buyers_race_for_five_items_and_five_are_sold(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let crowd = app.crowd(10).await;
        let mut sessions = Vec::new();
        for buyer in &crowd {
            sessions.push(buyer.start(&app.shop.seats).await);
        }
        let race = crowd.iter().zip(&sessions).map(|(buyer, session)| {
            let filled = form(&app.shop, &buyer.name, true);
            async move { buyer.submit(session, &filled).await }
        });
        let answers = futures_util::future::join_all(race).await;
        let mut won = 0;
        for ((answer, buyer), session) in answers.iter().zip(&crowd).zip(&sessions) {
            if answer.status == 200 {
                won += 1;
                let secret = answer.ok()["stripeContext"]["client_secret"].as_str().expect("a secret").to_owned();
                assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
                app.advance(Duration::from_secs(2));
                assert_eq!(buyer.retrieve(session).await["checkoutSession"]["status"], "complete");
            } else {
                assert_eq!(answer.refused(400)["error"], "Exceed inventory");
            }
        }
        assert_eq!(won, 5);
        assert_eq!(sold_of(&crowd[0], &sessions[0]).await, 5);
        app.finish().await;
    }
}

/// The converse of invariant 1: a payment buys only what it was requested for.
#[tokio::test]
async fn an_order_that_was_enlarged_after_submit_cannot_be_paid_at_its_old_amount() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    adjust(&alice, &session, &app.shop.seats, 3).await.ok();

    let refused = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    assert_eq!(refused["errorMessage"], "The order has changed. Please try again.");
    assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 0);
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");

    alice.submit_for_wallet(&app, &session).await;
    alice.pay_by_wallet(&app, &session).await;
    let paid = alice.retrieve(&session).await;
    assert_eq!(
        (&paid["checkoutSession"]["status"], &paid["paymentIntent"]["amount_received"]),
        (&"complete".into(), &"30000000000000000000".into())
    );
    app.drain().await;
    app.finish().await;
}
