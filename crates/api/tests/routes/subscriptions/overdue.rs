//! Overdue invoices of cards: payment by a new card, payment after the end of a subscription, and voiding by the store.

use crate::app::{ACCEPTED, DECLINED_LATER, Subscriber, Terms, TestApp, WEEK, form, page_tokens};
use serde_json::{Value, json};
use souk_adapters::on_one;
use souk_domain::billing::{Invoice, NewInvoice};
use souk_domain::shared::InvoiceId;
use std::time::Duration;

/// Changes the subscription's payment method to a new card.
async fn change_card(app: &TestApp, one: &Subscriber, card: &str) {
    let path = format!("/api/subscriptions/{}", one.id);
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let card_form = one.buyer.browser.post(&format!("{path}/change-payment"), &body).await.ok();
    let secret = card_form["stripeContext"]["client_secret"].as_str().expect("a secret");
    assert_eq!(app.networks.confirm(secret, card).await.0, 200);
    app.advance(Duration::from_secs(2));
    one.buyer.browser.get(&path).await.ok();
    app.drain().await;
}

/// A subscriber whose card is declined, so that a week is unpaid. Also returns the invoice's id.
async fn with_overdue_invoice(app: &TestApp, name: &str) -> (Subscriber, String) {
    let one = app.subscribe(name, Terms::default()).await;
    change_card(app, &one, DECLINED_LATER).await;
    app.advance_and_bill(WEEK).await;
    let seen = one.buyer.browser.get(&format!("/api/subscriptions/{}", one.id)).await.ok();
    assert_eq!(seen["status"], "past_due", "{seen}");
    let invoice = seen["latest_invoice_id"].as_str().expect("an invoice").to_owned();
    (one, invoice)
}

async fn invoice(one: &Subscriber, id: &str) -> Value {
    one.buyer.browser.get(&format!("/api/invoices/{id}")).await.ok()
}

