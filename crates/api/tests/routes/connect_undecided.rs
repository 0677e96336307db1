//! Connect sessions whose transactions the network has not decided about: they end neither too early nor without the charge that follows, and
//! nothing is paid for them after their end.

use crate::app::signing::{
    assert_confirming, assert_refused, begin_order, begin_plain_plan, begin_plan, pay, record_decline, record_settled, sign,
    signed_purposes,
};
use crate::app::{Buyer, Connect, Plans, Subscriber, TOKEN, Terms, TestApp, claim_of, wallet};
use serde_json::{Value, json};
use souk_adapters::arcblock::TestWallet;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::Wallet;
use souk_domain::billing::{self, PaymentTargetError, RechargeError};
use souk_domain::payment::{self, Attempt, Purpose, PurposeKind, SigningStep, WalletSignature, check_due, networks_due};
use souk_domain::shared::{Amount, SessionId};
use souk_domain::storage::UnitOfWork;
use std::time::Duration;

/// Brings connect sessions into the state in which a process leaves them that stops after it has stored and sent the transaction.
const STOPPED: &str = "UPDATE connect_sessions SET status = 'working' WHERE status = 'confirming'";

/// Longer than a session lives that waits for its wallet, or for a step in progress.
const LAPSED: Duration = Duration::from_secs(400);

/// The page's view of a session whose time is over, before and after the job that expires sessions.
async fn statuses_after_expiry(app: &TestApp, connect: &Connect) -> [Value; 2] {
    let before = connect.status().await.ok()["status"].clone();
    payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
    [before, connect.status().await.ok()["status"].clone()]
}

/// Checks that a page can read a final state for a minute.
async fn assert_readable_for_a_minute(app: &TestApp, connect: &Connect, status: &str) {
    app.advance(Duration::from_secs(59));
    assert_eq!(connect.status().await.ok()["status"], status);
    app.advance(Duration::from_secs(1));
    connect.status().await.refused(400);
}

/// A friend's request for a top-up of a subscription.
async fn request_top_up(app: &TestApp, one: &Subscriber, friend: &TestWallet) -> (Connect, Value) {
    let query = format!("&subscriptionId={}&amount={}", one.id, 30 * TOKEN);
    let connect = Connect::begin(app, &one.buyer.browser, "recharge", &query).await;
    let asked = connect.scan().await;
    let asked = connect.answer(friend, &asked, json!([{ "type": "authPrincipal" }])).await;
    (connect, asked)
}

/// Another connect session for an order.
async fn begin_again(app: &TestApp, alice: &Buyer, session: &str) -> Connect {
    let query = format!("&checkoutSessionId={session}&sessionUserDid={}", alice.wallet.did());
    Connect::begin(app, &alice.browser, "subscription", &query).await
}

/// A connect session that asks for the deposit of an order whose mandate is in flight since another connect session, which has ended.
struct LaterSession {
    order: SessionId,
    connect: Connect,
    asked: Value,
}

