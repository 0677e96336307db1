use crate::app::{Terms, TestApp, WEEK};
use serde_json::json;
use souk_adapters::on_one;

#[tokio::test]
async fn advancing_a_clock_processes_all_events_in_between() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let order = json!({ "customer_id": alice.customer.as_str(), "name": "Next year" });
    assert_eq!(alice.buyer.browser.post("/api/test-clocks", &order).await.status, 403);
    assert_eq!(owner.browser.live().post("/api/test-clocks", &order).await.status, 400);
    let by_did = json!({ "customer_id": alice.buyer.wallet.did().as_str(), "name": "Next year" });
    let clock = owner.browser.post("/api/test-clocks", &by_did).await.ok();
    assert_eq!(clock["customer_id"], alice.customer.as_str());
    owner.browser.post("/api/test-clocks", &json!({ "customer_id": "nobody", "name": "None" })).await.refused(404);
    assert_eq!(owner.browser.post("/api/test-clocks", &order).await.status, 409);
    let path = format!("/api/test-clocks/{}", clock["id"].as_str().expect("an id"));
    let now = app.ctx.now().seconds();
    let advancing = owner.browser.post(&format!("{path}/advance"), &json!({ "by": "next_invoice" })).await.ok();
    assert_eq!((&advancing["status"], &advancing["target"]), (&json!("advancing"), &json!(now + WEEK.as_secs() as i64)));
    assert_eq!(owner.browser.post(&format!("{path}/advance"), &json!({ "by": "day" })).await.status, 409);
    app.drain().await;
    let there = owner.browser.get(&path).await.ok();
    assert_eq!((&there["status"], &there["now"]), (&json!("ready"), &advancing["target"]));
    assert_eq!(there["timeline"][1]["what"], "paid");
    assert!(there["timeline"][1]["subject"].as_str().is_some_and(|subject| subject.starts_with("in_")), "{there}");
    assert_eq!((&there["timeline"][0]["what"], &there["timeline"][0]["subject"]), (&json!("renewed"), &json!(alice.id.as_str())));
    assert_eq!(there["customer"]["did"], alice.buyer.wallet.did().as_str());
    let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
    assert_eq!((&seen["test_clock"]["id"], &seen["current_period_start"]), (&clock["id"], &there["now"]));
    owner.browser.post(&format!("{path}/advance"), &json!({ "to": now })).await.refused(400);
    owner.browser.post(&format!("{path}/advance"), &json!({})).await.refused(400);
    assert_eq!(owner.browser.get("/api/test-clocks").await.ok()["count"], 1);
    app.finish().await;
}

on_one! {
    async fn clocks_are_created_by_customer_did_and_listed_in_pages(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let owner = app.owner().await;
        for name in ["alice", "bob", "carol"] {
            let one = app.subscribe(name, Terms::default()).await;
            let order = json!({ "customer_id": one.buyer.wallet.did().as_str(), "name": name });
            assert_eq!(owner.browser.post("/api/test-clocks", &order).await.ok()["customer_id"], one.customer.as_str());
            app.advance(std::time::Duration::from_secs(1));
        }
        let nobody = json!({ "customer_id": owner.wallet.did().as_str(), "name": "Nobody" });
        let refused = owner.browser.post("/api/test-clocks", &nobody).await.refused(404);
        assert_eq!(refused["error"], "There is no such customer in test mode");
        let page = owner.browser.get("/api/test-clocks?page=2&pageSize=2").await.ok();
        assert_eq!((&page["count"], page["list"].as_array().map(Vec::len), &page["list"][0]["name"]), (&json!(3), Some(1), &json!("alice")));
        assert_eq!(owner.browser.live().get("/api/test-clocks").await.ok()["count"], 0);
        app.finish().await;
    }
}

#[tokio::test]
async fn the_timeline_contains_a_declined_charge() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { limit: 5, ..Terms::default() }).await;
    let owner = app.owner().await;
    let order = json!({ "customer_id": alice.customer.as_str(), "name": "Too little" });
    let clock = owner.browser.post("/api/test-clocks", &order).await.ok();
    let path = format!("/api/test-clocks/{}", clock["id"].as_str().expect("an id"));
    owner.browser.post(&format!("{path}/advance"), &json!({ "by": "next_invoice" })).await.ok();
    app.drain().await;
    let there = owner.browser.get(&path).await.ok();
    let events: Vec<_> = there["timeline"].as_array().expect("a timeline").iter().map(|event| &event["what"]).collect();
    assert_eq!(events, ["renewed", "payment_declined", "past_due"]);
    app.finish().await;
}

#[tokio::test]
async fn a_clock_without_a_subscription_has_no_next_invoice() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let order = json!({ "customer_id": alice.customer.as_str(), "name": "Afterwards" });
    let clock = owner.browser.post("/api/test-clocks", &order).await.ok();
    owner.browser.put(&format!("/api/subscriptions/{}/cancel", alice.id), &json!({ "at": "now" })).await.ok();
    let path = format!("/api/test-clocks/{}/advance", clock["id"].as_str().expect("an id"));
    let refused = owner.browser.post(&path, &json!({ "by": "next_invoice" })).await.refused(400);
    assert_eq!(refused["error"], "There is no next invoice: this customer has no active subscription");
    app.finish().await;
}
