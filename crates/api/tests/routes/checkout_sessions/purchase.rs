//! One purchase, from the link to the download.

use crate::app::{ACCEPTED, TestApp};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use souk_adapters::{on_both, on_one};

/// Checks what a buyer has after a purchase over any network.
async fn bought(app: &TestApp, buyer: &crate::app::Buyer, session: &str, amount: &str) -> Value {
    let complete = buyer.retrieve(session).await;
    let found = &complete["checkoutSession"];
    assert_eq!((&found["status"], &found["payment_status"]), (&"complete".into(), &"paid".into()));
    assert_eq!(found["amount_total"], amount);
    assert_eq!(found["entitlements"][0]["app_did"], app.shop.atlas.app.as_str());
    assert_eq!(complete["paymentIntent"]["status"], "succeeded");
    assert_eq!(complete["paymentIntent"]["amount_received"], amount);
    assert_eq!(complete["paymentLink"]["after_completion"]["hosted_confirmation"]["custom_message"], "Enjoy it");

    let invoice = buyer.browser.get(&format!("/api/invoices/{}", found["invoice_id"].as_str().expect("an invoice"))).await.ok();
    assert_eq!((&invoice["status"], &invoice["paid"]), (&"paid".into(), &true.into()));
    assert!(!invoice["number"].as_str().expect("a number").is_empty());
    assert_eq!((&invoice["total"], &invoice["amount_remaining"]), (&amount.into(), &"0".into()));
    assert_eq!(invoice["lines"][0]["description"], "Atlas");

    let mails = app.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].contains("alice@example.com"));
    assert!(mails[0].contains("application/pdf"));

    let mine = buyer.browser.get("/api/entitlements").await.ok();
    assert_eq!((&mine["count"], &mine["list"][0]["checkout_session_id"]), (&1.into(), &session.into()));
    assert_eq!(mine["list"][0]["app"]["entitled"], true);

    let file = buyer.browser.get(&app.shop.atlas.bundle_path()).await;
    assert_eq!((file.status, &file.bytes), (200, &app.shop.atlas.bundle));
    assert_eq!(file.header("content-type"), Some("application/gzip"));
    assert_eq!(file.header("content-length"), Some(app.shop.atlas.bundle.len().to_string().as_str()));
    let digest = format!("sha-256=:{}:", STANDARD.encode(app.shop.atlas.sha256()));
    assert_eq!(file.header("repr-digest"), Some(digest.as_str()));
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"atlas-1.0.0.tgz\""));
    invoice
}

on_both! {
    async fn a_purchase_by_wallet_ends_with_invoice_mail_entitlement_and_download(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let submitted = alice.submit_for_wallet(&app, &session).await;
        assert_eq!(submitted["paymentIntent"]["status"], "requires_payment_method");
        assert!(submitted.get("stripeContext").is_none());
        let done = alice.pay_by_wallet(&app, &session).await;
        assert_eq!(done["status"], "ok", "{done}");
        app.drain().await;
        let invoice = bought(&app, &alice, &session, "10000000000000000000").await;
        let transfers = app.networks.transfers_to(app.app_key.did().as_str()).await;
        assert_eq!(transfers.len(), 1);
        assert_eq!(transfers[0]["amount"], "10000000000000000000");
        assert_eq!(done["response"]["hash"], transfers[0]["hash"]);
        let details = &invoice["metadata"]["payment_details"]["arcblock"];
        assert_eq!((&details["tx_hash"], &details["payer"]), (&transfers[0]["hash"], &alice.wallet.did().as_str().into()));
        assert_eq!(details["receiver"], app.app_key.did().as_str());
        app.finish().await;
    }
}

on_one! {
    async fn a_purchase_by_card_ends_with_invoice_mail_entitlement_and_download(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.atlas).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
        app.advance(std::time::Duration::from_secs(2));
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete", "a poll asks the network");
        app.drain().await;
        let invoice = bought(&app, &alice, &session, "499").await;
        let details = &invoice["metadata"]["payment_details"]["stripe"];
        assert!(secret.starts_with(details["payment_intent_id"].as_str().expect("an id")));
        assert_eq!(app.networks.charges().await.len(), 1);
        app.finish().await;
    }
}
