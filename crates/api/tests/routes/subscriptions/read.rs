use crate::app::{TOKEN, Terms, TestApp, page_tokens};
use serde_json::{Value, json};

#[tokio::test]
async fn customers_see_their_own_subscriptions_and_the_store_sees_all() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let bob = app.subscribe("bob", Terms::default()).await;
    let owner = app.owner().await;
    let own = alice.buyer.browser.get("/api/subscriptions").await.ok();
    assert_eq!((&own["count"], &own["list"][0]["id"]), (&json!(1), &json!(alice.id.as_str())));
    let path = format!("/api/subscriptions/{}", bob.id);
    assert_eq!(alice.buyer.browser.get(&path).await.status, 404);
    assert_eq!(app.browser().get(&path).await.status, 401);
    assert_eq!(owner.browser.get(&path).await.ok()["id"], bob.id.as_str());
    assert_eq!(owner.browser.get("/api/subscriptions?customer_id=all").await.ok()["count"], 2);
    let did = format!("/api/subscriptions?customer_id={}", bob.buyer.wallet.did());
    assert_eq!(owner.browser.get(&did).await.ok()["list"][0]["id"], bob.id.as_str());
    assert_eq!(alice.buyer.browser.get(&did).await.status, 403);
    assert_eq!(owner.browser.get("/api/subscriptions/search?query=MONTH").await.ok()["count"], 2);
    let by_id = format!("/api/subscriptions/search?query={}", bob.id);
    assert_eq!(owner.browser.get(&by_id).await.ok()["count"], 1);
    assert_eq!(owner.browser.get("/api/subscriptions/search?query=50%25").await.ok()["count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn the_next_invoice_matches_the_renewal() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let before = alice.buyer.browser.get(&path).await.ok();
    assert_eq!(before["status"], "active");
    assert_eq!(before["next_invoice"]["amount"], (10 * TOKEN).to_string());
    assert_eq!(before["next_invoice"]["at"], before["current_period_end"]);
    assert_eq!(before["mandate"]["type"], "delegation");
    assert_eq!(before["items"][0]["price"]["product"]["name"], "Monthly");
    app.advance_and_bill(crate::app::WEEK).await;
    let after = alice.buyer.browser.get(&path).await.ok();
    assert_eq!(after["current_period_start"], before["current_period_end"]);
    let invoice = format!("/api/invoices/{}", after["latest_invoice_id"].as_str().expect("an id"));
    let invoice = alice.buyer.browser.get(&invoice).await.ok();
    assert_eq!((&invoice["total"], &invoice["status"]), (&before["next_invoice"]["amount"], &json!("paid")));
    app.finish().await;
}

#[tokio::test]
async fn an_email_link_grants_read_access_to_one_subscription() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let bob = app.subscribe("bob", Terms::default()).await;
    let token = page_tokens().auth_token(alice.id.as_str(), app.ctx.now());
    let stranger = app.browser();
    let at = |id: &str, rest: &str| format!("/api/subscriptions/{id}{rest}?authToken={token}");
    assert_eq!(stranger.get(&at(alice.id.as_str(), "")).await.ok()["id"], alice.id.as_str());
    assert_eq!(stranger.get(&at(alice.id.as_str(), "/overdue/invoices")).await.status, 200);
    assert_eq!(stranger.get(&at(bob.id.as_str(), "")).await.status, 404);
    app.advance_and_bill(crate::app::WEEK).await;
    let invoice = alice.buyer.browser.get("/api/invoices").await.ok()["list"][0]["id"].as_str().expect("an id").to_owned();
    for path in [format!("/api/invoices/{invoice}"), format!("/api/invoices/{invoice}/pdf")] {
        assert_eq!(alice.buyer.browser.get(&path).await.status, 200);
        stranger.get(&format!("{path}?authToken={token}")).await.refused(404);
    }
    assert_eq!(stranger.put(&at(alice.id.as_str(), "/cancel"), &json!({})).await.status, 401);
    assert_eq!(stranger.get(&format!("/api/subscriptions/{}?authToken={token}x", alice.id)).await.status, 401);
    app.advance(std::time::Duration::from_secs(31 * 86_400));
    assert_eq!(stranger.get(&at(alice.id.as_str(), "")).await.status, 401);
    app.run_billing().await;
    app.finish().await;
}

#[tokio::test]
async fn the_store_can_change_description_and_metadata() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let path = format!("/api/subscriptions/{}", alice.id);
    let update = json!({ "description": "Yours", "metadata": { "team": "a" } });
    assert_eq!(alice.buyer.browser.put(&path, &update).await.status, 403);
    let updated = owner.browser.put(&path, &update).await.ok();
    assert_eq!((&updated["description"], &updated["metadata"]), (&json!("Yours"), &json!({ "team": "a" })));
    assert_eq!(owner.browser.put(&path, &json!({ "description": "Mine" })).await.ok()["metadata"], json!({ "team": "a" }));
    assert_eq!(updated["cancelation_details"], Value::Null);
    app.finish().await;
}
