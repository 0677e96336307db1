//! Cards that are declined, require a second step, or are replaced by another method.

use crate::app::{ACCEPTED, Buyer, DECLINED, INSUFFICIENT, SECOND_STEP, TestApp, form};
use serde_json::{Value, json};
use souk_domain::payment::{self, AttemptContext, MethodSettings, Outcome, Secret, Trigger};
use souk_domain::shared::{Mode, SessionId};
use std::time::Duration;

async fn polled(app: &TestApp, buyer: &Buyer, session: &str) -> Value {
    app.advance(Duration::from_secs(2));
    buyer.retrieve(session).await
}

#[tokio::test]
async fn a_declined_card_shows_the_reason_and_another_card_pays_the_same_order() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    for (number, code) in [(DECLINED, "generic_decline"), (INSUFFICIENT, "insufficient_funds")] {
        let (status, refused) = app.networks.confirm(&secret, number).await;
        assert_eq!((status, &refused["error"]["decline_code"]), (402, &code.into()));
        let found = polled(&app, &alice, &session).await;
        assert_eq!(found["checkoutSession"]["status"], "open");
        assert_eq!(found["paymentIntent"]["status"], "requires_action", "this ends the page's polling");
        assert!(found["paymentIntent"]["last_payment_error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{found}");
    }
    let again = alice.submit_for_card(&app, &session).await;
    assert_eq!(again, secret, "the order's one attempt is still open");
    assert_eq!(app.networks.confirm(&again, ACCEPTED).await.0, 200);
    let found = polled(&app, &alice, &session).await;
    assert_eq!(found["checkoutSession"]["status"], "complete");
    assert!(found["paymentIntent"].get("last_payment_error").is_none());
    assert_eq!(app.networks.charges().await.len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn a_second_card_is_recognized_immediately_after_a_decline() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.networks.confirm(&secret, DECLINED).await;
    assert_eq!(polled(&app, &alice, &session).await["paymentIntent"]["status"], "requires_action");
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_millis(200));
    let found = alice.retrieve(&session).await;
    assert_eq!(found["checkoutSession"]["status"], "complete", "an old error here would end the polling");
    app.finish().await;
}

#[tokio::test]
async fn a_second_step_that_succeeds_pays_and_one_that_fails_does_not() {
    let app = TestApp::open().await;
    for (name, success, status) in [("alice", true, "complete"), ("bob", false, "open")] {
        let buyer = app.sign_in(name).await;
        let session = buyer.start(&app.shop.atlas).await;
        let secret = buyer.submit_for_card(&app, &session).await;
        let (code, intent) = app.networks.confirm(&secret, SECOND_STEP).await;
        assert_eq!((code, &intent["status"]), (200, &"requires_action".into()));
        let waiting = polled(&app, &buyer, &session).await;
        assert!(waiting["paymentIntent"].get("last_payment_error").is_none(), "nothing went wrong yet");
        app.networks.authenticate(&secret, success).await;
        assert_eq!(polled(&app, &buyer, &session).await["checkoutSession"]["status"], status);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_card_form_that_was_closed_leaves_the_order_to_the_wallet() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    let aborted = alice.browser.post(&format!("/api/checkout-sessions/{session}/abort-stripe"), &json!({})).await.ok();
    assert_eq!(aborted["checkoutSession"]["status"], "open");
    assert_ne!(app.networks.confirm(&secret, ACCEPTED).await.0, 200, "the abandoned intent is dead");
    alice.submit_for_wallet(&app, &session).await;
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert!(app.networks.charges().await.is_empty());
    app.finish().await;
}

#[tokio::test]
async fn changing_from_card_to_wallet_without_closing_the_form_ends_the_card_first() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    alice.submit_for_wallet(&app, &session).await;
    assert_ne!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    app.finish().await;
}

#[tokio::test]
async fn closing_the_form_after_the_card_was_charged_completes_the_order() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.networks.confirm(&secret, ACCEPTED).await;
    let aborted = alice.browser.post(&format!("/api/checkout-sessions/{session}/abort-stripe"), &json!({})).await.ok();
    assert_eq!(aborted["checkoutSession"]["status"], "complete");
    app.finish().await;
}

#[tokio::test]
async fn closing_the_browser_after_payment_does_not_lose_the_purchase() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.networks.confirm(&secret, ACCEPTED).await;
    app.advance(Duration::from_secs(60));
    assert_eq!(payment::check_due(&app.ctx, 10).await.expect("checks"), 1);
    app.drain().await;
    assert_eq!(app.mails().len(), 1);
    app.finish().await;
}

/// The price is below the provider's minimum, so no intent is opened, and the order can be paid by another method.
#[tokio::test]
async fn a_card_intent_that_the_provider_rejects_does_not_block_the_order() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.crumb).await;
    let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(400);
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("rejected the request")), "{refused}");
    alice.submit_for_wallet(&app, &session).await;
    alice.pay_by_wallet(&app, &session).await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.drain().await;
    app.finish().await;
}

/// The provider no longer accepts the store's key, which concerns the owner and not the payer.
#[tokio::test]
async fn an_invalid_key_of_the_store_is_not_shown_to_the_payer() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let methods = unit.methods().list(Mode::Test).await.expect("reads");
    let mut method = methods.into_iter().find(|method| method.kind.is_card()).expect("a card method");
    let MethodSettings::Stripe { secret_key, .. } = &mut method.settings else { panic!("a card method") };
    *secret_key = Secret::new("sk_test_of_another_store");
    unit.methods().update(&method).await.expect("writes");
    unit.commit().await.expect("commits");
    let refused = alice.submit(&session, &form(&app.shop, "alice", true)).await.refused(500);
    assert_eq!(refused["error"], "Sorry, something went wrong.");
    let error = &alice.retrieve(&session).await["paymentIntent"]["last_payment_error"];
    assert_eq!(error["message"], "Sorry, something went wrong.");
    app.finish().await;
}

/// The network's response arrives after the attempt was superseded by another one.
#[tokio::test]
async fn a_late_response_for_a_superseded_attempt_does_not_change_the_intent() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_card(&app, &session).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let found = unit.sessions().find(&SessionId::parse(&session).expect("an id")).await.expect("reads").expect("is there");
    let intent = found.intent_id.expect("an intent");
    let attempt = unit.attempts().open_of_intent(&intent).await.expect("reads").expect("is there");
    let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("is there");
    let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("is there");
    let late = AttemptContext { attempt, method, currency };
    unit.commit().await.expect("commits");
    alice.submit_for_wallet(&app, &session).await;
    let status = alice.retrieve(&session).await["paymentIntent"]["status"].clone();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    payment::record(&app.ctx, unit.as_mut(), &late, &Outcome::Unknown("late".to_owned()), Trigger::Reconciler).await.expect("is noted");
    unit.commit().await.expect("commits");
    assert_eq!(status, "requires_payment_method");
    assert_eq!(alice.retrieve(&session).await["paymentIntent"]["status"], status);
    app.finish().await;
}
