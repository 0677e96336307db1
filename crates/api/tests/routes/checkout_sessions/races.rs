//! Races: two wallet dialogs, two tabs, and all paths that can complete a session.

use crate::app::{ACCEPTED, TestApp, claim_of, form};
use futures_util::future::join_all;
use poem::http::Method;
use serde_json::json;
use souk_adapters::on_both;
use souk_domain::payment::check_due;
use std::collections::BTreeSet;
use std::time::Duration;

on_both! {
    async fn two_wallet_dialogs_answered_at_once_pay_once(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        let mut dialogs = Vec::new();
        for _ in 0..4 {
            let (connect, asked) = alice.request_payment(&app, &session).await;
            let body = connect.signed(&alice.wallet, &asked, "responseAuth", claim_of(&alice.wallet, &asked));
            dialogs.push((connect, body));
            // Each dialog requests its own transaction, so the ledger does not detect the duplicate.
            app.advance(Duration::from_millis(5));
        }
        let answers = join_all(dialogs.iter().map(|(connect, body)| connect.post(body))).await;
        let accepted = answers.iter().zip(&dialogs).filter(|(answer, (connect, _))| connect.read(answer)["status"] == "ok").count();
        assert_eq!(accepted, 1);
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 1);
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.finish().await;
    }

    async fn concurrent_submits_from_several_tabs_all_succeed(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        let filled = form(&app.shop, "alice", false);
        for _ in 0..5 {
            for answer in join_all((0..6).map(|_| alice.submit(&session, &filled))).await {
                answer.ok();
            }
        }
        assert_eq!(app.count("SELECT count(*) AS n FROM invoice_items").await, 1);
        app.finish().await;
    }

    async fn a_paid_session_is_completed_once_by_concurrent_pollers(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.seats).await;
        let secret = alice.submit_for_card(&app, &session).await;
        app.networks.confirm(&secret, ACCEPTED).await;
        let (signature, event) = app.networks.event("payment_intent.succeeded").await;
        app.advance(Duration::from_secs(60));
        let hook = async {
            let browser = app.browser();
            let call = browser.call(Method::POST, &format!("/api/webhooks/{}", app.shop.card)).header("stripe-signature", signature);
            assert_eq!(call.body("application/json", event).send().await.status, 200);
            app.drain().await;
        };
        let polls = join_all((0..6).map(|_| alice.retrieve(&session)));
        let submits = join_all((0..3).map(|_| async { alice.submit(&session, &form(&app.shop, "alice", true)).await.ok() }));
        let (_, _, _, checked) = tokio::join!(hook, polls, submits, check_due(&app.ctx, 10));
        checked.expect("checks");
        app.drain().await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        assert_eq!(app.mails().len(), 1);
        assert_eq!(alice.browser.get("/api/entitlements").await.ok()["count"], 1);
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["line_items"][0]["price"]["quantity_sold"], 1);
        assert_eq!(app.count("SELECT count(*) AS n FROM journal_entries").await, 2, "the invoice and its payment");
        app.finish().await;
    }

    async fn concurrent_card_and_wallet_payments_do_not_deadlock(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        for _ in 0..8 {
            let session = alice.start_link(&app.shop.atlas.link).await;
            alice.submit_for_wallet(&app, &session).await;
            let (connect, asked) = alice.request_payment(&app, &session).await;
            let body = connect.signed(&alice.wallet, &asked, "responseAuth", claim_of(&alice.wallet, &asked));
            let form = form(&app.shop, "alice", true);
            let (card, wallet) = tokio::join!(alice.submit(&session, &form), connect.post(&body));
            assert!(matches!(card.status, 200 | 400 | 409), "{} {}", card.status, card.json());
            let wallet = connect.read(&wallet);
            let is_paid = alice.retrieve(&session).await["checkoutSession"]["status"] == "complete";
            assert_eq!(wallet["status"] == "ok", is_paid, "{wallet}");
            assert!(is_paid || card.status == 200, "one of them gets through: {wallet} {}", card.json());
            app.advance(Duration::from_secs(4));
        }
        app.finish().await;
    }

    async fn invoices_paid_at_once_get_numbers_without_gaps(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let crowd = app.crowd(8).await;
        let bought = join_all(crowd.iter().map(|buyer| {
            let app = &app;
            async move {
                let session = buyer.start(&app.shop.gift).await;
                buyer.submit(&session, &form(&app.shop, &buyer.name, false)).await.ok();
                buyer.browser.get("/api/invoices").await.ok()["list"][0]["number"].as_str().expect("a number").to_owned()
            }
        }));
        let numbers: BTreeSet<String> = bought.await.into_iter().collect();
        let expected: BTreeSet<String> = (1..=8).map(|number| format!("SOUK-TEST-{number:06}")).collect();
        assert_eq!(numbers, expected);
        app.finish().await;
    }
}

#[tokio::test]
async fn an_order_that_was_enlarged_after_the_wallet_was_asked_is_not_paid_with_the_old_amount() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    let change = json!({ "itemId": app.shop.seats.price, "quantity": 3 });
    alice.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await.ok();
    let refused = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    assert_eq!(refused["errorMessage"], "The order has changed. Please try again.");
    let (_, asked) = alice.request_payment(&app, &session).await;
    assert_eq!(asked["errorMessage"], "The order has changed. Please try again.", "not before it is submitted again");
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    let moved = app.networks.transfers_to(app.app_key.did().as_str()).await;
    assert_eq!((moved.len(), &moved[0]["amount"]), (1, &"30000000000000000000".into()));
    app.finish().await;
}

#[tokio::test]
async fn an_order_that_went_to_a_card_in_another_tab_is_not_paid_by_the_wallet_as_well() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    let secret = alice.submit_for_card(&app, &session).await;
    let refused = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    assert_eq!(refused["status"], "error", "{refused}");
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert!(app.networks.transfers_to(app.app_key.did().as_str()).await.is_empty());
    app.finish().await;
}

#[tokio::test]
async fn an_order_with_a_payment_in_flight_cannot_be_changed() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    alice.submit_for_card(&app, &session).await;
    let change = json!({ "itemId": app.shop.seats.price, "quantity": 3 });
    let refused = alice.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await.refused(400);
    assert_eq!(refused["error"], "This order can no longer be changed");
    let mallory = app.sign_in("mallory").await;
    mallory.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn a_wallet_without_funds_sees_the_reason_and_can_pay_later() {
    let app = TestApp::open().await;
    let poor = &app.crowd(1).await[0];
    let session = poor.start(&app.shop.atlas).await;
    poor.submit_for_wallet(&app, &session).await;
    poor.pay_by_wallet(&app, &session).await;
    let found = poor.retrieve(&session).await;
    assert_eq!((&found["checkoutSession"]["status"], &found["paymentIntent"]["status"]), (&"open".into(), &"requires_action".into()));
    assert!(found["paymentIntent"]["last_payment_error"]["message"].is_string());
    app.networks.faucet(poor.wallet.did().as_str()).await;
    app.advance(Duration::from_secs(1));
    poor.submit_for_wallet(&app, &session).await;
    assert!(poor.retrieve(&session).await["paymentIntent"].get("last_payment_error").is_none(), "or the page would stop polling");
    assert_eq!(poor.pay_by_wallet(&app, &session).await["status"], "ok");
    assert_eq!(poor.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}
