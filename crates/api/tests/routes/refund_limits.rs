//! Daily caps on refunds and payouts, and the recent sign-in that they require of administrators.

use crate::app::{Buyer, Connect, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

/// Buys an app for 10 tokens. Returns the invoice.
async fn invoice_of(app: &TestApp, buyer: &Buyer) -> Value {
    let session = buyer.buy(app, &app.shop.atlas).await;
    buyer.retrieve(&session).await["checkoutSession"]["invoice_id"].clone()
}

on_both! {
    async fn refunds_and_payouts_of_a_day_stay_below_the_cap(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let symbol = app.shop.token_symbol(&app).await;
        app.cap_refunds(&symbol, 5).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let invoice = invoice_of(&app, &alice).await;
        let refund = async |amount: &str| owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": amount })).await;
        refund("3").await.ok();
        let refused = refund("3").await.refused(409);
        let expected = json!({ "cap": format!("5 {symbol}"), "left": format!("2 {symbol}") });
        assert_eq!((&refused["code"], &refused["params"]), (&json!("DAILY_CAP"), &expected));
        let note = json!({ "invoice_id": invoice, "amount": "3", "to": "refund" });
        assert_eq!(owner.browser.post("/api/credit-notes", &note).await.refused(409)["code"], "DAILY_CAP");
        let to_balance = json!({ "invoice_id": invoice, "amount": "3", "to": "balance" });
        owner.browser.post("/api/credit-notes", &to_balance).await.ok();
        let payout = format!("/api/customers/{}/balance/payout", alice.wallet.did());
        let all = json!({ "currency_id": app.shop.token.as_str() });
        assert_eq!(owner.browser.post(&payout, &all).await.refused(409)["code"], "DAILY_CAP");
        assert_eq!(app.count("SELECT count(*) AS n FROM refunds").await, 1, "a refused order leaves nothing");
        let key = create_key(&app.ctx, NewKey { name: "robot".to_owned(), mode: Mode::Test, scopes: vec![Scope::parse("*").expect("a scope")] });
        let secret = key.await.expect("a key").secret;
        let script = app.browser();
        let by_key = script.call(Method::POST, "/api/refunds").header("authorization", format!("Bearer {secret}"));
        let by_key = by_key.json(&json!({ "invoice_id": invoice, "amount": "3" })).send().await;
        assert_eq!(by_key.refused(409)["code"], "DAILY_CAP", "the cap is the same for keys");
        app.advance(HOUR * 24 + Duration::from_secs(1));
        owner.browser.post(&payout, &all).await.ok();
        app.drain().await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn of_two_refunds_at_once_that_exceed_the_cap_together_one_is_refused(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        let symbol = app.shop.token_symbol(&app).await;
        app.cap_refunds(&symbol, 5).await;
        let (alice, bob, owner) = (app.sign_in("alice").await, app.sign_in("bob").await, app.owner().await);
        let invoices = [invoice_of(&app, &alice).await, invoice_of(&app, &bob).await];
        let bodies = invoices.map(|invoice| json!({ "invoice_id": invoice, "amount": "4" }));
        let orders = bodies.iter().map(|body| owner.browser.post("/api/refunds", body));
        let mut statuses: Vec<_> = futures_util::future::join_all(orders).await.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        app.finish().await;
    }
}

#[tokio::test]
async fn an_administrator_signs_in_again_before_a_refund_and_the_same_call_then_succeeds() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(HOUR / 4).await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let invoice = invoice_of(&app, &alice).await;
    let refund = async || {
        let call = owner.browser.call(Method::POST, "/api/refunds").header("idempotency-key", "one-refund");
        call.json(&json!({ "invoice_id": invoice, "amount": "1" })).send().await
    };
    app.advance(HOUR);
    assert_eq!(refund().await.refused(403)["code"], "SIGN_IN_AGAIN");
    let to_refund = json!({ "invoice_id": invoice, "amount": "1", "to": "refund" });
    assert_eq!(owner.browser.post("/api/credit-notes", &to_refund).await.refused(403)["code"], "SIGN_IN_AGAIN");
    let to_balance = json!({ "invoice_id": invoice, "amount": "1", "to": "balance" });
    owner.browser.post("/api/credit-notes", &to_balance).await.ok();
    let payout = format!("/api/customers/{}/balance/payout", alice.wallet.did());
    let all = json!({ "currency_id": app.shop.token.as_str() });
    assert_eq!(owner.browser.post(&payout, &all).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&app, &owner.browser, "login", "").await.sign_in(&owner.wallet, "owner").await;
    assert_eq!(refund().await.ok()["status"], "pending", "the refusal is not kept for the key of the call");
    owner.browser.post(&payout, &all).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn the_symbol_of_a_currency_in_which_something_was_ordered_is_fixed_because_caps_name_it() {
    let mut app = TestApp::open().await;
    let symbol = app.shop.token_symbol(&app).await;
    app.cap_refunds(&symbol, 5).await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let invoice = invoice_of(&app, &alice).await;
    let path = format!("/api/payment-currencies/{}", app.shop.token);
    let renamed = owner.browser.put(&path, &json!({ "symbol": "FREE" })).await.refused(409);
    assert_eq!(renamed["code"], "CURRENCY_SYMBOL_FIXED");
    owner.browser.put(&path, &json!({ "symbol": symbol, "name": "Our token" })).await.ok();
    let refused = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "6" })).await.refused(409);
    assert_eq!(refused["code"], "DAILY_CAP");
    app.finish().await;
}

#[tokio::test]
async fn an_api_key_refunds_without_a_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(HOUR / 4).await;
    let alice = app.sign_in("alice").await;
    let invoice = invoice_of(&app, &alice).await;
    let scopes = vec![Scope::parse("refunds:write").expect("a scope")];
    let secret = create_key(&app.ctx, NewKey { name: "robot".to_owned(), mode: Mode::Test, scopes }).await.expect("a key").secret;
    app.advance(HOUR);
    let script = app.browser();
    let call = script.call(Method::POST, "/api/refunds").header("authorization", format!("Bearer {secret}"));
    call.json(&json!({ "invoice_id": invoice, "amount": "1" })).send().await.ok();
    app.finish().await;
}
