use crate::app::plans::{SKT, no_stake};
use crate::app::{Connect, Plans, TOKEN, Terms, TestApp, WEEK, signed_claim};
use serde_json::json;
use souk_adapters::on_one;
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 86_400);

on_one! {
    async fn usage_is_charged_by_the_delegation_from_checkout(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.metered], no_stake()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start_link(&link).await;
        alice.submit_for_wallet(&app, &session).await;
        let query = format!("&checkoutSessionId={session}&sessionUserDid={}", alice.wallet.did());
        let connect = Connect::begin(&app, &alice.browser, "subscription", &query).await;
        let asked = connect.scan().await;
        let description = asked["requestedClaims"][0]["description"].as_str().expect("a text").to_owned();
        assert!(description.contains("at most 1000 SKT per payment") && description.contains("Usage is charged afterwards"), "{description}");
        assert_eq!(connect.answer(&alice.wallet, &asked, signed_claim(&alice.wallet, &asked)).await["status"], "ok");
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        let item = alice.browser.get(&path).await.ok()["items"][0]["id"].as_str().expect("an id").to_owned();
        let owner = app.owner().await;
        let used = json!({ "subscription_item_id": item, "quantity": 50 });
        owner.browser.post("/api/usage-records", &used).await.ok();
        app.advance_and_bill(MONTH).await;
        // The login would have expired by then.
        let alice = app.sign_in("alice").await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!(seen["status"], "active", "{seen}");
        let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
        let invoice = alice.browser.get(&invoice).await.ok();
        assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &json!((50 * SKT).to_string())));
        app.finish().await;
    }
}

#[tokio::test]
async fn a_new_delegation_covers_usage_as_well() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, limit: 1, ..Terms::default() }).await;
    let owner = app.owner().await;
    app.advance(Duration::from_secs(1));
    let query = format!("&subscriptionId={}&currencyId={}", alice.id, app.shop.token);
    let connect = Connect::begin(&app, &alice.buyer.browser, "change-payment", &query).await;
    let asked = connect.scan().await;
    assert_eq!(connect.answer(&alice.buyer.wallet, &asked, signed_claim(&alice.buyer.wallet, &asked)).await["status"], "ok");
    let path = format!("/api/subscriptions/{}", alice.id);
    let item = alice.buyer.browser.get(&path).await.ok()["items"][0]["id"].as_str().expect("an id").to_owned();
    owner.browser.post("/api/usage-records", &json!({ "subscription_item_id": item, "quantity": 5 })).await.ok();
    app.advance_and_bill(WEEK).await;
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["status"], "active");
    app.finish().await;
}

#[tokio::test]
async fn usage_counts_once_per_identifier_and_is_billed_at_period_end() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, ..Terms::default() }).await;
    let owner = app.owner().await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let item = alice.buyer.browser.get(&path).await.ok()["items"][0]["id"].as_str().expect("an id").to_owned();
    let report = json!({ "subscription_item_id": item, "quantity": 2, "action": "increment", "identifier": "job 1" });
    assert_eq!(alice.buyer.browser.post("/api/usage-records", &report).await.status, 403);
    let first = owner.browser.post("/api/usage-records", &report).await.ok();
    assert_eq!(owner.browser.post("/api/usage-records", &report).await.ok()["id"], first["id"]);
    let more = json!({ "subscription_item_id": item, "quantity": 1 });
    owner.browser.post("/api/usage-records", &more).await.ok();
    let now = app.ctx.now();
    for at in [now.plus(Duration::from_secs(60)), now.minus(Duration::from_secs(60))] {
        let malformed = json!({ "subscription_item_id": item, "quantity": 1, "timestamp": at.seconds() });
        owner.browser.post("/api/usage-records", &malformed).await.refused(400);
    }
    let summary = owner.browser.get(&format!("/api/usage-records/summary?subscription_item_id={item}")).await.ok();
    assert_eq!((&summary["count"], &summary["list"][0]["total_usage"]), (&json!(1), &json!(3)));
    assert_eq!(owner.browser.get(&format!("/api/usage-records?subscription_item_id={item}")).await.ok()["count"], 2);
    let page = owner.browser.get(&format!("/api/usage-records?subscription_item_id={item}&page=2&pageSize=1")).await.ok();
    assert_eq!((&page["count"], page["list"].as_array().map(Vec::len)), (&json!(2), Some(1)));
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["next_invoice"]["amount"], (30 * TOKEN).to_string());
    app.advance_and_bill(WEEK).await;
    let seen = alice.buyer.browser.get(&path).await.ok();
    let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
    assert_eq!(alice.buyer.browser.get(&invoice).await.ok()["total"], (30 * TOKEN).to_string());
    let summary = owner.browser.get(&format!("/api/usage-records/summary?subscription_item_id={item}")).await.ok();
    assert_eq!((&summary["list"][0]["total_usage"], &summary["list"][1]["total_usage"]), (&json!(0), &json!(3)));
    assert_eq!(summary["count"], 2);
    app.finish().await;
}

#[tokio::test]
async fn items_that_are_not_metered_accept_no_usage() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
    let report = json!({ "subscription_item_id": seen["items"][0]["id"], "quantity": 2 });
    let refused = owner.browser.post("/api/usage-records", &report).await.refused(400);
    assert_eq!(refused["error"], "This item is not billed by usage");
    app.finish().await;
}
