//! What a customer already has: a used trial, a subscription, an app.

use super::subscription::{begun, invoices};
use crate::app::plans::SKT;
use crate::app::{Plans, TestApp};
use souk_adapters::on_both;
use souk_domain::billing::{InvoiceStatus, SubscriptionStatus};
use std::time::Duration;

on_both! {
    async fn a_used_trial_is_shown_before_the_submit_and_the_session_is_charged(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.trial(&app).await;
        let alice = app.sign_in("alice").await;
        let first = alice.start_link(&link).await;
        let seen = alice.retrieve(&first).await;
        assert_eq!((&seen["buyer"]["trial_used"], &seen["checkoutSession"]["due"]["now"]), (&false.into(), &"0".into()));
        alice.subscribe(&app, &link).await;

        app.advance(Duration::from_secs(4));
        let second = alice.start_link(&link).await;
        let seen = alice.retrieve(&second).await;
        assert_eq!(seen["buyer"]["trial_used"], true);
        assert_eq!(seen["checkoutSession"]["due"]["now"], (10 * SKT).to_string());
        assert!(seen["checkoutSession"]["due"]["trial_end"].is_null());
        let stranger = app.browser().get(&format!("/api/checkout-sessions/retrieve/{second}")).await;
        assert!(stranger.json()["buyer"].is_null(), "{}", stranger.json());
        alice.submit_for_wallet(&app, &second).await;
        let (done, _) = alice.sign_all(&app, &second, "subscription").await;
        assert_eq!(done["status"], "ok", "{done}");
        assert_eq!(begun(&app, &alice, &second).await.status, SubscriptionStatus::Active);
        let expected = [("subscription_create", InvoiceStatus::Paid, 0), ("subscription_create", InvoiceStatus::Paid, 10 * SKT)];
        assert_eq!(invoices(&app).await, expected);

        let ben = app.sign_in("ben").await;
        assert_eq!(ben.retrieve(&ben.start_link(&link).await).await["buyer"]["trial_used"], false);
        app.finish().await;
    }

    async fn of_two_trials_submitted_together_the_second_ends_immediately(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.trial(&app).await;
        let alice = app.sign_in("alice").await;
        let first = alice.start_link(&link).await;
        app.advance(Duration::from_secs(4));
        let second = alice.start_link(&link).await;
        for session in [&first, &second] {
            alice.submit_for_wallet(&app, session).await;
        }
        for session in [&first, &second] {
            // Each transaction of an account needs a new nonce.
            app.advance(Duration::from_secs(4));
            let (done, _) = alice.sign_all(&app, session, "subscription").await;
            assert_eq!(done["status"], "ok", "{done}");
        }
        let trials = [begun(&app, &alice, &first).await, begun(&app, &alice, &second).await].map(|one| one.trial.map(|trial| trial.seconds()));
        assert_eq!(trials, [Some(7 * 86_400), Some(1)]);
        app.drain().await;
        app.finish().await;
    }

    async fn a_subscriber_sees_their_existing_subscription_to_a_plan(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let subscription = begun(&app, &alice, &session).await;
        assert!(alice.retrieve(&session).await["buyer"].is_null(), "a complete session sells nothing more");
        app.advance(Duration::from_secs(4));
        let again = alice.retrieve(&alice.start_link(&link).await).await;
        assert_eq!(again["buyer"]["subscriptions"][0]["id"], subscription.id.to_string());
        assert_eq!(again["buyer"]["subscriptions"][0]["product_id"], plans.product.to_string());
        app.finish().await;
    }

    async fn a_buyer_sees_that_they_already_own_the_app(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        alice.buy(&app, &app.shop.atlas).await;
        app.advance(Duration::from_secs(4));
        let again = alice.retrieve(&alice.start(&app.shop.atlas).await).await;
        assert_eq!(again["buyer"]["owned_apps"][0], app.shop.atlas.app.to_string());
        let ben = app.sign_in("ben").await;
        assert_eq!(ben.retrieve(&ben.start(&app.shop.atlas).await).await["buyer"]["owned_apps"], serde_json::json!([]));
        app.finish().await;
    }
}