on_one! {
    async fn a_new_card_pays_overdue_invoices_immediately(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owed) = with_overdue_invoice(&app, "alice").await;
        assert_eq!(invoice(&alice, &owed).await["status"], "uncollectible");
        change_card(&app, &alice, ACCEPTED).await;
        assert_eq!(invoice(&alice, &owed).await["status"], "paid");
        let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
        assert_eq!(seen["status"], "active");
        app.finish().await;
    }

    async fn a_failed_payment_contains_the_current_status_of_its_invoice(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owed) = with_overdue_invoice(&app, "alice").await;
        let attempts = async || {
            let payments = alice.buyer.browser.get("/api/payment-intents").await.ok();
            let list = payments["list"].as_array().expect("a list").clone();
            list.into_iter().filter(|payment| payment["invoice_id"] == owed.as_str()).collect::<Vec<_>>()
        };
        let failed = attempts().await;
        assert!(!failed.is_empty() && failed.iter().all(|payment| payment["invoice_status"] == "uncollectible"), "{failed:?}");
        change_card(&app, &alice, ACCEPTED).await;
        let settled = attempts().await;
        assert!(settled.iter().all(|payment| payment["invoice_status"] == "paid"), "{settled:?}");
        let path = format!("/api/payment-intents/{}", settled[0]["id"].as_str().expect("an id"));
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["invoice_status"], "paid");
        app.finish().await;
    }

    async fn a_past_due_subscription_can_be_canceled_without_a_reason(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, _) = with_overdue_invoice(&app, "alice").await;
        let path = format!("/api/subscriptions/{}", alice.id);
        let terms = json!({ "at": "current_period_end", "cancel_from": "customer" });
        let canceled = alice.buyer.browser.put(&format!("{path}/cancel"), &terms).await.ok();
        assert_eq!((&canceled["status"], &canceled["cancel_at"]), (&json!("past_due"), &canceled["current_period_end"]));
        app.advance_and_bill(WEEK).await;
        let ended = alice.buyer.browser.get(&path).await.ok();
        assert_eq!(ended["status"], "canceled");
        assert!(ended["ended_at"].as_i64() >= canceled["current_period_end"].as_i64(), "{ended}");
        app.finish().await;
    }

    async fn invoices_of_an_ended_subscription_can_be_paid_by_card(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owed) = with_overdue_invoice(&app, "alice").await;
        let owner = app.owner().await;
        owner.browser.put(&format!("/api/subscriptions/{}/cancel", alice.id), &json!({ "at": "now" })).await.ok();
        app.drain().await;
        let session = alice.buyer.start(&app.shop.atlas).await;
        let limited = alice.buyer.submit(&session, &form(&app.shop, "alice", true)).await.refused(403);
        assert_eq!(limited["code"], "CUSTOMER_LIMITED");
        let payment = json!({ "subscription_id": alice.id.as_str(), "currency_id": app.shop.dollar.as_str() });
        let browser = alice.buyer.browser.connecting_from("192.0.2.7:1000");
        let card_form = browser.post("/api/invoices/pay-stripe", &payment).await.ok();
        let of_visitors = "SELECT count(*) AS n FROM hourly_counts WHERE subject LIKE 'card:test:visitor:%'";
        assert_eq!(app.count(of_visitors).await, 1, "the form counts for the visitor who opened it");
        assert_eq!(card_form["customer"]["id"], alice.customer.as_str());
        assert!(card_form["publishable_key"].as_str().is_some_and(|key| key.starts_with("pk_")), "{card_form}");
        let secret = card_form["client_secret"].as_str().expect("a secret");
        assert_eq!(app.networks.confirm(secret, ACCEPTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        invoice(&alice, &owed).await;
        app.drain().await;
        assert_eq!(invoice(&alice, &owed).await["status"], "paid");
        let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
        assert_eq!(seen["status"], "canceled", "what has ended stays so");
        alice.buyer.submit(&session, &form(&app.shop, "alice", true)).await.ok();
        let refused = alice.buyer.browser.post("/api/invoices/pay-stripe", &payment).await.refused(400);
        assert_eq!(refused["error"], "Nothing is overdue");
        app.finish().await;
    }

    async fn all_retries_of_a_day_run_in_one_job(db: &TestDatabase) {
        let mut app = TestApp::on(db).await;
        // They are one customer's, whose hourly limit would spread them.
        app.ctx.policy.bounds = None;
        let (_, owed) = with_overdue_invoice(&app, "alice").await;
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let known = unit.invoices().find(&InvoiceId::parse(&owed).expect("an id")).await.expect("reads").expect("exists");
        let overdue = |number: u64| Invoice {
            id: InvoiceId::parse(&format!("in_of_that_day_{number}")).expect("an id"),
            number: Some(number),
            subscription_id: None,
            intent_id: None,
            retry_at: Some(app.ctx.now()),
            ..known.clone()
        };
        let invoices: Vec<_> = (1_001..=1_401).map(|number| NewInvoice { invoice: overdue(number), items: Vec::new() }).collect();
        unit.invoices().insert_final_all(&invoices).await.expect("inserts");
        unit.commit().await.expect("commits");
        souk_workers::schedule::retry_overdue(&app.ctx, None).await.expect("tries");
        let left = "SELECT count(*) AS n FROM invoices WHERE retry_at IS NOT NULL AND number > 1000";
        assert_eq!(app.count(left).await, 0);
        app.drain().await;
        app.finish().await;
    }

    async fn the_store_can_void_an_overdue_invoice(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owed) = with_overdue_invoice(&app, "alice").await;
        let owner = app.owner().await;
        let path = format!("/api/invoices/{owed}/void");
        assert_eq!(alice.buyer.browser.post(&path, &json!({})).await.status, 403);
        assert_eq!(owner.browser.live().post(&path, &json!({})).await.status, 404);
        let void = owner.browser.post(&path, &json!({})).await.ok();
        assert_eq!((&void["status"], void["number"].as_str().is_some_and(|number| !number.is_empty())), (&json!("void"), true));
        owner.browser.post(&path, &json!({})).await.refused(400);
        let seen = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
        assert_eq!(seen["status"], "active");
        let session = alice.buyer.start(&app.shop.atlas).await;
        alice.buyer.submit(&session, &form(&app.shop, "alice", true)).await.ok();
        app.finish().await;
    }
}

#[tokio::test]
async fn only_the_customer_and_link_holders_can_pay_overdue_invoices_by_card() {
    let app = TestApp::open().await;
    let (alice, owed) = with_overdue_invoice(&app, "alice").await;
    let mallory = app.sign_in("mallory").await;
    let dollar = app.shop.dollar.as_str();
    let by_invoice = json!({ "invoice_ids": [owed], "currency_id": dollar });
    let by_customer = json!({ "customer_id": alice.buyer.wallet.did().as_str(), "currency_id": dollar });
    for payment in [&by_invoice, &by_customer] {
        assert_eq!(mallory.browser.post("/api/invoices/pay-stripe", payment).await.status, 404);
        assert_eq!(app.browser().post("/api/invoices/pay-stripe", payment).await.status, 401);
        alice.buyer.browser.post("/api/invoices/pay-stripe", payment).await.ok();
    }
    let token = page_tokens().auth_token(&owed, app.ctx.now());
    app.browser().post(&format!("/api/invoices/pay-stripe?authToken={token}"), &by_invoice).await.ok();
    let nobody = alice.buyer.browser.post("/api/invoices/pay-stripe", &json!({ "currency_id": dollar })).await.refused(400);
    assert_eq!(nobody["error"], "Either subscriptionId or customerId must be provided");
    let in_tokens = json!({ "invoice_ids": [owed], "currency_id": app.shop.token.as_str() });
    alice.buyer.browser.post("/api/invoices/pay-stripe", &in_tokens).await.refused(400);
    app.finish().await;
}
