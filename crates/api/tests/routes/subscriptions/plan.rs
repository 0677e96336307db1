use crate::app::plans::SKT;
use crate::app::{Connect, Plans, Subscriber, TOKEN, Terms, TestApp, WEEK, pdf_text, signed_claim};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::billing::{Stake, StakeReservation, StakeTransferKind};
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::pricing::Interval;
use souk_domain::shared::{AttemptId, PriceId, SubscriptionId};
use std::time::Duration;

async fn preview(one: &Subscriber, price: &PriceId) -> Value {
    let path = format!("/api/subscriptions/{}/change-plan/preview", one.id);
    one.buyer.browser.post(&path, &json!({ "price_id": price.as_str() })).await.ok()
}

async fn change(one: &Subscriber, price: &PriceId, shown: &Value) -> (u16, Value) {
    let path = format!("/api/subscriptions/{}/change-plan", one.id);
    let body = json!({
        "price_id": price.as_str(), "proration_date": shown["proration_date"],
        "expected_total": shown["total"], "expected_credited": shown["credited"],
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
async fn a_change_costs_its_preview_and_remaining_credit_pays_the_next_invoice() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    app.advance_and_bill(WEEK).await;
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
    assert_eq!((&invoice["status"], &invoice["total"], &invoice["applied_credit"]), (&json!("paid"), &up["charge"], &up["credit"]));
    assert_eq!(invoice["billing_reason"], "subscription_update");
    assert_eq!((&invoice["lines"][0]["formula"]["kind"], &invoice["lines"][1]), (&json!("prorated"), &json!(null)));
    let notes = alice.buyer.browser.get("/api/credit-notes").await.ok();
    assert_eq!((&notes["list"][0]["total"], &notes["list"][0]["to_balance"]), (&up["credit"], &up["credit"]));
    let pdf = alice.buyer.browser.get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    assert!(pdf_text(&pdf.bytes).contains("–5 SKT"), "a credit has a minus sign: {}", pdf_text(&pdf.bytes));
    let pdf = alice.buyer.browser.in_chinese().get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    assert!(pdf_text(&pdf.bytes).contains("（剩余周期）"), "{}", pdf_text(&pdf.bytes));

    app.advance(Duration::from_secs(1));
    let down = preview(&alice, &alice.price).await;
    assert_eq!(amount(&down["total"]), 0);
    let kept = amount(&down["credited"]);
    assert_eq!(kept, amount(&down["credit"]) - amount(&down["charge"]));
    assert_eq!(amount(&down["next_amount"]), 10 * TOKEN - kept);
    let (status, body) = change(&alice, &alice.price, &down).await;
    assert_eq!((status, &body["next_invoice"]["amount"]), (200, &down["next_amount"]), "{body}");
    assert_eq!(amount(&body["next_invoice"]["total"]), 10 * TOKEN, "before the balance is applied");
    app.advance_and_bill(WEEK / 2).await;
    let invoice = latest_invoice(&alice).await;
    assert_eq!((&invoice["status"], amount(&invoice["total"])), (&json!("paid"), 10 * TOKEN));
    assert_eq!((amount(&invoice["total"]) - kept, amount(&invoice["applied_credit"])), (amount(&down["next_amount"]), kept));
    let pdf = alice.buyer.browser.get(invoice["invoice_pdf"].as_str().expect("a path")).await;
    let read = pdf_text(&pdf.bytes);
    assert!(read.contains("Account balance") && read.matches('–').count() == 1, "{read}");
    assert_eq!(app.count("SELECT count(*) AS n FROM customer_balances WHERE CAST(amount AS NUMERIC) > 0").await, 0);
    app.finish().await;
}

#[tokio::test]
async fn a_change_that_differs_from_its_preview_is_rejected() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    app.advance_and_bill(WEEK).await;
    app.advance(WEEK / 2);
    let shown = preview(&alice, &dear).await;
    let mut cheaper = shown.clone();
    cheaper["total"] = json!("1");
    let (status, body) = change(&alice, &dear, &cheaper).await;
    assert_eq!((status, &body["code"]), (409, &json!("PREVIEW_CHANGED")));
    let mut dearer = shown.clone();
    dearer["credited"] = json!("1");
    assert_eq!(change(&alice, &dear, &dearer).await.0, 409);
    let mut later = shown.clone();
    later["proration_date"] = json!(shown["proration_date"].as_i64().expect("a time") + 60);
    assert_eq!(change(&alice, &dear, &later).await.0, 409);
    app.advance(Duration::from_secs(3_601));
    assert_eq!(change(&alice, &dear, &shown).await.0, 409, "an hour later the price differs");
    app.finish().await;
}

#[tokio::test]
async fn a_subscription_without_other_plans_cannot_change() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}/change-plan", alice.id);
    let refused = alice.buyer.browser.get(&path).await.refused(400);
    assert_eq!(refused["error"], "Plan updates are not available");
    app.finish().await;
}

