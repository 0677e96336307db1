//! A wallet's call is answered within five seconds, whatever the network does, and calls that come meanwhile have no effect.

use crate::app::plans::SKT;
use crate::app::signing::{assert_confirming, change_currency, pay, sign, wait_for_status};
use crate::app::{Buyer, Connect, Plans, TestApp, signed_claim, wallet};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::billing::Stake;
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::expire_connect_sessions;
use souk_domain::shared::{Amount, SubscriptionId};
use std::time::{Duration, Instant};

/// A connect session for a new deposit of a canceled subscription. The network is asked for the current deposit before each request and
/// before each signature is stored.
async fn request_restake(app: &TestApp) -> (Buyer, Connect) {
    let plans = Plans::put(app).await;
    let link = plans.link(app, &[&plans.monthly], SubscriptionTerms::default()).await;
    let alice = app.sign_in("alice").await;
    let session = alice.subscribe(app, &link).await;
    let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
    alice.browser.put(&format!("/api/subscriptions/{id}/cancel"), &json!({})).await.ok();
    // Record the stake as half revoked at the network.
    let subscription = SubscriptionId::parse(&id).expect("an id");
    app.change_stake(&subscription, |stake| Stake { amount_requested: Amount::new(20 * SKT), ..stake }).await;
    app.advance(Duration::from_secs(5));
    let connect = Connect::begin(app, &alice.browser, "re-stake", &format!("&subscriptionId={id}")).await;
    (alice, connect)
}

fn assert_repeatable(answer: &Value, started_at: Instant) {
    assert_eq!((&answer["status"], &answer["errorCode"]), (&json!("error"), &json!("NETWORK_UNREACHABLE")), "{answer}");
    assert!(answer["errorMessage"].as_str().is_some_and(|message| message.contains("try again")), "{answer}");
    assert!(started_at.elapsed() < Duration::from_secs(6), "{:?}", started_at.elapsed());
}

