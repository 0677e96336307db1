//! `/api/audit-log`: what administrators and API keys do.

use crate::app::{TestApp, form};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;
use std::time::Duration;

on_both! {
    async fn what_an_administrator_and_a_key_do_is_recorded_with_its_objects(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let session = alice.buy(&app, &app.shop.atlas).await;
        let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
        let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "1" })).await.ok();
        // Entries of one millisecond have no order.
        app.advance(Duration::from_secs(1));
        let scopes = vec![Scope::parse("products:write").expect("a scope")];
        let key = create_key(&app.ctx, NewKey { name: "robot".to_owned(), mode: Mode::Test, scopes }).await.expect("a key");
        let product = json!({ "name": "Pen", "type": "service" });
        let by_key = |path: &'static str| {
            let call = app.browser();
            let (secret, product) = (key.secret.clone(), product.clone());
            async move { call.call(Method::POST, path).json(&product).header("authorization", format!("Bearer {secret}")).send().await }
        };
        let created = by_key("/api/products").await.ok();
        by_key("/api/payment-links").await.refused(403);
        owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "1000" })).await.refused(400);

        let log = owner.browser.get("/api/audit-log").await.ok();
        assert_eq!(log["count"], 2, "a refused call leaves no entry: {log}");
        let [of_key, of_owner] = [&log["list"][0], &log["list"][1]];
        assert_eq!((&of_key["actor"]["type"], &of_key["actor"]["name"]), (&json!("key"), &json!("robot")));
        assert_eq!((&of_key["operation"], &of_key["objects"]), (&json!("product.create"), &json!([created["id"]])));
        assert_eq!(of_owner["actor"], json!({ "type": "user", "id": owner.wallet.did().as_str(), "name": "owner Example" }));
        assert_eq!((&of_owner["operation"], &of_owner["livemode"]), (&json!("refund.create"), &json!(false)));
        let objects = of_owner["objects"].as_array().expect("objects");
        assert!(objects.contains(&invoice) && objects.contains(&refund["id"]) && objects.contains(&refund["credit_note_id"]), "{objects:?}");

        let count = async |query: &str| owner.browser.get(&format!("/api/audit-log?{query}")).await.ok()["count"].clone();
        assert_eq!(count(&format!("actor={}", owner.wallet.did())).await, 1);
        assert_eq!(count("actor_type=key").await, 1);
        assert_eq!(count("operation=refund.create").await, 1);
        assert_eq!(count(&format!("object={}", invoice.as_str().expect("an id"))).await, 1);
        assert_eq!(count("operation=store.burn").await, 0);
        let second = format!("limit=1&starting_after={}", of_key["id"].as_str().expect("an id"));
        assert_eq!(owner.browser.get(&format!("/api/audit-log?{second}")).await.ok()["list"][0]["id"], of_owner["id"]);
        app.finish().await;
    }
}

#[tokio::test]
async fn only_administrators_read_the_log_and_customers_are_not_in_it() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    alice.buy(&app, &app.shop.atlas).await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit(&session, &form(&app.shop, "alice", false)).await.ok();
    alice.browser.get("/api/audit-log").await.refused(403);
    app.browser().get("/api/audit-log").await.refused(401);
    let log = owner.browser.get("/api/audit-log").await.ok();
    assert_eq!(log, json!({ "count": 0, "list": Value::Array(Vec::new()) }));
    app.finish().await;
}

#[tokio::test]
async fn a_user_cannot_leave_the_log_by_naming_a_key_as_well() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    for path in ["/api/clock/confirm", "/api/restore/confirm"] {
        let call = owner.browser.call(Method::PUT, path).header("authorization", "Bearer souk_unknown");
        call.json(&json!({})).send().await.refused(401);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_repeated_call_with_an_idempotency_key_is_recorded_once() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    for _ in 0..2 {
        let call = owner.browser.call(Method::POST, "/api/products").header("idempotency-key", "once");
        call.json(&json!({ "name": "Pen", "type": "service" })).send().await.ok();
    }
    assert_eq!(owner.browser.get("/api/audit-log").await.ok()["count"], 1);
    app.finish().await;
}
