//! Paying from the balance with the store.

use crate::app::{Subscriber, TOKEN, Terms, TestApp, WEEK};
use futures_util::future::join_all;
use serde_json::{Value, json};
use souk_adapters::{on_both, on_one};
use souk_domain::pricing::Interval;
use std::time::Duration;

/// A customer with a balance of 15 tokens from a change to a cheaper plan.
async fn with_credit(app: &TestApp) -> Subscriber {
    let alice = app.subscribe("alice", Terms { tokens: 40, ..Terms::default() }).await;
    let cheap = app.price(&alice.product, 10, Interval::Week).await;
    app.advance_and_bill(WEEK).await;
    app.advance(WEEK / 2);
    let path = format!("/api/subscriptions/{}/change-plan", alice.id);
    let shown = alice.buyer.browser.post(&format!("{path}/preview"), &json!({ "price_id": cheap.as_str() })).await.ok();
    assert_eq!(shown["credited"], (15 * TOKEN).to_string());
    let change = json!({ "price_id": cheap.as_str(), "proration_date": shown["proration_date"], "expected_total": shown["total"] });
    alice.buyer.browser.put(&path, &change).await.ok();
    app.drain().await;
    assert_eq!(app.breaches().await, [""; 0]);
    alice
}

async fn confirm(one: &Subscriber, session: &str) -> Value {
    one.buyer.browser.post(&format!("/api/checkout-sessions/{session}/fast-checkout-confirm"), &json!({})).await.ok()["fastPaid"].clone()
}

/// The remaining balance, in base units.
async fn remaining(app: &TestApp, one: &Subscriber) -> u128 {
    let mut unit = app.ctx.store.read().await.expect("reads");
    let balances = unit.balances().of_all(std::slice::from_ref(&one.customer)).await.expect("reads");
    balances.iter().map(|balance| balance.amount.base_units()).sum()
}

on_one! {
    async fn credit_pays_a_purchase_without_the_wallet(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = with_credit(&app).await;
        let moved = app.networks.transfers_to(app.app_key.did().as_str()).await.len();
        let session = alice.buyer.start(&app.shop.atlas).await;
        let submitted = alice.buyer.submit_for_wallet(&app, &session).await;
        let offered = json!({ "type": "credit", "amount": (10 * TOKEN).to_string(), "payer": alice.buyer.wallet.did().as_str() });
        assert_eq!(submitted["fastPayInfo"], offered, "{submitted}");
        assert_eq!((&submitted["balance"]["sufficient"], &submitted["creditSufficient"]), (&json!(true), &json!(true)));
        assert_eq!(confirm(&alice, &session).await, true);
        assert_eq!(confirm(&alice, &session).await, true, "the second answer is the first");
        let before = app.mails().len();
        app.drain().await;
        let receipts = app.mails().split_off(before);
        assert!(receipts.iter().any(|mail| mail.contains("Paid with your account balance")), "{receipts:?}");
        let found = alice.buyer.retrieve(&session).await;
        let session = &found["checkoutSession"];
        assert_eq!((&session["status"], &session["payment_status"]), (&json!("complete"), &json!("paid")));
        assert_eq!((&found["paymentIntent"]["status"], &found["paymentIntent"]["amount_received"]), (&json!("succeeded"), &json!("0")));
        let invoice = format!("/api/invoices/{}", session["invoice_id"].as_str().expect("an invoice"));
        let invoice = alice.buyer.browser.get(&invoice).await.ok();
        let ten = json!((10 * TOKEN).to_string());
        assert_eq!((&invoice["status"], &invoice["total"], &invoice["amount_remaining"]), (&json!("paid"), &ten, &json!("0")));
        assert_eq!((&invoice["applied_credit"], &invoice["payments"][0]["source"]), (&ten, &json!("balance")));
        assert_eq!(alice.buyer.browser.get(&app.shop.atlas.bundle_path()).await.status, 200);
        assert_eq!(remaining(&app, &alice).await, 5 * TOKEN);
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), moved, "no network was asked");
        assert_eq!(app.breaches().await, [""; 0]);
        app.advance(Duration::from_secs(4));
        let next = alice.buyer.start(&app.shop.atlas).await;
        let submitted = alice.buyer.submit_for_wallet(&app, &next).await;
        assert_eq!((&submitted["fastPayInfo"]["type"], &submitted["creditSufficient"]), (&json!("delegation"), &json!(false)));
        app.finish().await;
    }
}

