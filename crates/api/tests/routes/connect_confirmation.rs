//! What a wallet is told about a transaction that it has signed: the network's decline, or that the payment is being confirmed.

use crate::app::plans::SKT;
use crate::app::signing::{
    assert_failed, assert_refused, begin_plan, change_currency, decline_mandate, pay, sign, signed_purposes, wait_for_status,
};
use crate::app::{Buyer, TestApp};
use serde_json::json;
use souk_adapters::on_one;
use souk_domain::access::Wallet;
use souk_domain::checkout::{self, TransferError};
use souk_domain::payment::{self, Purpose, PurposeKind, SigningStep, WalletSignature, check_due};
use souk_domain::shared::SessionId;
use std::time::{Duration, Instant};

on_one! {
    async fn the_wallet_is_told_that_the_network_refused_its_transfer(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
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
        let app = TestApp::with_gas(db).await;
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
            app.reconcile_later().await;
            wait_for_status(&connect, "succeed").await;
        }
        app.drain().await;
        app.finish().await;
    }

    async fn a_mandate_that_is_declined_after_its_deposit_has_settled_is_the_result(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, connect, asked) = begin_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let asked = sign(&connect, &alice, &asked).await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        let answer = sign(&connect, &alice, &asked).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        assert!(answer["successMessage"].as_str().is_some_and(|message| message.contains("being confirmed")), "{answer}");
        assert_eq!(connect.status().await.ok()["status"], "scanned", "the deposit has settled and the mandate has not");
        decline_mandate(&app, &connect).await;
        app.drain().await;
        assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'error'").await, 1);
        assert_failed(&connect.status().await.ok());
        assert_eq!(signed_purposes(&app, &connect).await, [PurposeKind::Mandate, PurposeKind::Stake]);
        // The deposit remains with the order, so only the mandate is asked for again.
        app.advance(Duration::from_secs(5));
        let (answer, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&answer["status"], kinds), (&json!("ok"), vec!["signature".to_owned()]), "{answer}");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        app.finish().await;
    }

    async fn no_deposit_is_sent_after_the_network_has_declined_the_mandate(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, connect, asked) = begin_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let asked = sign(&connect, &alice, &asked).await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        decline_mandate(&app, &connect).await;
        assert_refused(&sign(&connect, &alice, &asked).await);
        assert_failed(&connect.status().await.ok());
        // A deposit that is being submitted when the decline arrives is not sent either.
        let payer = Wallet { did: alice.wallet.did().clone(), public_key: alice.wallet.public_key_base58() };
        let step = SigningStep { token: &connect.token, challenge: "" };
        let signature = WalletSignature { step: Some(step), ..WalletSignature::new(&payer, 1, "") };
        let submitted = checkout::submit_signed_stake(&app.ctx, &SessionId::parse(&session).expect("an id"), signature).await;
        assert!(matches!(submitted, Err(TransferError::Declined(_))), "{submitted:?}");
        assert_eq!(signed_purposes(&app, &connect).await, [PurposeKind::Mandate]);
        app.drain().await;
        app.finish().await;
    }

    async fn a_payment_that_is_confirmed_after_a_restart_concludes_its_session(db: &TestDatabase) {
        let mut app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (connect, answer) = pay(&app, &alice).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        app.restart().await;
        let connect = connect.at(&app);
        assert_eq!(connect.status().await.ok()["status"], "scanned");
        // Longer than a session lives that waits for its wallet.
        app.advance(Duration::from_secs(400));
        payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
        assert_eq!(connect.status().await.ok()["status"], "scanned");
        check_due(&app.ctx, 10).await.expect("checks");
        app.drain().await;
        assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'succeed' AND action = 'payment'").await, 1);
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn a_process_that_stopped_while_it_sent_a_payment_leaves_a_session_that_still_ends(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (connect, _) = pay(&app, &alice).await;
        app.execute("UPDATE connect_sessions SET status = 'working' WHERE status = 'confirming'").await;
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn a_status_read_concludes_a_session_whose_message_was_lost(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (connect, _) = pay(&app, &alice).await;
        app.drain().await;
        app.advance(Duration::from_secs(60));
        check_due(&app.ctx, 10).await.expect("checks");
        app.execute("DELETE FROM outbox WHERE topic = 'conclude_connect'").await;
        app.drain().await;
        assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'confirming'").await, 1);
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.drain().await;
        app.finish().await;
    }

    async fn a_change_to_another_currency_asks_for_the_deposit_before_the_delegation_is_confirmed(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (id, connect) = change_currency(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (answer, kinds) = connect.sign_all(&alice.wallet).await;
        assert_eq!((&answer["status"], kinds), (&json!("ok"), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{answer}");
        assert_eq!(connect.status().await.ok()["status"], "scanned");
        let path = format!("/api/subscriptions/{id}");
        app.drain().await;
        assert_eq!(alice.browser.get(&path).await.ok()["currency_id"], json!(app.shop.dollar.as_str()), "the delegation is not confirmed");
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["currency_id"], &seen["staking"]["status"]), (&json!(app.shop.token.as_str()), &json!("held")), "{seen}");
        assert_eq!(seen["staking"]["amount"], (10 * SKT).to_string());
        app.finish().await;
    }

    async fn a_deposit_and_its_delegation_that_are_confirmed_at_once_secure_the_subscription(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (id, connect) = change_currency(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer", "count": 2 })).await;
        assert_eq!(connect.sign_all(&alice.wallet).await.0["status"], "ok");
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        let seen = alice.browser.get(&format!("/api/subscriptions/{id}")).await.ok();
        assert_eq!((&seen["currency_id"], &seen["staking"]["status"]), (&json!(app.shop.token.as_str()), &json!("held")), "{seen}");
        app.finish().await;
    }

    async fn a_deposit_that_settles_while_its_delegation_is_declined_is_returned(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (id, connect) = change_currency(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_eq!(connect.sign_all(&alice.wallet).await.0["status"], "ok");
        let transactions = payment::connect_transactions(&app.ctx, &connect.token).await.expect("reads");
        let stake = transactions.iter().find(|attempt| matches!(attempt.purpose, Purpose::Stake(_))).expect("a deposit");
        let (settled, ()) = tokio::join!(payment::settle(&app.ctx, &stake.id), decline_mandate(&app, &connect));
        settled.expect("settles");
        app.drain().await;
        assert_failed(&connect.status().await.ok());
        let stake = alice.browser.get(&format!("/api/stakes?subscription_id={id}")).await.ok()["list"][0].clone();
        assert_eq!((&stake["status"], &stake["release_reason"]), (&json!("releasing"), &json!("abandoned")), "{stake}");
        app.finish().await;
    }

    async fn a_deposit_for_a_change_whose_delegation_was_declined_is_returned(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (id, connect) = change_currency(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let (answer, kinds) = connect.sign_all(&alice.wallet).await;
        assert_eq!((&answer["status"], kinds.len()), (&json!("ok"), 2), "{answer}");
        let stakes = format!("/api/stakes?subscription_id={id}");
        assert_eq!(alice.browser.get(&stakes).await.ok()["list"][0]["status"], "held");
        decline_mandate(&app, &connect).await;
        app.drain().await;
        assert_failed(&connect.status().await.ok());
        let stake = alice.browser.get(&stakes).await.ok()["list"][0].clone();
        assert_eq!((&stake["status"], &stake["release_reason"]), (&json!("releasing"), &json!("abandoned")), "{stake}");
        app.move_stakes().await;
        let stake = alice.browser.get(&stakes).await.ok()["list"][0].clone();
        assert_eq!((&stake["status"], &stake["amount_returned"]), (&json!("final"), &json!((10 * SKT).to_string())), "{stake}");
        assert_eq!(alice.browser.get(&format!("/api/subscriptions/{id}")).await.ok()["status"], "active");
        app.finish().await;
    }
}

/// The network answers after seven seconds, which is longer than wallets wait.
#[tokio::test]
async fn the_deposit_is_asked_for_although_the_network_is_slow_with_the_mandate() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let (session, connect, asked) = begin_plan(&app, &alice).await;
    app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 7_000 })).await;
    let started_at = Instant::now();
    let asked = sign(&connect, &alice, &asked).await;
    assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
    assert!(started_at.elapsed() < Duration::from_secs(6), "{:?}", started_at.elapsed());
    let transactions = payment::connect_transactions(&app.ctx, &connect.token).await.expect("reads");
    assert!(transactions[0].status.is_open(), "the network has not answered yet");
    let answer = sign(&connect, &alice, &asked).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    wait_for_status(&connect, "succeed").await;
    assert_eq!(signed_purposes(&app, &connect).await, [PurposeKind::Payment, PurposeKind::Mandate, PurposeKind::Stake]);
    app.drain().await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}

#[tokio::test]
async fn a_wallet_does_not_wait_longer_than_five_seconds_for_a_slow_network() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 7_000 })).await;
    let started_at = Instant::now();
    let (connect, answer) = pay(&app, &alice).await;
    assert!(started_at.elapsed() < Duration::from_secs(6), "{:?}", started_at.elapsed());
    assert_eq!(answer["status"], "ok");
    assert!(answer["successMessage"].as_str().is_some_and(|message| message.contains("being confirmed")), "{answer}");
    assert_eq!(connect.status().await.ok()["status"], "scanned");
    wait_for_status(&connect, "succeed").await;
    app.drain().await;
    app.finish().await;
}
