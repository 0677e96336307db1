//! `Idempotency-Key`

use crate::app::{Answer, Browser, Buyer, TestApp, form};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_one;
use std::time::Duration;

async fn put(buyer: &Buyer, session: &str, key: &str, body: &Value) -> Answer {
    let call = buyer.browser.call(Method::PUT, &format!("/api/checkout-sessions/{session}/submit"));
    call.header("idempotency-key", key).json(body).send().await
}

#[tokio::test]
async fn a_repeated_key_and_body_return_the_first_response() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let filled = form(&app.shop, "alice", true);
    let first = put(&alice, &session, "k", &filled).await;
    first.ok();
    assert_eq!(first.header("idempotent-replayed"), None);
    app.advance(Duration::from_secs(3_600));
    let again = put(&alice, &session, "k", &filled).await;
    assert_eq!((again.status, &again.bytes), (200, &first.bytes), "to the byte");
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("content-type"), first.header("content-type"));
    app.finish().await;
}

#[tokio::test]
async fn errors_are_replayed_as_well() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let mut filled = form(&app.shop, "alice", true);
    filled["customer_name"] = "".into();
    let first = put(&alice, &session, "k", &filled).await;
    first.refused(400);
    let again = put(&alice, &session, "k", &filled).await;
    assert_eq!((again.refused(400), again.header("idempotent-replayed")), (first.json(), Some("true")));
    app.finish().await;
}

#[tokio::test]
async fn a_repeated_key_with_another_body_or_path_is_rejected() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let (session, other) = (alice.start(&app.shop.atlas).await, alice.start(&app.shop.seats).await);
    put(&alice, &session, "k", &form(&app.shop, "alice", false)).await.ok();
    let refused = put(&alice, &session, "k", &form(&app.shop, "alice", true)).await.refused(409);
    assert_eq!(refused["code"], "IDEMPOTENCY_MISMATCH");
    assert_eq!(put(&alice, &other, "k", &form(&app.shop, "alice", false)).await.refused(409)["code"], "IDEMPOTENCY_MISMATCH");
    app.finish().await;
}

#[tokio::test]
async fn mode_and_query_count_for_idempotency_but_language_does_not() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let filled = form(&app.shop, "alice", false);
    let answer = async |query: &str| {
        let call = alice.browser.call(Method::PUT, &format!("/api/checkout-sessions/{session}/submit?{query}"));
        call.header("idempotency-key", "k").json(&filled).send().await
    };
    answer("livemode=false&locale=en&a=1&b=2").await.ok();
    assert_eq!(answer("b=2&locale=zh&livemode=false&a=1").await.header("idempotent-replayed"), Some("true"));
    assert_eq!(answer("livemode=true&a=1&b=2").await.refused(409)["code"], "IDEMPOTENCY_MISMATCH");
    assert_eq!(answer("livemode=false&a=1").await.refused(409)["code"], "IDEMPOTENCY_MISMATCH");
    app.finish().await;
}

#[tokio::test]
async fn keys_of_different_callers_are_independent() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let (one, other) = (alice.start(&app.shop.atlas).await, bob.start(&app.shop.atlas).await);
    put(&alice, &one, "k", &form(&app.shop, "alice", false)).await.ok();
    let second = put(&bob, &other, "k", &form(&app.shop, "bob", false)).await;
    assert_eq!(second.ok()["checkoutSession"]["id"], other.as_str());
    assert_eq!(second.header("idempotent-replayed"), None);
    app.finish().await;
}

#[tokio::test]
async fn malformed_keys_are_rejected() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    for key in ["", &"k".repeat(256)] {
        put(&alice, &session, key, &form(&app.shop, "alice", false)).await.refused(400);
    }
    app.finish().await;
}