on_both! {
    async fn credit_is_spent_once_despite_repeated_confirmations(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = with_credit(&app).await;
        // There is no delegation, so that without the balance the wallet would have to sign.
        app.execute("UPDATE mandates SET status = 'ended'").await;
        let mut sessions = Vec::new();
        for _ in 0..2 {
            let session = alice.buyer.start_link(&app.shop.atlas.link).await;
            alice.buyer.submit_for_wallet(&app, &session).await;
            sessions.push(session);
            app.advance(Duration::from_secs(4));
        }
        let both = [&sessions[0], &sessions[1], &sessions[0], &sessions[1]];
        let paid = join_all(both.map(|session| confirm(&alice, session))).await;
        assert_eq!((&paid[0], &paid[1]), (&paid[2], &paid[3]), "each answer is the other's");
        assert_eq!(paid.iter().filter(|paid| **paid == true).count(), 2, "{paid:?}");
        app.drain().await;
        assert_eq!(remaining(&app, &alice).await, 5 * TOKEN);
        let mut complete = 0;
        for session in &sessions {
            complete += u32::from(alice.buyer.retrieve(session).await["checkoutSession"]["status"] == "complete");
        }
        assert_eq!(complete, 1);
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

on_one! {
    async fn an_offer_by_credit_is_never_charged_to_the_wallet(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = with_credit(&app).await;
        let moved = app.networks.transfers_to(app.app_key.did().as_str()).await.len();
        let mut confirms = Vec::new();
        for _ in 0..2 {
            let session = alice.buyer.start_link(&app.shop.atlas.link).await;
            let submitted = alice.buyer.submit_for_wallet(&app, &session).await;
            assert_eq!(submitted["fastPayInfo"]["type"], "credit", "{submitted}");
            confirms.push(format!("/api/checkout-sessions/{session}/fast-checkout-confirm"));
            app.advance(Duration::from_secs(4));
        }
        let amount = 10 * TOKEN;
        let post = async |path: &str| alice.buyer.browser.post(path, &json!({})).await;
        let paid = async |path: &str, by: &str| post(&format!("{path}?type={by}&amount={amount}")).await.ok()["fastPaid"].clone();
        assert_eq!(post(&format!("{}?type=credit&amount={}", confirms[0], amount + 1)).await.ok()["fastPaid"], false, "another amount");
        assert_eq!(paid(&confirms[0], "credit").await, true);
        assert_eq!(paid(&confirms[1], "credit").await, false, "the first has used it");
        app.drain().await;
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), moved);
        assert_eq!(paid(&confirms[1], "delegation").await, true, "when that is agreed to, the permission pays");
        app.drain().await;
        assert_eq!(app.networks.transfers_to(app.app_key.did().as_str()).await.len(), moved + 1);
        let refused = post(&format!("{}?type=coins&amount=1", confirms[1])).await.refused(400);
        assert_eq!(refused["error"], "type is credit or delegation");
        post(&format!("{}?type=credit", confirms[1])).await.refused(400);
        app.finish().await;
    }
}