#[tokio::test]
async fn a_change_during_a_trial_is_free_and_applies_from_its_end() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { trial: Some(WEEK), ..Terms::default() }).await;
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    let shown = preview(&alice, &dear).await;
    assert_eq!((amount(&shown["total"]), amount(&shown["next_amount"])), (0, 20 * TOKEN));
    assert_eq!(change(&alice, &dear, &shown).await.0, 200);
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 0);
    app.advance_and_bill(WEEK).await;
    assert_eq!(amount(&latest_invoice(&alice).await["total"]), 20 * TOKEN);
    app.finish().await;
}

#[tokio::test]
async fn changing_one_of_several_items_keeps_the_others() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { beside: Some((4, false)), ..Terms::default() }).await;
    let (product, beside) = alice.beside.clone().expect("a further item");
    let dear = app.price(&alice.product, 20, Interval::Week).await;
    let other_rhythm = app.price(&alice.product, 90, Interval::Month).await;
    app.advance_and_bill(WEEK).await;
    app.advance(WEEK / 2);
    let plans = alice.buyer.browser.get(&format!("/api/subscriptions/{}/change-plan", alice.id)).await.ok();
    let ids: Vec<_> = plans["plans"].as_array().expect("plans").iter().map(|plan| plan["id"].clone()).collect();
    assert_eq!(ids, [json!(dear.as_str())], "with another item, only the same interval fits");
    let path = format!("/api/subscriptions/{}/change-plan/preview", alice.id);
    alice.buyer.browser.post(&path, &json!({ "price_id": other_rhythm.as_str() })).await.refused(400);

    let up = preview(&alice, &dear).await;
    assert_eq!((amount(&up["credit"]), amount(&up["charge"]), amount(&up["total"])), (5 * TOKEN, 10 * TOKEN, 5 * TOKEN));
    assert_eq!(amount(&up["next_amount"]), 24 * TOKEN);
    let (status, body) = change(&alice, &dear, &up).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!((&body["items"][0]["price_id"], &body["items"][1]["price_id"]), (&json!(dear.as_str()), &json!(beside.as_str())));
    app.drain().await;
    let invoice = latest_invoice(&alice).await;
    assert_eq!((&invoice["status"], &invoice["total"], &invoice["applied_credit"]), (&json!("paid"), &up["charge"], &up["credit"]));

    // The other item was paid by the period's invoice, not by that of the first change.
    app.advance(Duration::from_secs(1));
    let dear_beside = app.price(&product, 8, Interval::Week).await;
    let up = preview(&alice, &dear_beside).await;
    let (credit, charge) = (amount(&up["credit"]), amount(&up["charge"]));
    assert!(credit < 2 * TOKEN && charge.abs_diff(2 * credit) <= 1, "{up}");
    assert_eq!(change(&alice, &dear_beside, &up).await.0, 200);
    app.advance_and_bill(WEEK / 2).await;
    assert_eq!(amount(&latest_invoice(&alice).await["total"]), 28 * TOKEN);
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn usage_before_a_change_is_billed_at_the_old_price() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { metered: true, limit: 100_000, ..Terms::default() }).await;
    let owner = app.owner().await;
    let dear = app.metered_price(&alice.product, 20, Interval::Week).await;
    let licensed = app.price(&alice.product, 5, Interval::Week).await;
    let item = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok()["items"][0]["id"].clone();
    let used = async |quantity: u64| {
        let report = json!({ "subscription_item_id": item, "quantity": quantity });
        owner.browser.post("/api/usage-records", &report).await.ok();
    };
    used(2).await;
    app.advance(WEEK / 2);
    let plans = alice.buyer.browser.get(&format!("/api/subscriptions/{}/change-plan", alice.id)).await.ok();
    assert_eq!(plans["plans"][0]["id"], dear.as_str());
    assert_eq!(plans["plans"].as_array().map(Vec::len), Some(1), "{licensed} does not count usage");
    let shown = preview(&alice, &dear).await;
    assert_eq!((amount(&shown["credit"]), amount(&shown["total"]), amount(&shown["next_amount"])), (0, 20 * TOKEN, 0));
    assert_eq!(shown["lines"][0]["formula"]["kind"], "per_unit");
    let before = app.ctx.now();
    app.advance(Duration::from_secs(60));
    used(1).await;
    let (status, body) = change(&alice, &dear, &shown).await;
    assert_eq!(status, 200, "{body}");
    app.drain().await;
    let invoice = latest_invoice(&alice).await;
    assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &shown["total"]));
    let late = json!({ "subscription_item_id": item, "quantity": 1, "timestamp": before.minus(Duration::from_secs(5)).seconds() });
    let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
    assert_eq!(amount(&seen["next_invoice"]["amount"]), 20 * TOKEN, "what was used since costs the new price");
    owner.browser.post("/api/usage-records", &late).await.ok();
    app.advance_and_bill(WEEK / 2).await;
    assert_eq!(amount(&latest_invoice(&alice).await["total"]), 40 * TOKEN, "and so does usage that was reported after the change");
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

