//! `/api/refunds`: declined refunds, and the store's decisions about them

use crate::app::{ACCEPTED, Buyer, TOKEN, TestApp};
use serde_json::{Value, json};
use souk_adapters::on_both;
use std::time::Duration;

fn tokens(whole: u128) -> Value {
    json!((whole * TOKEN).to_string())
}

/// Makes a purchase whose refund the network declines. Returns the path of the refund.
async fn declined_refund(app: &TestApp, buyer: &Buyer, owner: &Buyer) -> String {
    let session = buyer.buy(app, &app.shop.atlas).await;
    let invoice = buyer.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
    let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await.ok();
    assert_eq!((&refund["type"], &refund["status"], &refund["amount"]), (&json!("refund"), &json!("pending"), &tokens(4)));
    app.networks.ledger_fault(json!({ "mode": "decline" })).await;
    app.drain().await;
    format!("/api/refunds/{}", refund["id"].as_str().expect("an id"))
}

/// The amounts of an invoice's refunds: all, pending and failed.
fn amounts(invoice: &Value) -> [&Value; 3] {
    ["amount_refunded", "amount_refund_pending", "amount_refund_failed"].map(|field| &invoice[field])
}

on_both! {
    async fn invoices_tell_pending_and_failed_refunds_apart_from_those_that_are_back(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let session = alice.buy(&app, &app.shop.atlas).await;
        let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
        let path = format!("/api/invoices/{invoice}");
        let token = crate::app::page_tokens().auth_token(&invoice, app.ctx.now());
        let expect = async |expected: [Value; 3]| {
            let list = alice.browser.get("/api/invoices").await.ok()["list"][0].clone();
            let of_store = owner.browser.get("/api/invoices?customer_id=all").await.ok()["list"][0].clone();
            let (detail, by_link) = (alice.browser.get(&path).await.ok(), app.browser().get(&format!("{path}?authToken={token}")).await.ok());
            for read in [&list, &of_store, &detail, &by_link] {
                assert_eq!(amounts(read), expected.each_ref(), "{read}");
            }
        };
        expect([json!("0"), json!("0"), json!("0")]).await;
        let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await.ok();
        expect([tokens(4), tokens(4), json!("0")]).await;
        app.networks.ledger_fault(json!({ "mode": "decline" })).await;
        app.drain().await;
        expect([tokens(4), json!("0"), tokens(4)]).await;
        let retry = format!("/api/refunds/{}/retry", refund["id"].as_str().expect("an id"));
        owner.browser.post(&retry, &json!({})).await.ok();
        app.drain().await;
        expect([tokens(4), json!("0"), json!("0")]).await;
        app.finish().await;
    }

    async fn a_declined_refund_can_be_retried_or_moved_to_the_balance(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let path = declined_refund(&app, &alice, &owner).await;
        let failed = alice.browser.get(&path).await.ok();
        assert_eq!((&failed["status"], &failed["failure_count"]), (&json!("failed"), &json!(1)));
        assert!(failed["failure"]["code"].as_str().is_some_and(|code| !code.is_empty()), "{failed}");
        assert_eq!((&failed["failure_reason"], &failed["payment_details"]), (&failed["failure"]["code"], &json!({})), "{failed}");
        assert_eq!(owner.browser.get("/api/refunds?status=failed").await.ok()["count"], 1);
        assert_eq!(owner.browser.get("/api/refunds?status=succeeded").await.ok()["count"], 0);
        assert_eq!(owner.browser.get("/api/refunds?status=nonsense").await.ok()["count"], 0);
        let again = owner.browser.post(&format!("{path}/retry"), &json!({})).await.ok();
        assert_eq!(again["status"], "pending");
        app.drain().await;
        let succeeded = alice.browser.get(&path).await.ok();
        let details = json!({
            "tx_hash": succeeded["reference"], "type": "transfer", "payer": app.app_key.did().as_str(), "receiver": alice.wallet.did().as_str(),
        });
        assert_eq!((&succeeded["status"], &succeeded["payment_details"]["arcblock"]), (&json!("succeeded"), &details), "{succeeded}");
        assert!(succeeded.get("failure_reason").is_none(), "{succeeded}");
        let listed = owner.browser.get("/api/refunds?status=succeeded").await.ok();
        assert_eq!(listed["list"][0]["payment_details"], succeeded["payment_details"], "{listed}");
        for action in ["retry", "move-to-balance"] {
            let late = owner.browser.post(&format!("{path}/{action}"), &json!({})).await.refused(400);
            assert_eq!(late["code"], "REFUND_NOT_FAILED");
        }

        // Two starts by one visitor within three seconds give one session.
        app.advance(Duration::from_secs(4));
        let path = declined_refund(&app, &alice, &owner).await;
        let moved = owner.browser.post(&format!("{path}/move-to-balance"), &json!({})).await.ok();
        assert_eq!(moved["status"], "canceled");
        assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["list"][0]["amount"], tokens(4));
        app.drain().await;
        assert_eq!(app.networks.transfers_to(alice.wallet.did().as_str()).await.len(), 1, "the first refund");
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_refund_to_a_card_names_the_refund_and_the_payment_at_the_processor() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
    app.drain().await;
    let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice })).await.ok();
    app.drain().await;
    let seen = alice.browser.get(&format!("/api/refunds/{}", refund["id"].as_str().expect("an id"))).await.ok();
    let details = &seen["payment_details"]["stripe"];
    assert_eq!((&seen["status"], &details["refund_id"]), (&json!("succeeded"), &seen["reference"]), "{seen}");
    assert!(details["payment_intent_id"].as_str().is_some_and(|id| secret.starts_with(id)), "{seen}");
    app.finish().await;
}

