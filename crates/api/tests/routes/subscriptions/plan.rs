use crate::app::{Subscriber, TOKEN, Terms, TestApp, WEEK, pdf_text};
use serde_json::{Value, json};
use souk_domain::pricing::Interval;
use souk_domain::shared::PriceId;
use std::time::Duration;

async fn preview(one: &Subscriber, price: &PriceId) -> Value {
    let path = format!("/api/subscriptions/{}/change-plan/preview", one.id);
    one.buyer.browser.post(&path, &json!({ "price_id": price.as_str() })).await.ok()
}

async fn change(one: &Subscriber, price: &PriceId, shown: &Value) -> (u16, Value) {
    let path = format!("/api/subscriptions/{}/change-plan", one.id);
    let body = json!({
        "price_id": price.as_str(), "proration_date": shown["proration_date"], "expected_total": shown["total"],
    });
    let answer = one.buyer.browser.put(&path, &body).await;
    (answer.status, answer.json())
}

async fn latest_invoice(one: &Subscriber) -> Value {
    let seen = one.buyer.browser.get(&format!("/api/subscriptions/{}", one.id)).await.ok();
    let id = seen["latest_invoice_id"].as_str().expect("an invoice").to_owned();
    one.buyer.browser.get(&format!("/api/invoices/{id}")).await.ok()
}

fn amount(value: &Value) -> u128 {
    value.as_str().expect("an amount").parse().expect("a number")
}

#[tokio::test]
async fn a_change_costs_what_its_preview_promised_and_what_is_left_over_pays_the_next_invoice() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    app.live_on(WEEK).await;
    app.advance(WEEK / 2);
    let plans = alice.buyer.browser.get(&format!("/api/subscriptions/{}/change-plan", alice.id)).await.ok();
    assert_eq!(plans["plans"].as_array().map(Vec::len), Some(1));
    assert_eq!(plans["plans"][0]["id"], dear.as_str());

    let up = preview(&alice, &dear).await;
    assert_eq!((amount(&up["credit"]), amount(&up["charge"]), amount(&up["total"])), (5 * TOKEN, 10 * TOKEN, 5 * TOKEN));
    assert_eq!((amount(&up["credited"]), amount(&up["next_amount"])), (0, 20 * TOKEN));
    let (status, body) = change(&alice, &dear, &up).await;
    assert_eq!((status, &body["items"][0]["price_id"]), (200, &json!(dear.as_str())), "{body}");
    app.drain().await;
    let invoice = latest_invoice(&alice).await;
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &up["total"]));
    assert_eq!(invoice["billing_reason"], "subscription_update");
    assert_eq!(invoice["lines"][0]["formula"]["kind"], "prorated");
    assert_eq!((&invoice["lines"][0]["credit"], &invoice["lines"][1]["credit"]), (&json!(true), &json!(false)));
    let paper = alice.buyer.browser.get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    assert!(pdf_text(&paper.bytes).contains("–5 SKT"), "what is given back has a minus: {}", pdf_text(&paper.bytes));
    let paper = alice.buyer.browser.in_chinese().get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    assert!(pdf_text(&paper.bytes).contains("未使用的时间"), "{}", pdf_text(&paper.bytes));

    app.advance(Duration::from_secs(1));
    let down = preview(&alice, &alice.price).await;
    assert_eq!(amount(&down["total"]), 0);
    let kept = amount(&down["credited"]);
    assert_eq!(kept, amount(&down["credit"]) - amount(&down["charge"]));
    assert_eq!(amount(&down["next_amount"]), 10 * TOKEN - kept);
    let (status, body) = change(&alice, &alice.price, &down).await;
    assert_eq!((status, &body["next_invoice"]["amount"]), (200, &down["next_amount"]), "{body}");
    app.live_on(WEEK / 2).await;
    let invoice = latest_invoice(&alice).await;
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &down["next_amount"]));
    assert_eq!(invoice["lines"][1]["formula"], json!({ "kind": "applied_credit", "amount": kept.to_string() }));
    assert_eq!((amount(&invoice["subtotal"]), amount(&invoice["applied_credit"])), (10 * TOKEN, kept));
    let paper = alice.buyer.browser.get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    let read = pdf_text(&paper.bytes);
    assert!(read.contains("Applied credit") && read.matches('–').count() == 1, "{read}");
    assert_eq!(app.count("SELECT count(*) AS n FROM credits WHERE CAST(amount AS NUMERIC) > 0").await, 0);
    app.finish().await;
}

#[tokio::test]
async fn only_what_was_shown_is_agreed_to() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    app.live_on(WEEK).await;
    app.advance(WEEK / 2);
    let shown = preview(&alice, &dear).await;
    let mut cheaper = shown.clone();
    cheaper["total"] = json!("1");
    let (status, body) = change(&alice, &dear, &cheaper).await;
    assert_eq!((status, &body["code"]), (409, &json!("PREVIEW_CHANGED")));
    let mut later = shown.clone();
    later["proration_date"] = json!(shown["proration_date"].as_i64().expect("a time") + 60);
    assert_eq!(change(&alice, &dear, &later).await.0, 409);
    app.advance(Duration::from_secs(3_601));
    assert_eq!(change(&alice, &dear, &shown).await.0, 409, "an hour later it is another price");
    app.finish().await;
}

#[tokio::test]
async fn a_subscription_without_another_plan_says_so() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}/change-plan", alice.id);
    let refused = alice.buyer.browser.get(&path).await.refused(400);
    assert_eq!(refused["error"], "Plan updates are not available");
    app.finish().await;
}

#[tokio::test]
async fn a_change_in_a_trial_costs_nothing_and_counts_from_its_end() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { trial: Some(WEEK), ..Terms::default() }).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    let shown = preview(&alice, &dear).await;
    assert_eq!((amount(&shown["total"]), amount(&shown["next_amount"])), (0, 20 * TOKEN));
    assert_eq!(change(&alice, &dear, &shown).await.0, 200);
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 0);
    app.live_on(WEEK).await;
    assert_eq!(amount(&latest_invoice(&alice).await["total"]), 20 * TOKEN);
    app.finish().await;
}
