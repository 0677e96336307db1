//! Payments on hold, whose settled amount differs from the requested one.

use crate::app::{Buyer, TestApp};
use serde_json::json;
use souk_domain::payment::{self, AttemptContext, Outcome, Settlement, Trigger};
use souk_domain::shared::{Amount, PaymentIntentId};

/// A card payment for which the network reports a smaller settled amount, in cents.
async fn on_hold(app: &TestApp, buyer: &Buyer, cents: u128) -> String {
    let session = buyer.start(&app.shop.atlas).await;
    buyer.submit_for_card(app, &session).await;
    let intent = buyer.retrieve(&session).await["paymentIntent"]["id"].as_str().expect("a payment").to_owned();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let id = PaymentIntentId::parse(&intent).expect("an id");
    let attempt = unit.attempts().open_of_intent(&id).await.expect("reads").expect("an attempt");
    let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("a method");
    let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("a currency");
    let settlement = Settlement { reference: "pi_provider".to_owned(), payer: String::new(), amount: Amount::new(cents), card: None };
    let context = AttemptContext { attempt, method, currency };
    payment::record(&app.ctx, unit.as_mut(), &context, &Outcome::Settled(settlement), Trigger::Reconciler).await.expect("is recorded");
    unit.commit().await.expect("commits");
    intent
}

#[tokio::test]
async fn the_store_moves_the_settled_amount_to_the_balance() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let intent = on_hold(&app, &alice, 300).await;
    let path = format!("/api/payment-intents/{intent}/resolve");
    app.browser().post(&path, &json!({})).await.refused(401);
    alice.browser.post(&path, &json!({})).await.refused(403);
    owner.browser.live().post(&path, &json!({})).await.refused(404);
    owner.browser.post("/api/payment-intents/pi_01234/resolve", &json!({})).await.refused(404);
    owner.browser.post(&path, &json!({ "to": "nowhere" })).await.refused(400);
    let draft = owner.browser.post(&path, &json!({ "to": "invoice" })).await.refused(400);
    assert_eq!(draft["code"], "NOTHING_OWED", "the invoice of a checkout is a draft");
    let resolved = owner.browser.post(&path, &json!({})).await.ok();
    let moved = &resolved["balance_transaction"];
    assert_eq!((&moved["type"], &moved["amount"], &moved["balance_after"]), (&json!("suspense_resolved"), &json!("300"), &json!("300")));
    assert_eq!(owner.browser.post(&path, &json!({})).await.refused(400)["code"], "NOT_ON_HOLD");
    assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["list"][0]["amount"], "300");
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn the_store_refunds_the_settled_amount() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let intent = on_hold(&app, &alice, 300).await;
    let resolved = owner.browser.post(&format!("/api/payment-intents/{intent}/resolve"), &json!({ "to": "refund" })).await.ok();
    assert_eq!((&resolved["amount"], &resolved["invoice_ids"]), (&json!("300"), &json!([])));
    let refund = &resolved["refund"];
    assert_eq!((&refund["type"], &refund["status"], &refund["amount"]), (&json!("refund"), &json!("pending"), &json!("300")));
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn the_store_lists_payments_on_hold_until_they_are_resolved() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let path = "/api/payment-intents/on-hold";
    assert_eq!(owner.browser.get(path).await.ok(), json!({ "count": 0, "list": [] }));
    let intent = on_hold(&app, &alice, 300).await;
    app.browser().get(path).await.refused(401);
    alice.browser.get(path).await.refused(403);
    assert_eq!(owner.browser.live().get(path).await.ok()["count"], 0);
    let listed = owner.browser.get(path).await.ok();
    let payment = &listed["list"][0];
    assert_eq!((&listed["count"], &payment["id"]), (&json!(1), &json!(intent)));
    assert_eq!((&payment["amount_received"], &payment["amount_refunded"]), (&json!("300"), &json!("0")));
    let asked = alice.browser.get(&format!("/api/payment-intents/{intent}")).await.ok();
    for field in ["amount", "currency_id", "customer_id", "payment_method_id"] {
        assert_eq!(payment[field], asked[field], "{field}");
    }
    assert_eq!(payment["customer"]["did"], json!(alice.wallet.did().to_string()));
    assert_eq!(payment["payment_details"]["stripe"]["payment_intent_id"], "pi_provider");
    assert_eq!((&payment["paymentMethod"]["type"], &payment["paymentCurrency"]["id"]), (&json!("stripe"), &asked["currency_id"]));
    let invoice = &payment["invoices"][0];
    assert_eq!(
        (&invoice["id"], &invoice["status"], &invoice["amount_payable"]),
        (&asked["invoice_id"], &json!("draft"), &json!("0")),
        "a draft cannot be paid"
    );
    owner.browser.post(&format!("/api/payment-intents/{intent}/resolve"), &json!({})).await.ok();
    assert_eq!(owner.browser.get(path).await.ok(), json!({ "count": 0, "list": [] }));
    app.finish().await;
}
