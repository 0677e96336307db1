use crate::app::plans::SKT;
use crate::app::{ACCEPTED, Connect, Plans, Subscriber, Terms, TestApp, WEEK, signed_claim};
use serde_json::json;
use souk_adapters::on_one;
use souk_domain::billing::{
    STAKE_RETRY_DELAY, Scope, Stake, StakePurpose, StakeReservation, StakeStatus, StakeSubject, StakeTransferKind, Subscription, renew_due,
};
use souk_domain::checkout::{SubscriptionTerms, expire_due};
use souk_domain::context::Context;
use souk_domain::operation::ClockTrust;
use souk_domain::payment::{Method, MethodSettings, check_due};
use souk_domain::shared::{Amount, AttemptId, StakeId, SubscriptionId};
use std::sync::Arc;
use std::time::Duration;

/// Inserts a stake of ten tokens for the subscription.
async fn hold_stake(app: &TestApp, one: &Subscriber) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let found = unit.subscriptions().find(&one.id).await.expect("reads").expect("is there");
    let (amount, at) = (Amount::new(10 * SKT), app.ctx.now());
    let held = Stake {
        id: StakeId::new(at, app.ctx.random.as_ref()),
        mode: found.mode,
        customer_id: found.customer_id.clone(),
        payer: one.buyer.wallet.did().clone(),
        method_id: found.method_id.clone(),
        currency_id: found.currency_id.clone(),
        subject: StakeSubject::Subscription(found.id.clone()),
        purpose: StakePurpose::Security,
        waiting_days: 14,
        amount_requested: amount,
        amount,
        amount_forfeited: Amount::ZERO,
        amount_returned: Amount::ZERO,
        reservation: None,
        status: StakeStatus::Held,
        release_reason: None,
        released_at: None,
        return_at: None,
        failure_count: 0,
        failure: None,
        reference: Some("z2stake".to_owned()),
        return_reference: None,
        checked_at: at,
        created_at: at,
        updated_at: at,
    };
    unit.stakes().insert(&held).await.expect("inserts");
    assert!(unit.subscriptions().update(&Subscription { stake_id: Some(held.id), ..found }).await.expect("updates"));
    unit.commit().await.expect("commits");
}

#[tokio::test]
async fn a_saved_card_pays_the_next_invoice() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    assert_eq!(asked["stripeContext"]["intent_type"], "setup_intent");
    let secret = asked["stripeContext"]["client_secret"].as_str().expect("a secret");
    assert_eq!(app.networks.confirm(secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    let seen = alice.buyer.browser.get(&path).await.ok();
    assert_eq!((&seen["currency_id"], &seen["mandate"]["type"]), (&json!(app.shop.dollar.as_str()), &json!("card")), "{seen}");
    assert_eq!(seen["next_invoice"]["amount"], "1000");
    let face = ["brand", "last4", "exp_month", "exp_year"].map(|name| seen["mandate"][name].clone());
    assert_eq!(json!(face), json!(["visa", "4242", 12, 2030]));
    // The bank has replaced the card since; the shown card data is updated by the next charge.
    app.execute("UPDATE mandates SET details = replace(details, '2030', '2026')").await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["mandate"]["exp_year"], 2026);
    app.advance_and_bill(WEEK).await;
    let seen = alice.buyer.browser.get(&path).await.ok();
    assert_eq!(seen["mandate"]["exp_year"], 2030);
    let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
    let invoice = alice.buyer.browser.get(&invoice).await.ok();
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &json!("1000")));
    app.finish().await;
}

#[tokio::test]
async fn the_payment_method_of_an_ended_subscription_cannot_be_changed() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let path = format!("/api/subscriptions/{}", alice.id);
    owner.browser.put(&format!("{path}/cancel"), &json!({ "at": "now" })).await.ok();
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let refused = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.refused(400);
    assert_eq!(refused["error"], "This subscription has ended");
    app.finish().await;
}

#[tokio::test]
async fn network_errors_of_the_store_are_not_shown_to_customers() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let card = unit.methods().find(&app.shop.card).await.expect("reads").expect("a method");
    let MethodSettings::Stripe { dashboard, publishable_key, secret_key, webhook_signing_secret, .. } = card.settings.clone() else {
        panic!("a card method");
    };
    let api_host = "http://127.0.0.1:9".to_owned();
    let settings = MethodSettings::Stripe { api_host, dashboard, publishable_key, secret_key, webhook_signing_secret };
    unit.methods().update(&Method { settings, ..card }).await.expect("updates");
    unit.commit().await.expect("commits");
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let refused = alice.buyer.browser.post(&format!("/api/subscriptions/{}/change-payment", alice.id), &body).await.refused(502);
    assert_eq!(refused["error"], souk_api::problem::FAILED);
    app.finish().await;
}

