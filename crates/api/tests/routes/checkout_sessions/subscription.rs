//! Subscriptions, from the payment link to the first invoice.

use crate::app::plans::{SKT, week};
use crate::app::{ACCEPTED, Buyer, Plans, TestApp};
use serde_json::Value;
use souk_adapters::on_one;
use souk_domain::billing::{InvoiceFilter, InvoiceStatus, StakeStatus, Subscription, SubscriptionStatus};
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::{MandateDetails, MandateStatus};
use souk_domain::shared::{Amount, Mode, Page, SubscriptionId};
use std::time::Duration;

/// The subscription that a session created.
pub async fn begun(app: &TestApp, buyer: &Buyer, session: &str) -> Subscription {
    let found = buyer.retrieve(session).await;
    let id = found["checkoutSession"]["subscription_id"].as_str().expect("a subscription").to_owned();
    find(app, &id).await
}

pub async fn find(app: &TestApp, id: &str) -> Subscription {
    let mut unit = app.ctx.store.read().await.expect("reads");
    let id = SubscriptionId::parse(id).expect("an id");
    unit.subscriptions().find(&id).await.expect("reads").expect("is there")
}

/// Reason, status and total of each invoice, oldest first.
pub async fn invoices(app: &TestApp) -> Vec<(&'static str, InvoiceStatus, u128)> {
    let mut unit = app.ctx.store.read().await.expect("reads");
    let filter = InvoiceFilter { include_staking: true, include_return_staking: true, ..InvoiceFilter::default() };
    let mut list = unit.invoices().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("reads").list;
    list.reverse();
    list.iter().map(|invoice| (invoice.reason.name(), invoice.status, invoice.total.base_units())).collect()
}

/// The delegation or card that a subscription is charged by.
async fn mandate_details(app: &TestApp, subscription: &Subscription) -> MandateDetails {
    let mut unit = app.ctx.store.read().await.expect("reads");
    let id = subscription.mandate_id.as_ref().expect("a mandate");
    let mandate = unit.mandates().find(id).await.expect("reads").expect("is there");
    assert_eq!(mandate.status, MandateStatus::Active);
    mandate.details.expect("a details")
}

fn status_of(found: &Value) -> (&Value, &Value) {
    (&found["checkoutSession"]["status"], &found["checkoutSession"]["payment_status"])
}

on_one! {
    async fn a_wallet_subscribes_and_the_first_period_is_paid_by_its_delegation(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        let started = alice.retrieve(&session).await;
        assert_eq!(started["checkoutSession"]["mode"], "subscription");
        assert_eq!(started["checkoutSession"]["due"]["now"], (10 * SKT).to_string());
        alice.submit_for_wallet(&app, &session).await;
        let (done, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["signature".to_owned()]), "{done}");
        let found = alice.retrieve(&session).await;
        assert_eq!(status_of(&found), (&"complete".into(), &"paid".into()));
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!((subscription.status, subscription.index), (SubscriptionStatus::Active, Some(0)));
        assert_eq!(subscription.period.seconds(), 30 * 86_400);
        assert_eq!(invoices(&app).await, [("subscription_create", InvoiceStatus::Paid, 10 * SKT)]);
        let limits = vec![(app.shop.token.clone(), Amount::new(10 * SKT))];
        let MandateDetails::Delegation { payer, limits: given, reference } = mandate_details(&app, &subscription).await else { panic!("a delegation") };
        assert_eq!((&payer, given, reference.is_empty()), (alice.wallet.did(), limits, false));
        assert_eq!(app.networks.payments_to(app.app_key.did().as_str()).await.len(), 1);
        app.finish().await;
    }

    async fn a_wallet_subscribes_with_a_trial_and_pays_nothing_yet(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.trial(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        assert_eq!(status_of(&alice.retrieve(&session).await), (&"complete".into(), &"no_payment_required".into()));
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!((subscription.status, subscription.index), (SubscriptionStatus::Trialing, None));
        assert_eq!(subscription.trial.map(|trial| trial.seconds()), Some(7 * 86_400));
        assert_eq!(subscription.anchor, subscription.period.end);
        assert_eq!(invoices(&app).await, [("subscription_create", InvoiceStatus::Paid, 0)]);
        assert!(app.networks.payments_to(app.app_key.did().as_str()).await.is_empty());
        app.finish().await;
    }

    async fn a_wallet_signs_the_delegation_before_the_stake(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let terms = SubscriptionTerms { min_stake_amount: Some("25".to_owned()), trial: week(), ..SubscriptionTerms::default() };
        let link = plans.link(&app, &[&plans.monthly], terms).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["due"]["stake"], (25 * SKT).to_string());
        alice.submit_for_wallet(&app, &session).await;
        let (done, kinds) = alice.sign_all(&app, &session, "subscription").await;
        assert_eq!((&done["status"], kinds), (&"ok".into(), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{done}");
        let subscription = begun(&app, &alice, &session).await;
        let stake = app.stake_of(&subscription.id).await;
        assert_eq!((stake.amount, stake.status), (Amount::new(25 * SKT), StakeStatus::Held));
        let expected = [("stake", InvoiceStatus::Paid, 25 * SKT), ("subscription_create", InvoiceStatus::Paid, 0)];
        assert_eq!(invoices(&app).await, expected);
        app.finish().await;
    }

    async fn a_card_subscribes_and_is_saved(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        assert_eq!(status_of(&alice.retrieve(&session).await), (&"complete".into(), &"paid".into()));
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!(subscription.status, SubscriptionStatus::Active);
        assert!(matches!(mandate_details(&app, &subscription).await, MandateDetails::Card(card) if card.last4 == "4242"));
        assert_eq!(invoices(&app).await, [("subscription_create", InvoiceStatus::Paid, 499)]);
        app.drain().await;
        app.finish().await;
    }

    async fn a_card_subscribes_with_a_trial_and_is_saved_without_a_charge(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.trial(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        let submitted = alice.submit(&session, &crate::app::form(&app.shop, "alice", true)).await.ok();
        assert_eq!(submitted["stripeContext"]["intent_type"], "setup_intent");
        let secret = submitted["stripeContext"]["client_secret"].as_str().expect("a secret").to_owned();
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        assert_eq!(status_of(&alice.retrieve(&session).await), (&"complete".into(), &"no_payment_required".into()));
        let subscription = begun(&app, &alice, &session).await;
        assert_eq!(subscription.status, SubscriptionStatus::Trialing);
        assert!(matches!(mandate_details(&app, &subscription).await, MandateDetails::Card(card) if card.brand == "visa"));
        assert!(app.networks.charges().await.is_empty());
        app.drain().await;
        app.finish().await;
    }
}
