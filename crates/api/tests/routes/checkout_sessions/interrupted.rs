//! Interrupted subscriptions: closed pages, lost responses, declines.

use super::subscription::{begun, invoices};
use crate::app::plans::SKT;
use crate::app::{ACCEPTED, Connect, DECLINED, Plans, TestApp, form, signed_claim};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::billing::{InvoiceStatus, Scope, StakeStatus, SubscriptionStatus, renew_due};
use souk_domain::checkout::{LineItem, LinkFields, QuantityRange, SubscriptionTerms, create_link, expire_session};
use souk_domain::payment::check_due;
use souk_domain::pricing::Price;
use souk_domain::shared::{Amount, Mode, SessionId};
use std::time::Duration;

/// Checks that a wallet is told why the network declined.
fn assert_declined(answer: &Value, reason: &str) {
    assert_eq!((&answer["status"], &answer["errorCode"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{answer}");
    assert_eq!(answer["errorParams"]["reason"], reason, "{answer}");
}

on_one! {
    async fn a_delegation_with_a_lost_response_is_found_and_charged_once(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
        let (done, _) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!(done["status"], "ok", "it is on its way: {done}");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(409);
        assert_eq!(refused["code"], "PAYMENT_IN_FLIGHT");
        // The page no longer polls, so the reconciler has to settle the attempt.
        app.advance(Duration::from_secs(60));
        check_due(&app.ctx, 10).await.expect("checks");
        app.advance(Duration::from_secs(600));
        check_due(&app.ctx, 10).await.expect("checks");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }

    async fn a_charge_that_was_stored_but_not_sent_is_sent_by_the_reconciler(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0 })).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        alice.sign_all(&app, &session, "subscription").await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        assert!(app.networks.payments_to(app.app_key.did().as_str()).await.is_empty());
        app.advance(Duration::from_secs(60));
        check_due(&app.ctx, 10).await.expect("checks");
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!(subscription.status, SubscriptionStatus::Active);
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1);
        assert_eq!(invoices(&app).await.len(), 1);
        app.finish().await;
    }

    async fn an_archived_product_is_delivered_if_its_payment_settles_later(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0 })).await;
        app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
        alice.sign_all(&app, &session, "subscription").await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let price = unit.prices().find(&plans.monthly).await.expect("reads").expect("exists");
        let withdrawn = Price { active: false, currency_id: app.shop.dollar.clone(), currency_options: Vec::new(), ..price };
        unit.prices().update(&withdrawn).await.expect("writes");
        unit.commit().await.expect("commits");
        app.advance(Duration::from_secs(60));
        check_due(&app.ctx, 10).await.expect("checks");
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!((subscription.status, subscription.items.len()), (SubscriptionStatus::Active, 1));
        assert_eq!(invoices(&app).await, [("subscription_create", InvoiceStatus::Paid, 10 * SKT)]);
        app.finish().await;
    }

    async fn a_session_interrupted_after_the_delegation_continues_with_the_stake(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        let connect = Connect::begin(&app, &alice.browser, "subscription", &format!("&checkoutSessionId={session}")).await;
        let asked = connect.scan().await;
        let asked = connect.answer(&alice.wallet, &asked, signed_claim(&alice.wallet, &asked)).await;
        assert_eq!(asked["requestedClaims"][0]["type"], "prepareTx", "{asked}");
        app.advance(Duration::from_secs(400));
        alice.submit_for_wallet(&app, &session).await;
        let (done, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["prepareTx".to_owned()]), "{done}");
        let subscription = begun(&app, &alice, &session).await;
        let stake = app.stake_of(&subscription.id).await;
        assert_eq!((stake.amount, stake.status), (Amount::new(10 * SKT), StakeStatus::Held));
        app.drain().await;
        app.finish().await;
    }

    async fn an_insufficient_balance_is_reported_and_the_order_can_be_paid_later(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let poor = app.crowd(1).await.remove(0);
        let session = poor.start_link(&link).await;
        poor.submit_for_wallet(&app, &session).await;
        let (refused, _) = poor.sign_all(&app, &session, "subscription").await;
        assert_declined(&refused, "INSUFFICIENT_FUND");
        let found = poor.retrieve(&session).await;
        assert_eq!((&found["checkoutSession"]["status"], &found["paymentIntent"]["status"]), (&"open".into(), &"requires_action".into()));
        assert_eq!(found["paymentIntent"]["last_payment_error"]["code"], "INSUFFICIENT_FUND");
        app.advance(Duration::from_secs(10));
        let (refused, kinds) = poor.sign_all(&app, &session, "subscription").await;
        assert_eq!(kinds, ["authPrincipal"], "nothing is to be signed again");
        assert_declined(&refused, "INSUFFICIENT_FUND");
        app.networks.faucet(poor.wallet.did().as_str()).await;
        app.advance(Duration::from_secs(10));
        let (done, kinds) = poor.sign_all(&app, &session, "subscription").await;
        assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["authPrincipal".to_owned()]), "{done}");
        assert_eq!(poor.retrieve(&session).await["checkoutSession"]["status"], "complete");
        app.finish().await;
    }

    async fn a_customer_with_overdue_invoices_is_rejected_until_they_are_paid(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.trial(&app).await;
        let poor = app.crowd(1).await.remove(0);
        let session = poor.subscribe(&app, &link).await;
        app.advance(Duration::from_secs(8 * 86_400));
        let submitted = poor.start(&app.shop.atlas).await;
        poor.submit(&submitted, &form(&app.shop, &poor.name, false)).await.ok();
        let round = renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 10).await.expect("renews");
        souk_domain::payment::charge(&app.ctx, &round.attempts).await.expect("charges");
        assert_eq!(begun(&app, &poor, &session).await.status, SubscriptionStatus::PastDue);
        let confirm = format!("/api/checkout-sessions/{submitted}/fast-checkout-confirm");
        let refused = poor.browser.post(&confirm, &json!({})).await.refused(403);
        assert_eq!(refused["code"], "CUSTOMER_LIMITED", "what was submitted before is not paid either");
        // The renewal and the draft of the order have the same time, so their order is not defined.
        assert!(invoices(&app).await.iter().any(|invoice| invoice.1 == InvoiceStatus::Uncollectible));
        let next = poor.start(&app.shop.atlas).await;
        let refused = poor.submit(&next, &form(&app.shop, &poor.name, false)).await.refused(403);
        assert_eq!(refused["code"], "CUSTOMER_LIMITED");
        app.drain().await;
        app.finish().await;
    }

    async fn a_stake_is_topped_up_after_the_order_has_grown(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let item = LineItem { adjustable: Some(QuantityRange { minimum: 1, maximum: 0 }), ..LineItem::new(plans.monthly.clone(), 1) };
        let fields = LinkFields { items: Some(vec![item]), ..LinkFields::default() };
        let link = create_link(&app.ctx, Mode::Test, fields).await.expect("a link").to_string();
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0, "count": 2 })).await;
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        alice.sign_all(&app, &session, "subscription").await;
        assert_eq!(alice.retrieve(&session).await["paymentIntent"]["status"], "requires_action", "the charge was declined");
        let more = json!({ "itemId": plans.monthly.as_str(), "quantity": 3 });
        alice.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &more).await.ok();
        alice.submit_for_wallet(&app, &session).await;
        app.advance(Duration::from_secs(10));
        let (done, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{done}");
        let subscription = begun(&app, &alice, &session).await;
        let stake = app.stake_of(&subscription.id).await;
        assert_eq!((stake.amount, stake.status), (Amount::new(30 * SKT), StakeStatus::Held));
        let staked = app.count("SELECT count(*) AS n FROM journal_entries WHERE type = 'stake_placed'").await;
        assert_eq!(staked, 2, "ten, and twenty more");
        let found = alice.browser.get("/api/invoices?include_staking=true").await.ok();
        let of_stake = |one: &&Value| one["billing_reason"] == "stake";
        let found = found["list"].as_array().expect("a list").iter().find(of_stake).expect("an invoice").clone();
        let found = alice.browser.get(&format!("/api/invoices/{}", found["id"].as_str().expect("an id"))).await.ok();
        assert_eq!(found["lines"][0]["formula"]["kind"], "stake", "{found}");
        app.drain().await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn the_stake_of_an_unpaid_order_is_returned(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let terms = SubscriptionTerms { min_stake_amount: Some("1".to_owned()), ..SubscriptionTerms::default() };
        let link = plans.link(&app, &[&plans.yearly, &plans.weekly], terms).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        app.networks.ledger_fault(json!({ "mode": "delay_ms", "value": 0, "count": 2 })).await;
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        let (refused, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!(kinds.len(), 2);
        assert_declined(&refused, "FORBIDDEN");
        let found = alice.retrieve(&session).await;
        assert_eq!(found["paymentIntent"]["status"], "requires_action", "the charge was declined");
        expire_session(&app.ctx, &SessionId::parse(&session).expect("an id")).await.expect("expires");
        app.move_stakes().await;
        let back = app.count("SELECT count(*) AS n FROM journal_entries WHERE type IN ('stake_placed', 'stake_returned')").await;
        assert_eq!(back, 2);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_delegation_rejected_by_the_ledger_is_reported_and_can_be_repeated() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let link = plans.plain(&app).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    alice.submit_for_wallet(&app, &session).await;
    app.networks.ledger_fault(json!({ "mode": "decline" })).await;
    let (refused, _) = alice.sign_all(&app, &session, "subscription").await;
    assert_eq!(refused["status"], "error", "{refused}");
    app.advance(Duration::from_secs(1));
    let (done, kinds) = alice.sign_all(&app, &session, "subscription").await;
    assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["signature".to_owned()]), "{done}");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}

#[tokio::test]
async fn a_declined_card_starts_no_subscription_and_another_card_does() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    for link in [plans.plain(&app).await, plans.trial(&app).await] {
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, DECLINED).await.0, 402);
        app.advance(Duration::from_secs(2));
        let found = alice.retrieve(&session).await;
        assert_eq!((&found["checkoutSession"]["status"], &found["paymentIntent"]["status"]), (&"open".into(), &"requires_action".into()));
        assert!(found["checkoutSession"].get("subscription_id").is_none());
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_card_form_that_was_closed_leaves_the_subscription_to_the_wallet() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let link = plans.trial(&app).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&link).await;
    let secret = alice.submit_for_card(&app, &session).await;
    alice.browser.post(&format!("/api/checkout-sessions/{session}/abort-stripe"), &json!({})).await.ok();
    assert_ne!(app.networks.confirm(&secret, ACCEPTED).await.0, 200, "the abandoned setup is dead");
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.sign_all(&app, &session, "subscription").await.0["status"], "ok");
    assert_eq!(begun(&app, &alice, &session).await.status, SubscriptionStatus::Trialing);
    app.finish().await;
}
