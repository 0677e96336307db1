use crate::app::{TOKEN, Terms, TestApp, WEEK};
use serde_json::json;
use souk_adapters::on_both;
use std::time::Duration;

on_both! {
    async fn usage_counts_once_for_each_identifier_and_is_billed_at_the_end_of_its_period(db: &TestDatabase) {
        let app = TestApp::on(db).await;
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
            let strange = json!({ "subscription_item_id": item, "quantity": 1, "timestamp": at.seconds() });
            owner.browser.post("/api/usage-records", &strange).await.refused(400);
        }
        let summary = owner.browser.get(&format!("/api/usage-records/summary?subscription_item_id={item}")).await.ok();
        assert_eq!(summary["list"][0]["total_usage"], 3);
        assert_eq!(owner.browser.get(&format!("/api/usage-records?subscription_item_id={item}")).await.ok()["count"], 2);
        let page = owner.browser.get(&format!("/api/usage-records?subscription_item_id={item}&page=2&pageSize=1")).await.ok();
        assert_eq!((&page["count"], page["list"].as_array().map(Vec::len)), (&json!(2), Some(1)));
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["next_invoice"]["amount"], (30 * TOKEN).to_string());
        app.live_on(WEEK).await;
        let seen = alice.buyer.browser.get(&path).await.ok();
        let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
        assert_eq!(alice.buyer.browser.get(&invoice).await.ok()["total"], (30 * TOKEN).to_string());
        let summary = owner.browser.get(&format!("/api/usage-records/summary?subscription_item_id={item}")).await.ok();
        assert_eq!((&summary["list"][0]["total_usage"], &summary["list"][1]["total_usage"]), (&json!(0), &json!(3)));
        app.finish().await;
    }
}

#[tokio::test]
async fn what_is_not_metered_takes_no_usage() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
    let report = json!({ "subscription_item_id": seen["items"][0]["id"], "quantity": 2 });
    let refused = owner.browser.post("/api/usage-records", &report).await.refused(400);
    assert_eq!(refused["error"], "This item is not billed by usage");
    app.finish().await;
}