on_one! {
    async fn a_plan_above_the_delegation_starts_after_a_new_delegation(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.plain(&app).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        app.advance(WEEK);
        let choice = json!({ "price_id": plans.yearly.as_str() });
        let shown = alice.browser.post(&format!("{path}/change-plan/preview"), &choice).await.ok();
        let order = json!({
            "price_id": plans.yearly.as_str(), "proration_date": shown["proration_date"],
            "expected_total": shown["total"], "expected_credited": shown["credited"],
        });
        let by_store = app.owner().await.browser.put(&format!("{path}/change-plan"), &order).await.refused(400);
        assert_eq!(by_store["error"], "The customer's wallet must authorize this plan first");
        let asked = alice.browser.put(&format!("{path}/change-plan"), &order).await.ok();
        assert_eq!(asked["connect"]["action"], "change-payment", "{asked}");
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["status"]), (&json!(plans.monthly.as_str()), &json!("active")), "nothing yet");
        let params = asked["connect"]["extraParams"].as_object().expect("parameters");
        let query: String = params.iter().map(|(name, value)| format!("&{name}={}", value.as_str().expect("text"))).collect();
        app.advance(Duration::from_secs(5));
        let kept = format!("&expectedCredited={}", shown["credited"].as_str().expect("an amount"));
        assert!(query.contains(&kept), "{query}");
        let other = Connect::begin(&app, &alice.browser, "change-payment", &query.replace(&kept, "&expectedCredited=7")).await;
        let refused = other.scan().await;
        assert_eq!(refused["errorMessage"], "The amount has changed. Please review the new preview.");
        let connect = Connect::begin(&app, &alice.browser, "change-payment", &query).await;
        let request = connect.scan().await;
        let found = request["requestedClaims"][0]["description"].as_str().expect("a text");
        assert!(found.contains("at most 100 SKT per payment"), "{found}");
        let done = connect.answer(&alice.wallet, &request, signed_claim(&alice.wallet, &request)).await;
        assert_eq!(done["status"], "ok", "{done}");
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["status"]), (&json!(plans.yearly.as_str()), &json!("active")), "{seen}");
        let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
        let invoice = alice.browser.get(&invoice).await.ok();
        assert_eq!((&invoice["status"], &invoice["total"]), (&json!("paid"), &shown["charge"]));
        assert_eq!(amount(&shown["charge"]) - amount(&invoice["applied_credit"]), amount(&shown["total"]));
        assert!(amount(&shown["total"]) > 10 * SKT, "more than was permitted before");
        app.finish().await;
    }

    async fn a_plan_with_a_larger_stake_starts_only_after_the_top_up(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let alice = app.sign_in("alice").await;
        let session = alice.subscribe(&app, &link).await;
        let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
        let path = format!("/api/subscriptions/{id}");
        assert_eq!(alice.browser.get(&path).await.ok()["staking"]["amount"], (10 * SKT).to_string());
        app.advance(WEEK);
        let shown = alice.browser.post(&format!("{path}/change-plan/preview"), &json!({ "price_id": plans.yearly.as_str() })).await.ok();
        let order = json!({
            "price_id": plans.yearly.as_str(), "proration_date": shown["proration_date"],
            "expected_total": shown["total"], "expected_credited": shown["credited"],
        });
        let asked = alice.browser.put(&format!("{path}/change-plan"), &order).await.ok();
        let params = asked["connect"]["extraParams"].as_object().expect("parameters");
        let query: String = params.iter().map(|(name, value)| format!("&{name}={}", value.as_str().expect("text"))).collect();
        assert_eq!(shown["stake"], (90 * SKT).to_string(), "shown in the preview");
        app.advance(Duration::from_secs(5));
        // The previous stake of this wallet is being returned.
        let subscription = SubscriptionId::parse(&id).expect("an id");
        let held = app.stake_of(&subscription).await;
        app.change_stake(&subscription, |stake| {
            let attempt_id = AttemptId::new(app.ctx.now(), app.ctx.random.as_ref());
            let reservation = StakeReservation { attempt_id, kind: StakeTransferKind::Return, amount: stake.amount };
            Stake { reservation: Some(reservation), ..stake }
        })
        .await;
        let connect = Connect::begin(&app, &alice.browser, "change-payment", &query).await;
        let request = connect.scan().await;
        let found = connect.answer(&alice.wallet, &request, signed_claim(&alice.wallet, &request)).await;
        assert_eq!(found["errorMessage"], "A payment is being processed. Please wait.", "{found}");
        let found = app.ctx.store.read().await.expect("reads").subscriptions().find(&subscription).await.expect("reads").expect("is there");
        assert_eq!(found.items[0].price_id, plans.monthly);
        app.change_stake(&subscription, |_| held).await;
        app.advance(Duration::from_secs(5));
        // The wallet signs the delegation and declines the stake.
        let connect = Connect::begin(&app, &alice.browser, "change-payment", &query).await;
        let request = connect.scan().await;
        let request = connect.answer(&alice.wallet, &request, signed_claim(&alice.wallet, &request)).await;
        assert_eq!(request["requestedClaims"][0]["type"], "prepareTx", "{request}");
        connect.post(&connect.signed(&alice.wallet, &request, "declineAuth", json!([]))).await.ok();
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["staking"]["amount"]), (&json!(plans.monthly.as_str()), &json!((10 * SKT).to_string())));
        let billed = alice.browser.get(&format!("/api/invoices?subscription_id={id}&include_staking=true")).await.ok();
        assert_eq!(billed["count"], 2, "the first period and the first stake: {billed}");
        let asked = alice.browser.put(&format!("{path}/change-plan"), &order).await.ok();
        assert_eq!(asked["connect"]["action"], "change-payment", "it is asked for again: {asked}");

        app.advance(Duration::from_secs(5));
        let (request, kinds) = Connect::begin(&app, &alice.browser, "change-payment", &query).await.sign_all(&alice.wallet).await;
        assert_eq!((&request["status"], kinds), (&json!("ok"), vec!["signature".to_owned(), "prepareTx".to_owned()]), "{request}");
        app.drain().await;
        let seen = alice.browser.get(&path).await.ok();
        assert_eq!((&seen["items"][0]["price_id"], &seen["staking"]["status"]), (&json!(plans.yearly.as_str()), &json!("held")), "{seen}");
        assert_eq!(seen["staking"]["amount"], (100 * SKT).to_string());
        let found = alice.browser.get(&format!("/api/invoices?subscription_id={id}&include_staking=true")).await.ok()["list"].clone();
        let of_plan = |invoice: &&Value| invoice["description"] == "Stake for subscription plan change";
        let found = found.as_array().and_then(|list| list.iter().find(of_plan)).expect("an invoice of its own");
        assert_eq!((&found["billing_reason"], &found["total"]), (&json!("stake"), &json!((90 * SKT).to_string())));
        app.finish().await;
    }

    async fn a_more_expensive_plan_of_the_same_interval_is_authorized_before_it_is_due(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms { limit: 10, ..Terms::default() }).await;
        let dear = app.price(&alice.product, 20, Interval::Week).await;
        app.advance_and_bill(WEEK).await;
        app.advance(WEEK / 2);
        let shown = preview(&alice, &dear).await;
        let (status, asked) = change(&alice, &dear, &shown).await;
        assert_eq!((status, &asked["connect"]["extraParams"]["priceId"]), (200, &json!(dear.as_str())), "{asked}");
        assert_eq!(asked["connect"]["extraParams"]["expectedCredited"], shown["credited"], "the agreed amounts are stored");
        assert_eq!(amount(&shown["total"]), 5 * TOKEN, "the mandate would have allowed the amount due now");
        let cheap = app.price(&alice.product, 9, Interval::Week).await;
        let shown = preview(&alice, &cheap).await;
        let (_, changed) = change(&alice, &cheap, &shown).await;
        assert_eq!(changed["items"][0]["price_id"], cheap.as_str(), "{changed}");
        app.finish().await;
    }
}
