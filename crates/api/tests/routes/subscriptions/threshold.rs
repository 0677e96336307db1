//! Billing thresholds: usage that is billed before its period ends.

use crate::app::plans::SKT;
use crate::app::{ACCEPTED, Plans, Subscriber, TOKEN, Terms, TestApp, WEEK};
use futures_util::future::join_all;
use serde_json::{Value, json};
use souk_adapters::{on_both, on_one};
use souk_domain::billing::Threshold;
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::shared::Amount;
use std::time::Duration;

const fn threshold(tokens: u128, resets_anchor: bool) -> Option<Threshold> {
    Some(Threshold { amount: Amount::new(tokens * TOKEN), resets_anchor })
}

async fn seen(one: &Subscriber) -> Value {
    one.buyer.browser.get(&format!("/api/subscriptions/{}", one.id)).await.ok()
}

/// Reason, status and total of each invoice, oldest first.
async fn invoices(one: &Subscriber) -> Vec<(String, String, u128)> {
    let list = one.buyer.browser.get("/api/invoices?pageSize=50&status=open,paid,uncollectible").await.ok();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut list: Vec<_> = list["list"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["billing_reason"]), text(&one["status"]), text(&one["total"]).parse().expect("a number")))
        .collect();
    list.reverse();
    list
}

fn bill(reason: &str, tokens: u128) -> (String, String, u128) {
    (format!("subscription_{reason}"), "paid".to_owned(), tokens * TOKEN)
}

fn report(item: &Value, quantity: u64) -> Value {
    json!({ "subscription_item_id": item["id"], "quantity": quantity })
}

on_one! {
    async fn usage_at_the_threshold_is_billed_immediately_and_the_rest_at_period_end(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms { metered: true, threshold: threshold(25, false), ..Terms::default() }).await;
        let owner = app.owner().await;
        let item = seen(&alice).await["items"][0].clone();
        assert_eq!(seen(&alice).await["billing_thresholds"]["amount_gte"], (25 * TOKEN).to_string());
        let used = async |quantity| {
            owner.browser.post("/api/usage-records", &report(&item, quantity)).await.ok();
            app.drain().await;
        };
        used(2).await;
        assert_eq!(invoices(&alice).await, []);
        used(1).await;
        assert_eq!(invoices(&alice).await, [bill("threshold", 30)]);
        let now = seen(&alice).await;
        assert_eq!((&now["status"], &now["next_invoice"]["amount"]), (&json!("active"), &json!("0")));
        app.advance(WEEK / 2);
        used(2).await;
        assert_eq!(invoices(&alice).await.len(), 1, "two more are not enough");
        used(1).await;
        used(1).await;
        app.advance_and_bill(WEEK / 2).await;
        assert_eq!(invoices(&alice).await, [bill("threshold", 30), bill("threshold", 30), bill("cycle", 10)]);
        let last = seen(&alice).await["latest_invoice_id"].as_str().expect("an invoice").to_owned();
        let lines = alice.buyer.browser.get(&format!("/api/invoices/{last}")).await.ok()["lines"].clone();
        assert_eq!((&lines[0]["formula"]["kind"], &lines[0]["formula"]["billed"]), (&json!("rest"), &json!((60 * TOKEN).to_string())));
        used(1).await;
        assert_eq!(seen(&alice).await["next_invoice"]["amount"], (10 * TOKEN).to_string(), "the next period begins with nothing billed");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

on_both! {
    async fn concurrent_reports_bill_each_unit_once(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms { metered: true, threshold: threshold(30, false), ..Terms::default() }).await;
        let owner = app.owner().await;
        let item = seen(&alice).await["items"][0].clone();
        let reports = (0..8).map(|_| {
            let (owner, item) = (&owner, &item);
            async move { owner.browser.post("/api/usage-records", &report(item, 1)).await.ok() }
        });
        join_all(reports).await;
        app.drain().await;
        assert_eq!(invoices(&alice).await, [bill("threshold", 30), bill("threshold", 30)]);
        app.advance_and_bill(WEEK).await;
        assert_eq!(invoices(&alice).await.pop(), Some(bill("cycle", 20)));
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

on_one! {
    async fn billing_at_the_threshold_can_start_a_new_period_and_credits_prepaid_time(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let terms = Terms { beside: Some((10, true)), threshold: threshold(25, true), ..Terms::default() };
        let alice = app.subscribe("alice", terms).await;
        let owner = app.owner().await;
        app.advance_and_bill(WEEK).await;
        app.advance(WEEK / 2);
        let item = seen(&alice).await["items"][1].clone();
        owner.browser.post("/api/usage-records", &report(&item, 3)).await.ok();
        app.drain().await;
        assert_eq!(invoices(&alice).await, [bill("cycle", 10), bill("threshold", 30 + 10)], "and a credit note of 5");
        let (now, at) = (seen(&alice).await, json!(app.ctx.now().seconds()));
        assert_eq!((&now["current_period_start"], &now["billing_cycle_anchor"]), (&at, &at));
        app.advance_and_bill(WEEK + Duration::from_secs(1)).await;
        assert_eq!(invoices(&alice).await.pop(), Some(bill("cycle", 10)), "nothing was used since");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

#[tokio::test]
async fn the_store_can_set_and_remove_a_threshold() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, ..Terms::default() }).await;
    let owner = app.owner().await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let set = json!({ "billing_thresholds": { "amount_gte": (20 * TOKEN).to_string(), "reset_billing_cycle_anchor": true } });
    assert_eq!(alice.buyer.browser.put(&path, &set).await.status, 403);
    let changed = owner.browser.put(&path, &set).await.ok();
    assert_eq!(changed["billing_thresholds"], set["billing_thresholds"]);
    let cleared = owner.browser.put(&path, &json!({ "billing_thresholds": { "amount_gte": "0" } })).await.ok();
    assert_eq!(cleared["billing_thresholds"], Value::Null);
    owner.browser.post("/api/usage-records", &report(&cleared["items"][0], 9)).await.ok();
    assert_eq!(invoices(&alice).await, []);
    app.finish().await;
}

#[tokio::test]
async fn final_usage_that_cannot_be_charged_becomes_overdue() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, ..Terms::default() }).await;
    let owner = app.owner().await;
    let item = seen(&alice).await["items"][0].clone();
    owner.browser.post("/api/usage-records", &report(&item, 2)).await.ok();
    app.advance(Duration::from_secs(60));
    app.execute("UPDATE mandates SET status = 'ended'").await;
    owner.browser.put(&format!("/api/subscriptions/{}/cancel", alice.id), &json!({ "at": "now" })).await.ok();
    app.drain().await;
    assert_eq!(invoices(&alice).await, [("subscription_cancel".to_owned(), "uncollectible".to_owned(), 20 * TOKEN)]);
    let owes = alice.buyer.browser.get(&format!("/api/subscriptions/{}/overdue/invoices", alice.id)).await.ok();
    assert_eq!(owes["summary"][app.shop.token.as_str()]["amount"], (20 * TOKEN).to_string());
    app.advance_and_bill(Duration::from_secs(3 * 86_400)).await;
    assert_eq!(invoices(&alice).await.len(), 1, "nothing is tried automatically after the end");
    app.finish().await;
}