#[tokio::test]
async fn only_the_store_decides_about_a_failed_refund() {
    let app = TestApp::open().await;
    let (alice, bob, owner) = (app.sign_in("alice").await, app.sign_in("bob").await, app.owner().await);
    let path = declined_refund(&app, &alice, &owner).await;
    bob.browser.get(&path).await.refused(404);
    for action in ["retry", "move-to-balance"] {
        let path = format!("{path}/{action}");
        app.browser().post(&path, &json!({})).await.refused(401);
        alice.browser.post(&path, &json!({})).await.refused(403);
        owner.browser.live().post(&path, &json!({})).await.refused(404);
        owner.browser.post(&format!("/api/refunds/re_01234/{action}"), &json!({})).await.refused(404);
    }
    assert_eq!(owner.browser.get(&path).await.ok()["status"], "failed");
    app.finish().await;
}

#[tokio::test]
async fn a_refund_to_the_balance_returns_the_credit_note() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let first = alice.buy(&app, &app.shop.atlas).await;
    let invoice = alice.retrieve(&first).await["checkoutSession"]["invoice_id"].clone();
    owner.browser.post("/api/credit-notes", &json!({ "invoice_id": invoice, "to": "balance" })).await.ok();
    app.drain().await;
    app.advance(Duration::from_secs(4));
    let session = alice.start(&app.shop.atlas).await;
    assert_eq!(alice.submit_for_wallet(&app, &session).await["fastPayInfo"]["type"], "credit");
    let confirm = format!("/api/checkout-sessions/{session}/fast-checkout-confirm");
    assert_eq!(alice.browser.post(&confirm, &json!({})).await.ok()["fastPaid"], true);
    app.drain().await;
    let second = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
    let path = format!("/api/invoices/{}", second.as_str().expect("an invoice"));
    let seen = alice.browser.get(&path).await.ok();
    assert_eq!((&seen["applied_credit"], &seen["payments"][0]["source"]), (&tokens(10), &json!("balance")));
    assert_eq!((&seen["amount_paid"], &seen["amount_due"], &seen["status"]), (&tokens(10), &tokens(10), &json!("paid")));
    let preview = format!("/api/refunds/preview?invoice_id={}", second.as_str().expect("an invoice"));
    assert_eq!(owner.browser.get(&preview).await.ok(), json!({ "amount": tokens(10), "to_balance": tokens(10) }));
    let note = owner.browser.post("/api/refunds", &json!({ "invoice_id": second })).await.ok();
    assert_eq!((&note["object"], &note["to_balance"]), (&json!("credit_note"), &tokens(10)));
    assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["list"][0]["amount"], tokens(10));
    assert_eq!(owner.browser.post("/api/refunds", &json!({ "invoice_id": second })).await.refused(400)["code"], "NOTHING_PAID");
    app.finish().await;
}