#[tokio::test]
async fn keys_of_anonymous_callers_are_not_stored() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let stranger = app.browser();
    stranger.set_cookie("login_token", "guessed");
    for header in [("x-nothing", ""), ("authorization", "Bearer souk_test_guessed"), ("authorization", "Bearer guessed")] {
        let call = stranger.call(Method::PUT, &format!("/api/checkout-sessions/{session}/submit")).header(header.0, header.1);
        let answer = call.header("idempotency-key", "k").json(&form(&app.shop, "x", false)).send().await;
        assert_eq!((answer.refused(401)["code"].as_str(), answer.header("idempotent-replayed")), (Some("forbidden"), None));
    }
    assert_eq!(app.count("SELECT count(*) AS n FROM idempotency_keys").await, 0);
    app.finish().await;
}

/// Loses the stored answers, as if each process had died between its commit and the answer, and the leases had ended.
async fn lose_answers(app: &TestApp) {
    app.execute("UPDATE idempotency_keys SET status = NULL, body = NULL, lease_until = claimed_at").await;
}

/// Sends a write with a key, loses its answer and sends it again. Returns the first answer, which the second one repeats.
async fn sent_twice(app: &TestApp, who: &Browser, method: Method, path: &str, body: &Value) -> Value {
    let key = format!("{method} {path} {}", body["amount"]);
    let send = async || who.call(method.clone(), path).header("idempotency-key", &key).json(body).send().await;
    let first = send().await;
    first.ok();
    lose_answers(app).await;
    let again = send().await;
    assert_eq!((again.ok(), again.header("idempotent-replayed")), (first.json(), Some("true")), "{path}");
    let third = send().await;
    assert_eq!((third.bytes, third.status), (again.bytes, 200), "the rebuilt answer is stored");
    first.json()
}

#[tokio::test]
async fn a_call_without_effect_releases_its_key_when_its_process_dies() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let filled = form(&app.shop, "alice", false);
    put(&alice, &session, "k", &filled).await.ok();
    // As if the process had died before the first commit.
    app.execute("UPDATE idempotency_keys SET status = NULL, body = NULL, fenced = FALSE, objects = ''").await;
    assert_eq!(put(&alice, &session, "k", &filled).await.refused(409)["code"], "IDEMPOTENCY_IN_FLIGHT");
    app.advance(Duration::from_secs(61));
    let again = put(&alice, &session, "k", &filled).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, None));
    app.finish().await;
}

#[tokio::test]
async fn a_call_that_died_before_it_had_created_its_object_is_reported_and_not_repeated() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let filled = form(&app.shop, "alice", false);
    put(&alice, &session, "k", &filled).await.ok();
    app.execute("UPDATE idempotency_keys SET status = NULL, body = NULL, objects = '', lease_until = claimed_at").await;
    for _ in 0..2 {
        assert_eq!(put(&alice, &session, "k", &filled).await.refused(409)["code"], "IDEMPOTENCY_INTERRUPTED");
    }
    app.finish().await;
}