#[tokio::test]
async fn in_another_currency_nothing_is_billed_twice_and_a_threshold_of_the_old_one_means_nothing() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, threshold: threshold(25, false), ..Terms::default() }).await;
    let owner = app.owner().await;
    let item = seen(&alice).await["items"][0].clone();
    owner.browser.post("/api/usage-records", &report(&item, 3)).await.ok();
    app.drain().await;
    assert_eq!(invoices(&alice).await, [bill("threshold", 30)]);
    app.advance(Duration::from_secs(60));
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.buyer.browser.post(&format!("/api/subscriptions/{}/change-payment", alice.id), &body).await.ok();
    app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
    app.advance(Duration::from_secs(5));
    assert_eq!(seen(&alice).await["currency_id"], app.shop.dollar.as_str());
    assert_eq!(seen(&alice).await["billing_thresholds"], Value::Null);
    owner.browser.post("/api/usage-records", &report(&item, 4)).await.ok();
    app.drain().await;
    assert_eq!(invoices(&alice).await.len(), 1);
    app.advance_and_bill(WEEK).await;
    assert_eq!(invoices(&alice).await.pop().expect("an invoice").2, 4_000, "four at ten dollars, in cents");
    assert_eq!(app.count("SELECT count(*) AS n FROM customer_balances").await, 0);
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn a_threshold_of_the_checkouts_terms_goes_along_into_another_currency() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let terms = SubscriptionTerms { billing_threshold_amount: Some("25".to_owned()), ..SubscriptionTerms::default() };
    let link = plans.link(&app, &[&plans.monthly], terms).await;
    let alice = app.sign_in("alice").await;
    let session = alice.subscribe(&app, &link).await;
    let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
    let path = format!("/api/subscriptions/{id}");
    let kept = async || alice.browser.get(&path).await.ok()["billing_thresholds"]["amount_gte"].clone();
    assert_eq!(kept().await, (25 * SKT).to_string());
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let asked = alice.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
    app.advance(Duration::from_secs(5));
    alice.browser.get(&path).await.ok();
    app.drain().await;
    assert_eq!(kept().await, "2500");
    app.finish().await;
}
