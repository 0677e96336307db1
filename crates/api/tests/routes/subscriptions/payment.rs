use crate::app::{ACCEPTED, Connect, Plans, Terms, TestApp, WEEK, signed_claim};
use serde_json::json;
use souk_domain::checkout::{check_due, expire_due};
use std::time::Duration;

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
    app.live_on(WEEK).await;
    let seen = alice.buyer.browser.get(&path).await.ok();
    let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
    let invoice = alice.buyer.browser.get(&invoice).await.ok();
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &json!("1000")));
    app.finish().await;
}

#[tokio::test]
async fn a_wallet_permits_anew_what_is_charged_from_now_on() {
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
    app.live_on(WEEK).await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "active");
    app.finish().await;
}

#[tokio::test]
async fn a_card_form_that_nobody_fills_in_is_given_up() {
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
    assert_eq!(app.count(OPEN).await, 1, "what was asked for in the session ends with it");
    check_due(&app.ctx, 10).await.expect("looks after it");
    assert_eq!(app.count(OPEN).await, 0);
    for secret in [asked["stripeContext"]["client_secret"].as_str().expect("a secret"), &tried] {
        assert_ne!(app.networks.confirm(secret, ACCEPTED).await.0, 200, "the provider has ended it too");
    }
    let seen = alice.buyer.browser.get(&path).await.ok();
    assert_eq!((&seen["status"], &seen["mandate"]["type"]), (&json!("active"), &json!("delegation")), "it is charged as before");
    app.finish().await;
}
