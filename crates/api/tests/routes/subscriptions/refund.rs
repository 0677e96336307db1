use crate::app::{ACCEPTED, TOKEN, Terms, TestApp, WEEK};
use serde_json::json;
use souk_adapters::on_one;
use std::time::Duration;

#[tokio::test]
async fn refunds_to_the_wallet_never_exceed_the_payment() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    app.advance_and_bill(WEEK).await;
    let payments = alice.buyer.browser.get("/api/payment-intents").await.ok();
    let path = format!("/api/payment-intents/{}/refund", payments["list"][0]["id"].as_str().expect("an id"));
    assert_eq!(alice.buyer.browser.put(&path, &json!({ "amount": "4" })).await.status, 403);
    let refund = owner.browser.put(&path, &json!({ "amount": "4", "reason": "duplicate" })).await.ok();
    assert_eq!((&refund["status"], &refund["amount"]), (&json!("pending"), &json!((4 * TOKEN).to_string())));
    app.drain().await;
    let refund = alice.buyer.browser.get(&format!("/api/refunds/{}", refund["id"].as_str().expect("an id"))).await.ok();
    assert_eq!((&refund["status"], &refund["reason"]), (&json!("succeeded"), &json!("duplicate")));
    assert_eq!(refund["subscription_id"], alice.id.as_str());
    assert_eq!(alice.buyer.browser.get("/api/refunds").await.ok()["count"], 1);
    let overbilled = owner.browser.put(&path, &json!({ "amount": "7" })).await.refused(400);
    assert_eq!(overbilled["code"], "OVER_REFUND");
    let rest = json!({ "payment_intent_id": payments["list"][0]["id"] });
    assert_eq!(owner.browser.post("/api/refunds", &rest).await.ok()["amount"], (6 * TOKEN).to_string());
    app.drain().await;
    assert_eq!(owner.browser.post("/api/refunds", &rest).await.refused(400)["error"], "There is no payment that could be refunded");
    let back = app.networks.transfers_to(alice.buyer.wallet.did().as_str()).await;
    assert_eq!(back.len(), 2);
    app.finish().await;
}

on_one! {
    async fn refunds_are_assigned_to_their_invoice(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let bob = app.sign_in("bob").await;
        let owner = app.owner().await;
        app.advance_and_bill(WEEK).await;
        app.advance_and_bill(WEEK).await;
        let invoices = alice.buyer.browser.get("/api/invoices").await.ok();
        let id = |place: usize| invoices["list"][place]["id"].as_str().expect("an id").to_owned();
        let order = json!({ "payment_intent_id": invoices["list"][0]["payment_intent_id"], "invoice_id": id(1), "amount": "1" });
        owner.browser.post("/api/refunds", &order).await.refused(404);
        let order = json!({ "payment_intent_id": invoices["list"][0]["payment_intent_id"], "invoice_id": id(0), "amount": "1" });
        assert_eq!(owner.browser.post("/api/refunds", &order).await.ok()["invoice_id"], id(0));
        app.drain().await;
        let count = async |who: &crate::app::Buyer, of: &str| {
            let path = format!("/api/refunds?invoice_id={of}");
            who.browser.get(&path).await.ok()["count"].as_u64().expect("a number")
        };
        let preview = format!("/api/refunds/preview?invoice_id={}", id(0));
        assert_eq!(owner.browser.get(&preview).await.ok()["amount"], (9 * TOKEN).to_string());
        alice.buyer.browser.get(&preview).await.refused(403);
        owner.browser.get("/api/refunds/preview?invoice_id=in_nobody").await.refused(404);
        for who in [&alice.buyer, &owner] {
            assert_eq!((count(who, &id(0)).await, count(who, &id(1)).await, count(who, "").await), (1, 0, 1));
        }
        assert_eq!(count(&bob, &id(0)).await, 0);
        let named = format!("/api/refunds?customer_id={}", alice.buyer.wallet.did());
        assert_eq!(owner.browser.get(&named).await.ok()["count"], 1);
        assert_eq!(bob.browser.get("/api/refunds?customer_id=cus_nobody").await.ok()["count"], 0);
        bob.browser.get(&named).await.refused(403);
        assert_eq!(count(&alice.buyer, "nonsense").await, 0, "a filter that is no id shows nothing");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_card_payment_is_refunded_to_the_card() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let owner = app.owner().await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.drain().await;
    let payments = alice.browser.get("/api/payment-intents").await.ok();
    let path = format!("/api/payment-intents/{}/refund", payments["list"][0]["id"].as_str().expect("an id"));
    let refund = owner.browser.put(&path, &json!({ "amount": "1.99", "reason": "requested_by_customer" })).await.ok();
    assert_eq!(refund["amount"], "199");
    app.drain().await;
    let refund = alice.browser.get(&format!("/api/refunds/{}", refund["id"].as_str().expect("an id"))).await.ok();
    assert_eq!(refund["status"], "succeeded");
    assert_eq!((app.networks.charges().await.len(), app.networks.card_refunds().await), (1, 1));
    assert_eq!(owner.browser.put(&path, &json!({ "amount": "3.01" })).await.refused(400)["code"], "OVER_REFUND");
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}
