//! Checkouts with nothing to pay.

use crate::app::{TestApp, form};

#[tokio::test]
async fn a_checkout_of_zero_completes_at_submit_without_a_payment() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.gift).await;
    let submitted = alice.submit(&session, &form(&app.shop, "alice", false)).await.ok();
    assert_eq!(submitted["checkoutSession"]["status"], "complete");
    assert_eq!(submitted["checkoutSession"]["payment_status"], "no_payment_required");
    let intent = &submitted["paymentIntent"];
    assert_eq!((&intent["status"], &intent["amount_received"]), (&"succeeded".into(), &"0".into()), "{intent}");
    app.drain().await;
    assert_eq!(alice.browser.get(&app.shop.gift.bundle_path()).await.status, 200);
    assert_eq!(alice.browser.get("/api/invoices").await.ok()["list"][0]["status"], "paid");
    assert_eq!(alice.browser.get("/api/invoices?ignore_zero=true").await.ok()["count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn a_checkout_of_zero_by_card_requires_no_card() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.gift).await;
    let submitted = alice.submit(&session, &form(&app.shop, "alice", true)).await.ok();
    assert_eq!(submitted["checkoutSession"]["status"], "complete");
    assert!(submitted.get("stripeContext").is_none(), "{submitted}");
    app.finish().await;
}
