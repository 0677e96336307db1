//! What a wallet is told about a transaction that it has signed: the network's refusal, or that the payment is being confirmed.

use crate::app::{Buyer, Connect, TestApp, claim_of};
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::payment::check_due;
use std::time::Duration;
use tokio::time::sleep;

/// A connect session whose wallet has signed the payment of a new order, and the final message to the wallet.
async fn pay(app: &TestApp, alice: &Buyer) -> (Connect, Value) {
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(app, &session).await;
    let (connect, asked) = alice.request_payment(app, &session).await;
    let answer = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    (connect, answer)
}

async fn wait_for_status(connect: &Connect, status: &str) -> Value {
    loop {
        let seen = connect.status().await.ok();
        if seen["status"] == status {
            return seen;
        }
        assert_eq!(seen["status"], "scanned", "{seen}");
        sleep(Duration::from_millis(20)).await;
    }
}

on_both! {
    async fn the_wallet_is_told_that_the_network_refused_its_transfer(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        let (connect, answer) = pay(&app, &alice).await;
        assert_eq!((&answer["status"], &answer["errorCode"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{answer}");
        assert_eq!(answer["errorParams"]["reason"], "FORBIDDEN");
        let seen = connect.status().await.ok();
        assert_eq!((&seen["status"], &seen["code"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{seen}");
        app.finish().await;
    }

    async fn the_wallet_is_told_that_a_payment_without_a_decision_is_being_confirmed(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let english = app.sign_in("alice").await;
        let chinese = Buyer { browser: english.browser.in_chinese(), ..english.clone() };
        for (alice, message) in [
            (english, "Your payment is being confirmed. The page will show the result."),
            (chinese, "付款正在确认中，结果会显示在页面上。"),
        ] {
            app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
            let (connect, answer) = pay(&app, &alice).await;
            assert_eq!((&answer["status"], &answer["successMessage"]), (&json!("ok"), &json!(message)), "{answer}");
            assert_eq!(connect.status().await.ok()["status"], "scanned");
            app.advance(Duration::from_secs(60));
            check_due(&app.ctx, 10).await.expect("checks");
            wait_for_status(&connect, "succeed").await;
        }
        app.drain().await;
        app.finish().await;
    }
}

#[tokio::test]
async fn a_wallet_does_not_wait_longer_than_five_seconds_for_a_slow_network() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 7_000 })).await;
    let (connect, answer) = pay(&app, &alice).await;
    assert_eq!(answer["status"], "ok");
    assert!(answer["successMessage"].as_str().is_some_and(|message| message.contains("being confirmed")), "{answer}");
    assert_eq!(connect.status().await.ok()["status"], "scanned");
    wait_for_status(&connect, "succeed").await;
    app.drain().await;
    app.finish().await;
}
