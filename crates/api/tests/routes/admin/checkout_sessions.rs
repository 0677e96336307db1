//! `/api/checkout-sessions` for integrators.

use super::app::{TestApp, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};
use souk_domain::shared::Mode;

#[tokio::test]
async fn sessions_can_be_created_read_updated_listed_and_expired() {
    let app = TestApp::open().await;
    let key = app.key(Mode::Test, &["*"]).await;
    app.currencies(&key).await;
    let price = app.price(&key, json!({"unit_amount": "1"})).await;
    let body =
        json!({"line_items": [{"price_id": price, "quantity": 3}], "success_url": "https://a.example/done", "metadata": {"order": "7"}});
    let session = app.post(&key, "/api/checkout-sessions", body).await;
    let id = text(&session["id"]);
    assert_eq!(session["url"], format!("https://store.example/checkout/pay/{id}"));
    assert_eq!((&session["status"], &session["line_items"][0]["price"]["product"]["name"]), (&json!("open"), &json!("Keeper")));
    let labeled = app.put(&key, &format!("/api/checkout-sessions/{id}"), json!({"metadata": {"order": "8"}})).await;
    assert_eq!(labeled["metadata"], json!({"order": "8"}));
    assert_eq!(app.get(&key, "/api/checkout-sessions?metadata.order=8&status=open,complete").await["count"], 1);
    assert_eq!(app.get(&key, "/api/checkout-sessions?metadata.order=7").await["count"], 0);
    assert_eq!(app.put(&key, &format!("/api/checkout-sessions/{id}/expire"), Value::Null).await["status"], "expired");
    let again = app.refused(&key, Verb::PUT, &format!("/api/checkout-sessions/{id}/expire"), Value::Null).await;
    assert_eq!(again, (400, "Only an open session can expire".to_owned()));
    assert_eq!(app.get(&key, "/api/checkout-sessions?status=expired").await["list"][0]["id"], id);
    let live = app.key(Mode::Live, &["*"]).await;
    for (verb, path) in [(Verb::GET, ""), (Verb::PUT, "/expire")] {
        assert_eq!(app.refused(&live, verb, &format!("/api/checkout-sessions/{id}{path}"), Value::Null).await.0, 404);
    }
}

#[tokio::test]
async fn invalid_input_is_rejected_with_a_message() {
    let app = TestApp::open().await;
    let key = app.key(Mode::Test, &["*"]).await;
    app.currencies(&key).await;
    let price = app.price(&key, json!({"unit_amount": "1"})).await;
    let items = json!([{"price_id": price, "quantity": 1}]);
    for (body, error) in [
        (json!({"line_items": items, "mode": "subscription"}), "mode does not fit the items"),
        (json!({"line_items": items, "expires_at": 1}), "expires_at must be between now and 30 days from now"),
        (json!({"line_items": items, "expires_at": i64::MAX}), "expires_at must be between now and 30 days from now"),
        (json!({"line_items": items, "success_url": "ftp://a"}), "success_url must be an address that begins with http:// or https://"),
    ] {
        assert_eq!(app.refused(&key, Verb::POST, "/api/checkout-sessions", body).await, (400, error.to_owned()));
    }
    assert_eq!(app.refused(&key, Verb::GET, "/api/checkout-sessions?status=lost", Value::Null).await.0, 400);
}