impl LaterSession {
    async fn begin(app: &TestApp, alice: &Buyer) -> Self {
        let (session, first, asked) = begin_plan(app, alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        assert_eq!(sign(&first, alice, &asked).await["requestedClaims"][0]["type"], "prepareTx");
        app.execute("UPDATE connect_sessions SET status = 'error' WHERE action = 'subscription'").await;
        let connect = begin_again(app, alice, &session).await;
        let asked = connect.scan().await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        Self { order: SessionId::parse(&session).expect("an id"), connect, asked }
    }

    async fn mandate(&self, unit: &mut dyn UnitOfWork) -> Attempt {
        let order = unit.sessions().find(&self.order).await.expect("reads").expect("is there");
        unit.attempts().open_of(&Purpose::Mandate(order.mandate_id.expect("a mandate"))).await.expect("reads").expect("is open")
    }
}

on_one! {
    async fn a_session_does_not_succeed_before_the_first_charge_of_its_plan_has_settled(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, connect, asked) = begin_plain_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0 })).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_confirming(&sign(&connect, &alice, &asked).await);
        assert_eq!(signed_purposes(&app, &connect).await, [PurposeKind::Payment, PurposeKind::Mandate]);
        app.drain().await;
        assert_eq!(connect.status().await.ok()["status"], "scanned", "the mandate has settled, and the charge has not");
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.finish().await;
    }

    async fn a_charge_that_the_network_declines_late_ends_the_session_of_its_mandate(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (_, connect, asked) = begin_plain_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0 })).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        assert_confirming(&sign(&connect, &alice, &asked).await);
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        // The decline of a transaction that was sent before is final after a day.
        app.advance(Duration::from_secs(24 * 3_600));
        check_due(&app.ctx, 10).await.expect("checks");
        app.drain().await;
        let seen = connect.status().await.ok();
        assert_eq!((&seen["status"], &seen["params"]["reason"]), (&json!("error"), &json!("FORBIDDEN")), "{seen}");
        app.finish().await;
    }

    async fn a_wallet_with_nothing_to_sign_waits_for_what_an_ended_session_has_left_in_flight(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, first, asked) = begin_plain_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_confirming(&sign(&first, &alice, &asked).await);
        let (refused, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&refused["errorCode"], &kinds[..]), (&json!("PAYMENT_IN_FLIGHT"), &["authPrincipal".to_owned()][..]), "{refused}");
        app.execute("UPDATE connect_sessions SET status = 'error' WHERE status = 'confirming'").await;
        let second = begin_again(&app, &alice, &session).await;
        let (answer, _) = second.sign_all(&alice.wallet).await;
        assert_confirming(&answer);
        assert_eq!(second.status().await.ok()["status"], "scanned");
        app.reconcile_later().await;
        assert_eq!(second.status().await.ok()["status"], "succeed");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }

    async fn a_session_does_not_expire_while_the_network_has_not_decided(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (connect, answer) = pay(&app, &alice).await;
        assert_confirming(&answer);
        app.execute(STOPPED).await;
        app.execute("UPDATE connect_sessions SET expires_at = created_at").await;
        app.advance(LAPSED);
        assert_eq!(statuses_after_expiry(&app, &connect).await, ["scanned", "scanned"]);
        assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'confirming'").await, 1);
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn a_session_that_was_asked_for_a_deposit_waits_for_its_mandate_and_then_expires(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (_, connect, asked) = begin_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let asked = sign(&connect, &alice, &asked).await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        app.advance(LAPSED);
        assert_eq!(statuses_after_expiry(&app, &connect).await, ["scanned", "scanned"]);
        app.reconcile_later().await;
        let seen = connect.status().await.ok();
        assert_eq!((&seen["status"], &seen["code"]), (&json!("error"), &json!("CONNECT_EXPIRED")), "no deposit was signed: {seen}");
        app.finish().await;
    }

    async fn a_mandate_alone_concludes_a_session_whose_process_has_stopped(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let link = Plans::put(&app).await.trial(&app).await;
        let (session, connect, asked) = begin_order(&app, &alice, &link).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_confirming(&sign(&connect, &alice, &asked).await);
        app.execute(STOPPED).await;
        app.execute("UPDATE connect_sessions SET expires_at = created_at").await;
        check_due(&app.ctx, 10).await.expect("checks");
        app.advance(LAPSED);
        check_due(&app.ctx, 10).await.expect("checks");
        payment::expire_connect_sessions(&app.ctx, 10).await.expect("expires");
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.drain().await;
        app.finish().await;
    }

    async fn a_second_top_up_is_not_sent_while_the_first_is_undecided_after_its_session_lapsed(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let friend = wallet("friend");
        app.networks.faucet(friend.did().as_str()).await;
        let (first, asked) = request_top_up(&app, &alice, &friend).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_confirming(&first.answer(&friend, &asked, claim_of(&friend, &asked)).await);
        app.execute(STOPPED).await;
        app.execute("UPDATE connect_sessions SET expires_at = created_at").await;
        app.advance(LAPSED);
        assert_eq!(statuses_after_expiry(&app, &first).await, ["scanned", "scanned"], "nobody is told to try again");
        let (second, asked) = request_top_up(&app, &alice, &friend).await;
        let refused = second.answer(&friend, &asked, claim_of(&friend, &asked)).await;
        assert_eq!((&refused["status"], &refused["errorCode"]), (&json!("error"), &json!("PAYMENT_IN_FLIGHT")), "{refused}");
        app.reconcile_later().await;
        assert_eq!(first.status().await.ok()["status"], "succeed");
        assert_eq!(app.networks.payments_to(alice.buyer.wallet.did().as_str()).await.len(), 1);
        app.finish().await;
    }

    async fn nothing_is_written_or_sent_for_a_session_that_has_ended(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let friend = wallet("friend");
        app.networks.faucet(friend.did().as_str()).await;
        let (connect, asked) = request_top_up(&app, &alice, &friend).await;
        let claim = claim_of(&friend, &asked);
        let found = app.ctx.store.read().await.expect("reads").connect_sessions().find(&connect.token, app.ctx.now()).await;
        let stored = found.expect("reads").expect("is there");
        let payer = Wallet { did: friend.did().clone(), public_key: friend.public_key_base58() };
        let (amount, signed) = (Amount::new(30 * TOKEN), claim[0]["finalTx"].as_str().expect("a transaction"));
        let submit = async |challenge: &str| {
            let step = SigningStep { token: &connect.token, challenge };
            let signature = WalletSignature { step: Some(step), ..WalletSignature::new(&payer, stored.nonce, signed) };
            billing::submit_signed_recharge(&app.ctx, &alice.id, amount, signature).await
        };
        for sql in [
            "UPDATE connect_sessions SET status = 'error'",
            "UPDATE connect_sessions SET status = 'working', expires_at = created_at",
            "DELETE FROM connect_sessions",
        ] {
            app.execute(sql).await;
            let refused = submit(&stored.challenge).await;
            assert!(matches!(refused, Err(RechargeError::Payment(PaymentTargetError::Connect(_)))), "{sql}: {refused:?}");
        }
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 0);
        assert!(app.networks.payments_to(alice.buyer.wallet.did().as_str()).await.is_empty());
        app.finish().await;
    }

    async fn a_deposit_waits_for_the_decline_of_its_mandate_that_is_being_recorded(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (_, connect, asked) = begin_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let asked = sign(&connect, &alice, &asked).await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let mandate = unit.attempts().of_connect_session(&connect.token).await.expect("reads").remove(0);
        record_decline(&app, unit.as_mut(), mandate).await;
        let mut deposit = std::pin::pin!(sign(&connect, &alice, &asked));
        assert!(tokio::time::timeout(Duration::from_millis(500), &mut deposit).await.is_err(), "it waits");
        unit.commit().await.expect("commits");
        assert_refused(&deposit.await);
        assert_eq!(signed_purposes(&app, &connect).await, [PurposeKind::Mandate]);
        app.drain().await;
        app.finish().await;
    }

    async fn a_deposit_is_not_sent_if_the_network_is_declining_the_mandate_of_an_ended_session(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let later = LaterSession::begin(&app, &alice).await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let mandate = later.mandate(unit.as_mut()).await;
        record_decline(&app, unit.as_mut(), mandate).await;
        let mut deposit = std::pin::pin!(sign(&later.connect, &alice, &later.asked));
        assert!(tokio::time::timeout(Duration::from_millis(500), &mut deposit).await.is_err(), "it waits");
        unit.commit().await.expect("commits");
        let refused = deposit.await;
        assert_eq!(refused["status"], "error", "{refused}");
        assert_eq!(signed_purposes(&app, &later.connect).await, []);
        app.drain().await;
        app.finish().await;
    }

    async fn a_deposit_waits_for_an_outcome_of_its_mandate_before_it_locks_the_order(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let later = LaterSession::begin(&app, &alice).await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let mandate = later.mandate(unit.as_mut()).await;
        unit.attempts().lock_open(std::slice::from_ref(&mandate.id)).await.expect("locks");
        let mut deposit = std::pin::pin!(sign(&later.connect, &alice, &later.asked));
        assert!(tokio::time::timeout(Duration::from_millis(500), &mut deposit).await.is_err(), "it waits");
        let order = unit.sessions().find(&later.order).await.expect("reads").expect("is there");
        let written = tokio::time::timeout(Duration::from_millis(500), unit.sessions().update(&order)).await;
        assert!(written.expect("nothing else has locked the order").expect("writes"));
        drop(unit);
        assert_confirming(&deposit.await);
        app.reconcile_later().await;
        assert_eq!(later.connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn a_deposit_is_refused_while_another_session_waits_for_the_mandate(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (session, first, asked) = begin_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let asked_first = sign(&first, &alice, &asked).await;
        let second = begin_again(&app, &alice, &session).await;
        let asked = second.scan().await;
        let refused = sign(&second, &alice, &asked).await;
        assert_eq!((&refused["status"], &refused["errorCode"]), (&json!("error"), &json!("PAYMENT_IN_FLIGHT")), "{refused}");
        assert_eq!(signed_purposes(&app, &second).await, []);
        assert_confirming(&sign(&first, &alice, &asked_first).await);
        app.reconcile_later().await;
        assert_eq!(first.status().await.ok()["status"], "succeed");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.finish().await;
    }

    async fn a_session_that_waits_for_a_deposit_which_is_not_needed_ends_with_its_mandate(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let (_, connect, asked) = begin_plain_plan(&app, &alice).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        assert_confirming(&sign(&connect, &alice, &asked).await);
        // As if the server had failed before it knew whether a deposit is missing.
        app.execute("UPDATE connect_sessions SET status = 'scanned', step = 'stake' WHERE status = 'confirming'").await;
        assert_confirming(&connect.scan().await);
        app.reconcile_later().await;
        assert_eq!(connect.status().await.ok()["status"], "succeed");
        app.finish().await;
    }

    async fn the_end_of_a_hold_ends_the_session_of_the_payment(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        let (connect, _) = pay(&app, &alice).await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let attempt = unit.attempts().of_connect_session(&connect.token).await.expect("reads").remove(0);
        let intent = attempt.purpose.intent().expect("a payment").clone();
        record_settled(&app, unit.as_mut(), attempt, Amount::new(3)).await;
        unit.commit().await.expect("commits");
        owner.browser.post(&format!("/api/payment-intents/{intent}/resolve"), &json!({})).await.ok();
        app.drain().await;
        assert_eq!(app.count("SELECT count(*) AS n FROM connect_sessions WHERE status = 'error' AND action = 'payment'").await, 1);
        assert_eq!(connect.status().await.ok()["params"]["reason"], "amount_differs");
        app.finish().await;
    }
}

/// An insert would wait for the outcome on PostgreSQL, whose handler may wait for what the insert's unit of work has locked.
#[tokio::test]
async fn a_second_top_up_does_not_wait_for_the_outcome_of_the_first_that_is_being_recorded() {
    let db = TestDatabase::postgres().await;
    let app = TestApp::on(&db).await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let friend = wallet("friend");
    app.networks.faucet(friend.did().as_str()).await;
    let (first, asked) = request_top_up(&app, &alice, &friend).await;
    app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
    assert_confirming(&first.answer(&friend, &asked, claim_of(&friend, &asked)).await);
    let (second, asked) = request_top_up(&app, &alice, &friend).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let ids = [unit.attempts().of_connect_session(&first.token).await.expect("reads").remove(0).id];
    unit.attempts().settle_all(&ids, app.ctx.now()).await.expect("settles");
    let refused = second.answer(&friend, &asked, claim_of(&friend, &asked)).await;
    assert_eq!((&refused["status"], &refused["errorCode"]), (&json!("error"), &json!("PAYMENT_IN_FLIGHT")), "{refused}");
    drop(unit);
    app.reconcile_later().await;
    app.finish().await;
}

#[tokio::test]
async fn a_final_state_can_be_read_for_a_minute_even_if_the_session_would_have_expired() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    app.advance(Duration::from_secs(299));
    connect.post(&connect.signed(&alice.wallet, &asked, "declineAuth", json!([]))).await.ok();
    assert_readable_for_a_minute(&app, &connect, "error").await;
    let login = Connect::begin(&app, &app.browser(), "login", "").await;
    let asked = login.scan().await;
    let asked = login.answer(&wallet("bob"), &asked, json!([])).await;
    app.advance(Duration::from_secs(299));
    assert_eq!(login.answer(&wallet("bob"), &asked, json!([])).await["status"], "ok");
    app.advance(Duration::from_secs(59));
    assert_eq!(login.status().await.ok()["status"], "succeed");
    app.finish().await;
}