#[tokio::test]
async fn a_new_delegation_applies_to_future_charges() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let body = json!({ "payment_method": app.shop.wallet.as_str(), "payment_currency": app.shop.token.as_str() });
    let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    assert_eq!(asked["connect"]["action"], "change-payment");
    let query = format!("&subscriptionId={}&currencyId={}", alice.id, app.shop.token);
    app.advance(Duration::from_secs(1));
    let connect = Connect::begin(&app, &alice.buyer.browser, "change-payment", &query).await;
    let request = connect.scan().await;
    let done = connect.answer(&alice.buyer.wallet, &request, signed_claim(&alice.buyer.wallet, &request)).await;
    assert_eq!(done["status"], "ok", "{done}");
    app.advance_and_bill(WEEK).await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "active");
    app.finish().await;
}

/// The clock of a process that doubts it.
struct DoubtedClock;

impl ClockTrust for DoubtedClock {
    fn is_trusted(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn abandoned_card_forms_are_canceled() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    let plans = Plans::put(&app).await;
    let session = alice.buyer.start_link(&plans.trial(&app).await).await;
    let tried = alice.buyer.submit_for_card(&app, &session).await;
    const OPEN: &str = "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')";
    assert_eq!(app.count(OPEN).await, 2);
    app.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(expire_due(&app.ctx, 10).await.expect("expires"), 1);
    assert_eq!(app.count(OPEN).await, 1, "the attempt of the session ends with it");
    let doubted = Context { trust: Arc::new(DoubtedClock), ..app.ctx.clone() };
    check_due(&doubted, 10).await.expect("looks after it");
    assert_eq!(app.count(OPEN).await, 1, "nobody knows how long ago it was opened");
    app.advance(Duration::from_secs(3_600));
    check_due(&app.ctx, 10).await.expect("looks after it");
    assert_eq!(app.count(OPEN).await, 0);
    for secret in [asked["stripeContext"]["client_secret"].as_str().expect("a secret"), &tried] {
        assert_ne!(app.networks.confirm(secret, ACCEPTED).await.0, 200, "the provider has ended it too");
    }
    let seen = alice.buyer.browser.get(&path).await.ok();
    assert_eq!((&seen["status"], &seen["mandate"]["type"]), (&json!("active"), &json!("delegation")), "it is charged as before");
    app.finish().await;
}

on_one! {
    async fn a_new_stake_recovers_a_subscription_and_writes_a_statement(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        alice.browser.put(&format!("{path}/cancel"), &json!({})).await.ok();
        // Record the stake as half revoked at the network.
        let subscription = SubscriptionId::parse(&id).expect("an id");
        app.change_stake(&subscription, |stake| Stake { amount_requested: Amount::new(20 * SKT), ..stake }).await;
        let recovered = alice.browser.put(&format!("{path}/recover"), &json!({})).await.ok();
        assert_eq!((&recovered["needStake"], &recovered["subscription"]["cancel_at_period_end"]), (&json!(true), &json!(true)));
        app.advance(Duration::from_secs(5));
        let connect = Connect::begin(&app, &alice.browser, "re-stake", &format!("&subscriptionId={id}")).await;
        let request = connect.scan().await;
        let done = connect.answer(&alice.wallet, &request, signed_claim(&alice.wallet, &request)).await;
        assert_eq!(done["status"], "ok", "{done}");
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["cancel_at_period_end"], &seen["status"]), (&json!(false), &json!("active")));
        assert!(app.mails().iter().any(|mail| mail.contains("Message-ID: <resumed-")), "an email says that it continues");
        let shown = format!("/api/invoices?subscription_id={id}&include_staking=true");
        let statement = alice.browser.get(&shown).await.ok()["list"][0].clone();
        assert_eq!((&statement["billing_reason"], &statement["description"]), (&json!("subscription_recover"), &json!("Re-stake to resume subscription")));
        assert_eq!(statement["total"], (10 * SKT).to_string());
        let without = alice.browser.get(&format!("/api/invoices?subscription_id={id}")).await.ok();
        assert_eq!(without["count"], 1, "deposits are no payments");
        app.finish().await;
    }

    async fn changing_from_card_to_wallet_requires_a_stake(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
        let asked = alice.browser.post(&format!("{path}/change-payment"), &body).await.ok();
        app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
        app.advance(Duration::from_secs(5));
        alice.browser.get(&path).await.ok();
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["mandate"]["type"], &seen["staking"]), (&json!("card"), &json!(null)), "a card secures nothing: {seen}");
        app.move_stakes().await;
        app.advance(Duration::from_secs(5));
        let query = format!("&subscriptionId={id}&currencyId={}", app.shop.token);
        let (request, kinds) = Connect::begin(&app, &alice.browser, "change-payment", &query).await.sign_all(&alice.wallet).await;
        assert_eq!((&request["status"], kinds), (&json!("ok"), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{request}");
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["mandate"]["type"], &seen["staking"]["status"]), (&json!("delegation"), &json!("held")), "{seen}");
        assert_eq!(seen["staking"]["amount"], (10 * SKT).to_string());
        let shown = format!("/api/invoices?subscription_id={id}&include_staking=true");
        let statement = alice.browser.get(&shown).await.ok()["list"][0].clone();
        assert_eq!((&statement["billing_reason"], &statement["description"]), (&json!("stake"), &json!("Stake for subscription payment change")));
        app.finish().await;
    }

    async fn changing_from_wallet_to_card_returns_the_stake_despite_one_decline(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
        let asked = alice.browser.post(&format!("{path}/change-payment"), &body).await.ok();
        app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
        app.advance(Duration::from_secs(5));
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!(seen["mandate"]["type"], "card", "{seen}");
        let stake = async || alice.browser.get(&format!("/api/stakes?subscription_id={id}")).await.ok()["list"][0].clone();
        assert_eq!((&stake().await["status"], &stake().await["release_reason"]), (&json!("releasing"), &json!("superseded")));
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        app.move_stakes().await;
        let refused = stake().await;
        assert_eq!((&refused["status"], &refused["amount_remaining"]), (&json!("releasing"), &json!((10 * SKT).to_string())), "{refused}");
        assert_eq!(refused["failure_count"], json!(null), "the store's own matter");
        assert_eq!((&refused["customer"]["id"], &refused["customer"]["name"]), (&refused["customer_id"], &json!("alice Example")));
        app.advance(STAKE_RETRY_DELAY);
        app.move_stakes().await;
        let returned = stake().await;
        assert_eq!((&returned["status"], &returned["amount_returned"]), (&json!("final"), &json!((10 * SKT).to_string())), "{returned}");
        app.finish().await;
    }

    async fn a_card_form_opened_before_the_subscription_became_past_due_changes_nothing(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
        hold_stake(&app, &alice).await;
        let minute = Duration::from_secs(60);
        app.advance_and_bill(WEEK - minute).await;
        let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
        let path = format!("/api/subscriptions/{}", alice.id);
        let asked = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
        app.advance_and_bill(minute).await;
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "past_due");
        app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
        app.advance(Duration::from_secs(5));
        alice.buyer.browser.get(&path).await.ok();
        app.drain().await;
        let seen = alice.buyer.browser.get(&path).await.ok();
        assert_eq!((&seen["mandate"]["type"], &seen["staking"]["status"]), (&json!("delegation"), &json!("held")), "{seen}");
        app.finish().await;
    }

    async fn the_currency_cannot_change_while_a_charge_is_in_flight(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
        let path = format!("/api/subscriptions/{}/change-payment", alice.id);
        app.advance(WEEK);
        assert_eq!(renew_due(&app.ctx, &Scope::Wall, app.ctx.now(), 100).await.expect("renews").attempts.len(), 1);
        let refused = alice.buyer.browser.post(&path, &body).await.refused(409);
        assert_eq!(refused["error"], "A payment is being processed. Please wait.");
        app.drain().await;
        assert_eq!(alice.buyer.browser.post(&path, &body).await.ok()["stripeContext"]["intent_type"], "setup_intent");
        app.finish().await;
    }

    async fn a_stake_is_not_returned_before_its_invoices_are_paid(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
        hold_stake(&app, &alice).await;
        app.advance_and_bill(WEEK).await;
        let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
        let path = format!("/api/subscriptions/{}", alice.id);
        let refused = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.refused(400);
        assert_eq!(refused["error"], "Please pay your overdue invoices first");
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["staking"]["status"], "held");
        // Nor while a transfer of the stake is in progress.
        let attempt = AttemptId::new(app.ctx.now(), app.ctx.random.as_ref());
        app.change_stake(&alice.id, |stake| {
            let reservation = StakeReservation { attempt_id: attempt, kind: StakeTransferKind::Forfeit, amount: stake.amount };
            Stake { reservation: Some(reservation), ..stake }
        })
        .await;
        let refused = alice.buyer.browser.post(&format!("{path}/change-payment"), &body).await.refused(409);
        assert_eq!(refused["error"], "A payment is being processed. Please wait.");
        app.finish().await;
    }
}