on_one! {
    async fn after_a_network_failure_the_answer_is_rebuilt_from_the_order(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let filled = form(&app.shop, "alice", true);
        app.networks.card_fault(json!({ "mode": "error_500", "count": 20 })).await;
        put(&alice, &session, "k", &filled).await.refused(502);
        app.networks.clear_card_faults().await;
        let again = put(&alice, &session, "k", &filled).await;
        assert_eq!((again.ok()["checkoutSession"]["id"].as_str(), again.header("idempotent-replayed")), (Some(&*session), Some("true")));
        let secret = again.json()["stripeContext"]["client_secret"].clone();
        assert!(secret.as_str().is_some_and(|secret| !secret.is_empty()), "the card form was opened under the same attempt");
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 1);
        app.finish().await;
    }

    async fn a_submit_killed_after_its_commit_is_answered_from_its_session(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let filled = form(&app.shop, "alice", true);
        app.networks.card_fault(json!({ "mode": "delay_ms", "value": 100_000 })).await;
        let fenced = async {
            while app.count("SELECT count(*) AS n FROM idempotency_keys WHERE fenced").await == 0 {
                tokio::task::yield_now().await;
            }
        };
        // The call waits for the card processor, after its commit.
        tokio::select! {
            answer = put(&alice, &session, "k", &filled) => panic!("it was answered: {}", answer.text()),
            () = fenced => {}
        }
        app.networks.clear_card_faults().await;
        assert_eq!(put(&alice, &session, "k", &filled).await.refused(409)["code"], "IDEMPOTENCY_IN_FLIGHT");
        app.advance(Duration::from_secs(61));
        let again = put(&alice, &session, "k", &filled).await;
        assert_eq!((again.ok()["checkoutSession"]["id"].as_str(), again.header("idempotent-replayed")), (Some(&*session), Some("true")));
        assert_eq!(again.json()["paymentIntent"]["status"], "requires_payment_method");
        assert!(again.json()["stripeContext"]["client_secret"].as_str().is_some_and(|secret| !secret.is_empty()));
        assert_eq!(put(&alice, &session, "k", &filled).await.bytes, again.bytes, "the rebuilt answer is stored");
        assert_eq!(app.count("SELECT count(*) AS n FROM payment_intents").await, 1);
        assert_eq!(app.count("SELECT count(*) AS n FROM attempts").await, 1);
        app.finish().await;
    }

    async fn the_lost_answer_of_a_write_is_rebuilt_and_nothing_is_created_twice(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let store = &owner.browser;
        let products = app.count("SELECT count(*) AS n FROM products").await;
        let price = json!({ "unit_amount": "2", "currency_id": app.shop.token.as_str() });
        let product = sent_twice(&app, store, Method::POST, "/api/products", &json!({ "name": "Lamp", "prices": [price] })).await;
        assert_eq!(app.count("SELECT count(*) AS n FROM products").await, products + 1);
        let path = format!("/api/products/{}", product["id"].as_str().expect("an id"));
        sent_twice(&app, store, Method::PUT, &path, &json!({ "name": "Lamps" })).await;
        let items = json!([{ "price_id": product["prices"][0]["id"], "quantity": 1 }]);
        sent_twice(&app, store, Method::POST, "/api/payment-links", &json!({ "line_items": items })).await;
        sent_twice(&app, store, Method::POST, "/api/checkout-sessions", &json!({ "line_items": items })).await;

        let start = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
        let started = sent_twice(&app, &alice.browser, Method::POST, &start, &json!({})).await;
        let session = started["checkoutSession"]["id"].as_str().expect("an id").to_owned();
        let submit = format!("/api/checkout-sessions/{session}/submit");
        sent_twice(&app, &alice.browser, Method::PUT, &submit, &form(&app.shop, "alice", false)).await;
        alice.pay_by_wallet(&app, &session).await;
        app.drain().await;
        let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
        let refund = sent_twice(&app, store, Method::POST, "/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await;
        assert_eq!(refund["object"], "refund");
        assert_eq!(app.count("SELECT count(*) AS n FROM refunds").await, 1);
        app.finish().await;
    }

    async fn of_two_concurrent_requests_one_runs_and_the_other_waits_or_replays(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let filled = form(&app.shop, "alice", true);
        app.networks.card_fault(json!({ "mode": "delay_ms", "value": 300 })).await;
        let both = futures_util::future::join_all([put(&alice, &session, "k", &filled), put(&alice, &session, "k", &filled)]).await;
        let worked = both.iter().filter(|answer| answer.status == 200 && answer.header("idempotent-replayed").is_none());
        assert_eq!(worked.count(), 1);
        for rejected in both.iter().filter(|answer| answer.status != 200) {
            assert_eq!(rejected.refused(409)["code"], "IDEMPOTENCY_IN_FLIGHT");
        }
        assert_eq!(put(&alice, &session, "k", &filled).await.header("idempotent-replayed"), Some("true"));
        app.finish().await;
    }
}