/// A process that stops after it has claimed a transaction for sending leaves it to the reconciler.
#[tokio::test]
async fn the_reconciler_continues_a_transaction_of_a_stopped_process_after_forty_seconds() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let friend = wallet("friend");
    app.networks.faucet(friend.did().as_str()).await;
    let payer = Wallet { did: friend.did().clone(), public_key: friend.public_key_base58() };
    let amount = Amount::new(30 * TOKEN);
    let prepared = billing::prepare_recharge(&app.ctx, &alice.id, amount, &payer, 7).await.expect("prepares");
    let signed = friend.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, amount).expect("signs");
    app.networks.hang_ledger(true);
    let sending = billing::submit_signed_recharge(&app.ctx, &alice.id, amount, WalletSignature::new(&payer, 7, &signed));
    assert!(tokio::time::timeout(Duration::from_millis(500), sending).await.is_err(), "the network hangs");
    app.networks.hang_ledger(false);
    assert_eq!(app.count("SELECT count(*) AS n FROM attempts WHERE sent_at IS NOT NULL").await, 1);
    app.advance(Duration::from_secs(39));
    assert!(networks_due(&app.ctx).await.expect("reads").is_empty());
    app.advance(Duration::from_secs(1));
    assert_eq!(networks_due(&app.ctx).await.expect("reads").len(), 1);
    check_due(&app.ctx, 10).await.expect("checks");
    app.drain().await;
    app.reconcile_later().await;
    assert_eq!(app.networks.payments_to(alice.buyer.wallet.did().as_str()).await.len(), 1);
    app.finish().await;
}
