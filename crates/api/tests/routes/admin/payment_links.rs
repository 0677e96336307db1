//! `/api/payment-links`

use super::app::{TestApp, Who, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};

#[tokio::test]
async fn links_can_be_created_read_changed_listed_and_archived() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (token, _) = app.currencies(&owner).await;
    let price = app.price(&owner, json!({"unit_amount": "1.5"})).await;
    let body = json!({
        "line_items": [{"price_id": price, "quantity": 2, "adjustable_quantity": {"enabled": true, "minimum": 1, "maximum": 9}}],
        "phone_number_collection": {"enabled": true}, "billing_address_collection": "required",
        "after_completion": {"type": "hosted_confirmation", "hosted_confirmation": {"custom_messages": {"en": "Thanks", "zh": "谢谢"}}},
        "metadata": {"team": "a", "page_info": {"field_validation": {"customer_name": {"pattern": "^A"}}}},
    });
    let link = app.post(&owner, "/api/payment-links", body).await;
    let id = text(&link["id"]);
    assert_eq!((&link["name"], &link["currency_id"], &link["active"]), (&json!("Keeper"), &json!(token), &json!(true)));
    assert_eq!(link["line_items"][0]["adjustable_quantity"], json!({"enabled": true, "minimum": 1, "maximum": 9}));
    assert_eq!(link["billing_address_collection"], "required");
    assert_eq!(link["metadata"]["team"], "a");
    assert_eq!(link["metadata"]["page_info"]["field_validation"]["customer_name"]["pattern"], "^A");
    let zh = app.get(&owner, &format!("/api/payment-links/{id}?locale=zh")).await;
    assert_eq!(zh["after_completion"]["hosted_confirmation"]["custom_message"], "谢谢");
    let change = json!({"name": "Sale", "after_completion": {"type": "redirect", "redirect": {"url": "https://a.example/done"}}});
    let changed = app.put(&owner, &format!("/api/payment-links/{id}"), change).await;
    assert_eq!((&changed["name"], &changed["after_completion"]["redirect"]["url"]), (&json!("Sale"), &json!("https://a.example/done")));
    assert_eq!(changed["metadata"], link["metadata"]);
    assert_eq!(app.get(&owner, "/api/payment-links?q=sal&metadata.team=a").await["count"], 1);
    let start = format!("/api/checkout-sessions/start/{id}");
    let (status, started) = app.call(&Who::Nobody, Verb::POST, &start, &Value::Null).await;
    assert_eq!((status, &started["checkoutSession"]["success_url"]), (200, &json!("https://a.example/done")));
    assert_eq!(app.put(&owner, &format!("/api/payment-links/{id}/archive"), Value::Null).await["active"], false);
    assert_eq!(app.refused(&Who::Nobody, Verb::POST, &start, Value::Null).await.0, 400);
    assert_eq!(app.get(&owner, "/api/payment-links?active=true").await["count"], 0);
}

#[tokio::test]
async fn invalid_input_is_rejected_with_a_message() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (_, dollar) = app.currencies(&owner).await;
    let price = app.price(&owner, json!({"unit_amount": "1"})).await;
    let items = "line_items must name 1 to 20 different active prices of this mode, each with a quantity from 1 to 1000000";
    let range = "adjustable_quantity must have a minimum of at least 1 and a maximum that is 0 or not below it";
    let item = json!({"price_id": price});
    for (body, error) in [
        (json!({}), "line_items is required"),
        (json!({"line_items": []}), items),
        (json!({"line_items": [{"price_id": price, "quantity": 0}]}), items),
        (json!({"line_items": [item, item]}), items),
        (json!({"line_items": [{"price_id": "price_none"}]}), items),
        (json!({"line_items": [{"price_id": "prod_1"}]}), "price_id is not the id of a price"),
        (json!({"line_items": [item], "currency_id": dollar}), "Currency not configured for price"),
        (json!({"line_items": [{"price_id": price, "adjustable_quantity": {"enabled": true, "minimum": 5, "maximum": 2}}]}), range),
        (
            json!({"line_items": [item], "after_completion": {"type": "redirect", "redirect": {"url": "javascript:1"}}}),
            "redirect.url must be an address that begins with http:// or https://",
        ),
        (
            json!({"line_items": [item], "metadata": {"page_info": {"field_validation": {"customer_name": {"pattern": "("}}}}}),
            "page_info.field_validation: this pattern is not valid",
        ),
    ] {
        assert_eq!(app.refused(&owner, Verb::POST, "/api/payment-links", body).await, (400, error.to_owned()));
    }
    assert_eq!(app.get(&owner, "/api/payment-links").await["count"], 0);
}
