//! The links in emails: customers and administrators revoke those that were sent until now.

use crate::app::{TestApp, page_tokens};
use serde_json::json;
use souk_adapters::on_both;
use std::time::Duration;

on_both! {
    async fn revoked_links_open_nothing_and_later_ones_do(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob, owner) = (app.sign_in("alice").await, app.sign_in("bob").await, app.owner().await);
        let mut links = Vec::new();
        for buyer in [&alice, &bob] {
            let session = buyer.buy(&app, &app.shop.atlas).await;
            let invoice = buyer.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
            links.push(invoice);
        }
        let link = |invoice: &str| format!("/api/invoices/{invoice}?authToken={}", page_tokens().auth_token(invoice, app.ctx.now()));
        let (of_alice, of_bob) = (link(&links[0]), link(&links[1]));
        app.browser().get(&of_alice).await.ok();
        app.advance(Duration::from_secs(5));
        app.browser().post("/api/customers/me/revoke-links", &json!({})).await.refused(401);
        alice.browser.post("/api/customers/me/revoke-links", &json!({})).await.ok();
        app.browser().get(&of_alice).await.refused(401);
        app.browser().get(&of_bob).await.ok();
        app.advance(Duration::from_secs(5));
        app.browser().get(&link(&links[0])).await.ok();

        let by_store = format!("/api/customers/{}/revoke-links", bob.wallet.did());
        alice.browser.post(&by_store, &json!({})).await.refused(403);
        owner.browser.post(&by_store, &json!({})).await.ok();
        app.browser().get(&of_bob).await.refused(401);
        owner.browser.post("/api/customers/cus_0/revoke-links", &json!({})).await.refused(404);
        let log = owner.browser.get("/api/audit-log?operation=customer.revoke_links").await.ok();
        assert_eq!((&log["count"], &log["list"][0]["objects"]), (&json!(1), &json!([bob.wallet.did().as_str()])));
        app.finish().await;
    }
}
