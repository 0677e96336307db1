//! The entitlements of a subscription and their end.

use crate::app::plans::no_stake;
use crate::app::{Buyer, Plans, TestApp, WEEK};
use serde_json::json;
use souk_adapters::on_one;
use souk_domain::billing::PLAN_GROUP;
use souk_domain::pricing::{Interval, Product};
use souk_domain::shared::ProductId;

/// A buyer with a subscription to the weekly plan, which contains the app, and the path of the subscription.
async fn subscribed(app: &TestApp) -> (Buyer, String) {
    let plans = Plans::put(app).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let price = unit.prices().find(&plans.weekly).await.expect("reads").expect("a price");
    let product = unit.products().find(&price.product_id).await.expect("reads").expect("a product");
    unit.products().update(&Product { app: Some(app.shop.atlas.app.clone()), ..product }).await.expect("updates");
    unit.commit().await.expect("commits");
    let link = plans.link(app, &[&plans.weekly], no_stake()).await;
    let alice = app.sign_in("alice").await;
    let session = alice.subscribe(app, &link).await;
    let found = alice.retrieve(&session).await;
    let id = found["checkoutSession"]["subscription_id"].as_str().expect("a subscription");
    (alice, format!("/api/subscriptions/{id}"))
}

/// Returns whether the bundle can be downloaded and the app is among the customer's entitlements.
async fn opens(app: &TestApp, buyer: &Buyer) -> bool {
    let sent = buyer.browser.get(&app.shop.atlas.bundle_path()).await.status == 200;
    let mine = buyer.browser.get("/api/entitlements").await.ok();
    let shown = buyer.browser.get(&format!("/api/apps/{}", app.shop.atlas.app)).await.ok();
    assert_eq!((mine["count"] == 1, shown["entitled"] == true), (sent, sent), "each page says the same");
    sent
}

on_one! {
    async fn a_download_ends_when_the_canceled_subscription_has_run_out(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, path) = subscribed(&app).await;
        assert!(opens(&app, &alice).await);
        let mine = alice.browser.get("/api/entitlements").await.ok();
        assert!(path.ends_with(mine["list"][0]["subscription_id"].as_str().expect("what grants it")));
        let cancel = json!({ "at": "current_period_end" });
        alice.browser.put(&format!("{path}/cancel"), &cancel).await.ok();
        app.advance_and_bill(WEEK / 2).await;
        assert!(opens(&app, &alice).await, "the period is paid for");
        alice.browser.put(&format!("{path}/recover"), &json!({})).await.ok();
        app.advance_and_bill(WEEK / 2).await;
        assert!(opens(&app, &alice).await, "it goes on");
        alice.browser.put(&format!("{path}/cancel"), &cancel).await.ok();
        app.advance_and_bill(WEEK).await;
        assert!(!opens(&app, &alice).await);
        app.finish().await;
    }

    async fn a_paused_subscription_grants_the_paid_period_and_continues_after_resuming(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, path) = subscribed(&app).await;
        let owner = app.owner().await;
        owner.browser.put(&format!("{path}/pause"), &json!({})).await.ok();
        app.advance_and_bill(WEEK / 2).await;
        assert!(opens(&app, &alice).await);
        app.advance_and_bill(WEEK / 2).await;
        assert!(!opens(&app, &alice).await);
        owner.browser.put(&format!("{path}/resume"), &json!({})).await.ok();
        assert!(opens(&app, &alice).await);
        app.finish().await;
    }

    async fn a_plan_change_grants_the_new_app_and_revokes_the_old_one(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, path) = subscribed(&app).await;
        let current = alice.browser.get(&path).await.ok()["items"][0]["price"].clone();
        let product = ProductId::parse(current["product_id"].as_str().expect("an id")).expect("an id");
        let other = app.shop.seats.app.clone();
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let group = || [(PLAN_GROUP.to_owned(), "digests".to_owned())].into();
        let before = unit.products().find(&product).await.expect("reads").expect("a product");
        let id = ProductId::new(app.ctx.now(), app.ctx.random.as_ref());
        let after = Product { id: id.clone(), app: Some(other), metadata: group(), ..before.clone() };
        unit.products().update(&Product { metadata: group(), ..before }).await.expect("updates");
        unit.products().insert(&after).await.expect("inserts");
        unit.commit().await.expect("commits");
        let price = app.price(&id, 2, Interval::Week).await;
        let choice = json!({ "price_id": price.as_str() });
        let shown = alice.browser.post(&format!("{path}/change-plan/preview"), &choice).await.ok();
        let change = json!({ "price_id": price.as_str(), "proration_date": shown["proration_date"], "expected_total": shown["total"] });
        alice.browser.put(&format!("{path}/change-plan"), &change).await.ok();
        app.drain().await;
        assert_eq!(alice.browser.get(&app.shop.atlas.bundle_path()).await.status, 403);
        assert_eq!(alice.browser.get(&app.shop.seats.bundle_path()).await.status, 200);
        assert_eq!(alice.browser.get("/api/entitlements").await.ok()["count"], 1);
        app.finish().await;
    }
}