on_both! {
    async fn a_purchase_paid_by_credit_is_refunded_as_credit(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = with_credit(&app).await;
        let owner = app.owner().await;
        let session = alice.buyer.start(&app.shop.atlas).await;
        alice.buyer.submit_for_wallet(&app, &session).await;
        assert_eq!(confirm(&alice, &session).await, true);
        app.drain().await;
        let found = alice.buyer.retrieve(&session).await;
        let (intent, invoice) = (found["paymentIntent"]["id"].clone(), found["checkoutSession"]["invoice_id"].clone());
        let path = format!("/api/payment-intents/{}/refund", intent.as_str().expect("an id"));
        let refund = owner.browser.put(&path, &json!({ "amount": "4", "reason": "duplicate" })).await.ok();
        let four = json!((4 * TOKEN).to_string());
        assert_eq!((&refund["object"], &refund["to_balance"], &refund["reason"]), (&json!("credit_note"), &four, &json!("duplicate")));
        assert_eq!(refund["invoice_id"], invoice);
        assert_eq!(remaining(&app, &alice).await, 9 * TOKEN);
        let (one, two) = (json!({ "amount": "6" }), json!({ "amount": "6" }));
        let twice = join_all([owner.browser.put(&path, &one), owner.browser.put(&path, &two)]).await;
        let mut statuses: Vec<_> = twice.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!((statuses, remaining(&app, &alice).await), (vec![200, 400], 15 * TOKEN));
        owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice })).await.refused(400);
        app.drain().await;
        let listed = alice.buyer.browser.get(&format!("/api/credit-notes?invoice_id={}", invoice.as_str().expect("an id"))).await.ok();
        assert_eq!(listed["count"], 2);
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

on_one! {
    async fn a_renewal_partly_paid_by_credit_is_refunded_to_the_wallet_first(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = with_credit(&app).await;
        let owner = app.owner().await;
        // A renewal that credit pays in full emits the same event as any other.
        let before = app.mails().len();
        app.advance_and_bill(WEEK).await;
        let receipts = app.mails().split_off(before);
        assert!(receipts.iter().any(|mail| mail.contains("renewed: your receipt") && mail.contains("Paid with your account balance")), "{receipts:?}");
        app.advance_and_bill(WEEK).await;
        assert_eq!(remaining(&app, &alice).await, 0);
        let invoices = alice.buyer.browser.get("/api/invoices").await.ok()["list"].clone();
        assert_eq!((&invoices[1]["amount_paid"], &invoices[1]["amount_remaining"]), (&json!((10 * TOKEN).to_string()), &json!("0")));
        assert_eq!(alice.buyer.browser.get("/api/invoices?ignore_zero=true").await.ok()["list"][1]["id"], invoices[1]["id"]);
        let all = |place: usize| json!({ "invoice_id": invoices[place]["id"] });
        let most = async |place: usize| {
            let path = format!("/api/refunds/preview?invoice_id={}", invoices[place]["id"].as_str().expect("an id"));
            owner.browser.get(&path).await.ok()["amount"].clone()
        };
        let tokens = |count: u128| json!((count * TOKEN).to_string());
        assert_eq!((most(0).await, most(1).await), (tokens(10), tokens(10)));
        let moved = app.networks.transfers_to(alice.buyer.wallet.did().as_str()).await.len();
        let part = json!({ "invoice_id": invoices[0]["id"], "amount": "7" });
        let refund = owner.browser.post("/api/refunds", &part).await.ok();
        assert_eq!((&refund["type"], &refund["amount"]), (&json!("refund"), &json!((5 * TOKEN).to_string())));
        app.drain().await;
        let back = app.networks.transfers_to(alice.buyer.wallet.did().as_str()).await.len();
        assert_eq!((back - moved, remaining(&app, &alice).await), (1, 2 * TOKEN));
        assert_eq!(most(0).await, tokens(3));
        assert_eq!(owner.browser.post("/api/refunds", &all(0)).await.ok()["to_balance"], (3 * TOKEN).to_string());
        assert_eq!(most(0).await, tokens(0));
        let whole = owner.browser.post("/api/refunds", &all(1)).await.ok();
        assert_eq!((&whole["object"], &whole["to_balance"]), (&json!("credit_note"), &json!((10 * TOKEN).to_string())));
        app.drain().await;
        assert_eq!(remaining(&app, &alice).await, 15 * TOKEN);
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}
