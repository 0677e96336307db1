//! Lost responses: the result of an attempt is unknown until the reconciler determines it (invariants 1 and 4).

use crate::app::{ACCEPTED, TestApp, form};
use serde_json::json;
use souk_adapters::on_one;
use souk_domain::checkout::expire_due;
use souk_domain::payment::check_due;
use std::time::Duration;

on_one! {
    async fn a_lost_response_of_the_ledger_is_reconciled_and_settled_once(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let done = alice.pay_by_wallet(&app, &session).await;
        assert_eq!(done["status"], "ok", "the payment is on its way: {done}");
        let waiting = alice.retrieve(&session).await;
        assert_eq!(waiting["checkoutSession"]["status"], "open");
        assert_eq!(waiting["paymentIntent"]["status"], "processing");
        let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(409);
        assert_eq!(refused["code"], "PAYMENT_IN_FLIGHT", "no second way to pay while the first is undecided");
        app.advance(Duration::from_secs(60));
        assert_eq!(check_due(&app.ctx, 10).await.expect("checks"), 1);
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.advance(Duration::from_secs(600));
        assert_eq!(check_due(&app.ctx, 10).await.expect("checks"), 0);
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_request_that_never_reached_the_ledger_is_sent_again_with_the_same_bytes() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
    let done = alice.pay_by_wallet(&app, &session).await;
    app.advance(Duration::from_secs(60));
    check_due(&app.ctx, 10).await.expect("checks");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    let moved = app.networks.transfers_to(app.app_key.did().as_str()).await;
    assert_eq!((moved.len(), &moved[0]["hash"]), (1, &done["response"]["hash"]));
    app.finish().await;
}

#[tokio::test]
async fn a_signed_transaction_is_sent_by_the_reconciler_after_its_session_expired() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
    alice.pay_by_wallet(&app, &session).await;
    app.advance(Duration::from_secs(25 * 3_600));
    // Outside the reconciler, a decline would be accepted although the transaction may have been sent before.
    assert_eq!(expire_due(&app.ctx, 10).await.expect("looks"), 0);
    assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 0);
    check_due(&app.ctx, 10).await.expect("checks");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn an_order_declined_by_the_ledger_can_be_paid_again() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    app.networks.ledger_fault(json!({ "mode": "decline" })).await;
    alice.pay_by_wallet(&app, &session).await;
    let found = alice.retrieve(&session).await;
    assert_eq!(found["paymentIntent"]["status"], "requires_action");
    assert!(found["paymentIntent"]["last_payment_error"]["message"].is_string(), "{found}");
    app.advance(Duration::from_secs(1));
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}

#[tokio::test]
async fn a_lost_response_to_opening_a_card_intent_does_not_open_a_second_one() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    app.networks.card_fault(json!({ "mode": "drop_answer" })).await;
    let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await;
    assert!(refused.status == 200 || refused.status == 502, "{}", refused.text());
    let secret = alice.submit_for_card(&app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(60));
    check_due(&app.ctx, 10).await.expect("checks");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 1);
    app.finish().await;
}