on_one! {
    async fn a_question_to_a_slow_network_before_a_signature_can_be_repeated_and_stores_nothing_later(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, connect) = request_restake(&app).await;
        app.networks.hang_ledger(true);
        let started_at = Instant::now();
        assert_repeatable(&connect.scan().await, started_at);
        app.networks.hang_ledger(false);
        let asked = connect.scan().await;
        let placed = "SELECT count(*) AS n FROM attempts WHERE purpose = 'stake'";
        let before = app.count(placed).await;
        app.networks.hang_ledger(true);
        let started_at = Instant::now();
        assert_repeatable(&sign(&connect, &alice, &asked).await, started_at);
        assert_eq!(connect.status().await.ok()["status"], "scanned", "the session goes on");
        app.networks.hang_ledger(false);
        let again = connect.scan().await;
        assert_ne!(again["challenge"], asked["challenge"], "a challenge is used once");
        assert_eq!(sign(&connect, &alice, &again).await["status"], "ok");
        wait_for_status(&connect, "succeed").await;
        app.drain().await;
        assert_eq!(app.count(placed).await, before + 1, "the late answer of the network has stored nothing");
        app.finish().await;
    }

    async fn a_session_does_not_expire_while_the_response_of_its_wallet_is_being_processed(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, connect) = request_restake(&app).await;
        let asked = connect.scan().await;
        app.advance(Duration::from_secs(299));
        app.networks.hang_ledger(true);
        let later = async {
            while app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'working'").await == 0 {
                tokio::task::yield_now().await;
            }
            app.advance(Duration::from_secs(60));
            expire_connect_sessions(&app.ctx, 10).await.expect("expires");
            app.networks.hang_ledger(false);
        };
        let (answer, ()) = tokio::join!(sign(&connect, &alice, &asked), later);
        assert_eq!(answer["status"], "ok", "{answer}");
        wait_for_status(&connect, "succeed").await;
        app.drain().await;
        app.finish().await;
    }

    /// The customer abandoned the deposit before, so the network is asked how much of it was placed.
    async fn a_deposit_that_cannot_be_determined_in_time_is_asked_for_when_the_wallet_reads_again(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (id, abandoned) = change_currency(&app, &alice).await;
        let asked = abandoned.scan().await;
        assert_eq!(sign(&abandoned, &alice, &asked).await["requestedClaims"][0]["type"], "prepareTx");
        app.drain().await;
        app.advance(Duration::from_secs(5));
        let query = format!("&subscriptionId={id}&currencyId={}", app.shop.token);
        let connect = Connect::begin(&app, &alice.browser, "change-payment", &query).await;
        let asked = connect.scan().await;
        assert_eq!(asked["requestedClaims"][0]["type"], "signature", "{asked}");
        app.networks.hang_ledger(true);
        let started_at = Instant::now();
        assert_repeatable(&sign(&connect, &alice, &asked).await, started_at);
        assert_eq!(connect.status().await.ok()["status"], "scanned", "the session goes on");
        app.networks.hang_ledger(false);
        let asked = connect.scan().await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        assert_eq!(sign(&connect, &alice, &asked).await["status"], "ok");
        wait_for_status(&connect, "succeed").await;
        app.drain().await;
        let seen = alice.browser.get(&format!("/api/subscriptions/{id}")).await.ok();
        assert_eq!((&seen["mandate"]["type"], &seen["staking"]["status"]), (&json!("delegation"), &json!("held")), "{seen}");
        app.finish().await;
    }

    async fn reading_the_request_of_a_step_in_progress_does_not_end_the_session(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        let (connect, asked) = alice.request_payment(&app, &session).await;
        app.execute("UPDATE connect_sessions SET status = 'working' WHERE status = 'scanned'").await;
        let busy = connect.scan().await;
        assert_eq!((&busy["status"], &busy["errorCode"]), (&json!("error"), &json!("CONNECT_BUSY")), "{busy}");
        app.execute("UPDATE connect_sessions SET status = 'scanned' WHERE status = 'working'").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let answer = connect.answer(&alice.wallet, &asked, signed_claim(&alice.wallet, &asked)).await;
        assert_confirming(&answer);
        app.execute("UPDATE connect_sessions SET status = 'working' WHERE status = 'confirming'").await;
        let read = connect.scan().await;
        assert_confirming(&read);
        assert_eq!(read["response"], answer["response"]);
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn a_response_that_is_sent_again_has_the_current_result(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let session = alice.start(&app.shop.atlas).await;
        alice.submit_for_wallet(&app, &session).await;
        let (connect, asked) = alice.request_payment(&app, &session).await;
        let body = connect.signed(&alice.wallet, &asked, "responseAuth", signed_claim(&alice.wallet, &asked));
        let first = connect.read(&connect.post(&body).await);
        assert_confirming(&first);
        assert_confirming(&connect.read(&connect.post(&body).await));
        app.execute("UPDATE connect_sessions SET status = 'working' WHERE status = 'confirming'").await;
        assert_confirming(&connect.read(&connect.post(&body).await));
        let foreign = connect.signed(&wallet("mallory"), &asked, "responseAuth", json!([]));
        assert_eq!(connect.read(&connect.post(&foreign).await)["errorCode"], "CONNECT_OTHER_WALLET");
        app.reconcile_later().await;
        let last = connect.read(&connect.post(&body).await);
        assert_eq!(
            (&last["status"], &last["response"], &last["successMessage"]),
            (&json!("ok"), &first["response"], &Value::Null),
            "{last}"
        );
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }

    async fn a_payment_of_a_hanging_network_is_being_confirmed(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.hang_ledger(true);
        let started_at = Instant::now();
        let (connect, answer) = pay(&app, &alice).await;
        assert_confirming(&answer);
        assert!(started_at.elapsed() < Duration::from_secs(6), "{:?}", started_at.elapsed());
        app.networks.hang_ledger(false);
        wait_for_status(&connect, "succeed").await;
        app.drain().await;
        app.finish().await;
    }
}
