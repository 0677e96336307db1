//! `/api/prices`

use super::app::{TestApp, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};
use souk_domain::pricing::StockReservation;
use souk_domain::shared::{PriceId, SessionId};

#[tokio::test]
async fn amounts_are_read_exactly_from_strings_and_numbers() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (token, dollar) = app.currencies(&owner).await;
    let product = text(&app.post(&owner, "/api/products", json!({"name": "Keeper"})).await["id"]);
    let make = async |currency: &str, amount: &str| {
        let body = format!(r#"{{"product_id": "{product}", "currency_id": "{currency}", "unit_amount": {amount}}}"#);
        let (status, answer) = app.send(&owner, Verb::POST, "/api/prices", body).await;
        if status == 200 { text(&answer["unit_amount"]) } else { format!("{status} {}", text(&answer["error"])) }
    };
    assert_eq!(make(&token, r#""0.001""#).await, "1000000000000000");
    assert_eq!(make(&token, "0.1").await, "100000000000000000");
    assert_eq!(make(&token, "1e-6").await, "1000000000000");
    assert_eq!(make(&token, "98765432109876543.210987").await, "98765432109876543210987000000000000");
    assert_eq!(make(&dollar, "0.29").await, "29");
    assert_eq!(make(&dollar, "19.990").await, "1999");
    assert_eq!(make(&token, "0").await, "0");
    assert_eq!(make(&dollar, "0.001").await, "400 unit_amount is not valid: amount has more than 2 decimals");
    assert_eq!(make(&token, "0.0000001").await, "400 unit_amount is not valid: amount has more than 6 decimals");
    assert_eq!(make(&token, "-1").await, "400 unit_amount is not valid: amount is not a number");
    assert_eq!(make(&token, r#""1,5""#).await, "400 unit_amount is not valid: amount is not a number");
    assert_eq!(make(&token, &"9".repeat(30)).await, "400 unit_amount is not valid: amount is out of range");
    assert_eq!(make("pc_none", "1").await, "400 currency_id does not name a currency of this mode");
    assert!(make(&token, "true").await.starts_with("400 Sorry, request error"));
}

#[tokio::test]
async fn a_price_is_found_by_its_unique_lookup_key() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let id = app.price(&owner, json!({"unit_amount": "1", "lookup_key": "gold plan", "nickname": "Gold"})).await;
    let read = app.get(&owner, "/api/prices/gold%20plan").await;
    assert_eq!((&read["id"], &read["product"]["name"]), (&json!(id), &json!("Keeper")));
    let changed = app.put(&owner, "/api/prices/gold%20plan", json!({"unit_amount": "2.5", "nickname": "Silver"})).await;
    assert_eq!((&changed["unit_amount"], &changed["nickname"]), (&json!("2500000000000000000"), &json!("Silver")));
    let body = json!({"product_id": read["product_id"], "unit_amount": "1", "lookup_key": "gold plan"});
    let refused = app.refused(&owner, Verb::POST, "/api/prices", body).await;
    assert_eq!(refused, (409, "lookup_key belongs to another price".to_owned()));
    let body = json!({"product_id": read["product_id"], "unit_amount": "1", "lookup_key": "price_x"});
    assert_eq!(app.refused(&owner, Verb::POST, "/api/prices", body).await.0, 400);
    assert_eq!(app.get(&owner, "/api/prices/search?query=silv").await["count"], 1);
    assert_eq!(app.refused(&owner, Verb::GET, "/api/prices/%01", Value::Null).await.0, 404);
}

#[tokio::test]
async fn a_change_of_currency_requires_an_amount_in_the_new_currency() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (_, dollar) = app.currencies(&owner).await;
    let id = app.price(&owner, json!({"unit_amount": "1"})).await;
    let refused = app.refused(&owner, Verb::PUT, &format!("/api/prices/{id}"), json!({"currency_id": dollar})).await;
    assert_eq!(refused, (400, "unit_amount is required".to_owned()));
    let changed = app.put(&owner, &format!("/api/prices/{id}"), json!({"currency_id": dollar, "unit_amount": "1"})).await;
    assert_eq!(changed["unit_amount"], "100");
    let twice = json!({"currency_options": [{"currency_id": dollar, "unit_amount": 1}, {"currency_id": dollar, "unit_amount": 2}]});
    let refused = app.refused(&owner, Verb::PUT, &format!("/api/prices/{id}"), twice).await;
    assert_eq!(refused, (400, "currency_options name a currency twice".to_owned()));
}

#[tokio::test]
async fn stock_changes_cannot_go_below_the_sold_quantity() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let id = app.price(&owner, json!({"unit_amount": "1", "quantity_available": 5})).await;
    let price_id = PriceId::parse(&id).expect("an id");
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let hold = StockReservation { price_id, quantity: 4 };
    unit.prices().reserve(&SessionId::parse("cs_1").expect("an id"), &hold, app.ctx.now()).await.expect("holds");
    unit.commit().await.expect("commits");
    let path = format!("/api/prices/{id}/inventory");
    let more = app.put(&owner, &path, json!({"quantity": 3, "action": "increment"})).await;
    assert_eq!((&more["quantity_available"], &more["quantity_sold"]), (&json!(8), &json!(4)));
    let refused = app.refused(&owner, Verb::PUT, &path, json!({"quantity": 5, "action": "decrement"})).await;
    assert_eq!(refused, (400, "quantity_available must be above 0 and at least the sold quantity".to_owned()));
    assert_eq!(app.put(&owner, &path, json!({"quantity": 4, "action": "decrement"})).await["quantity_available"], 4);
    assert_eq!(app.refused(&owner, Verb::PUT, &path, json!({"quantity": 1, "action": "destroy"})).await.0, 400);
    assert_eq!(app.refused(&owner, Verb::PUT, &path, json!({"quantity": u64::MAX, "action": "increment"})).await.0, 400);
    let set = app.refused(&owner, Verb::PUT, &format!("/api/prices/{id}"), json!({"quantity_available": 3})).await;
    assert_eq!(set.0, 400);
    let set = app.put(&owner, &format!("/api/prices/{id}"), json!({"quantity_available": 9, "quantity_sold": 0})).await;
    assert_eq!((&set["quantity_available"], &set["quantity_sold"]), (&json!(9), &json!(4)));
}

#[tokio::test]
async fn a_price_in_use_can_be_archived_but_not_deleted() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let linked = app.price(&owner, json!({"unit_amount": "1"})).await;
    let product = app.get(&owner, &format!("/api/prices/{linked}")).await["product_id"].clone();
    let default = app.refused(&owner, Verb::DELETE, &format!("/api/prices/{linked}"), Value::Null).await;
    assert_eq!(default.0, 409, "it is its product's default");
    let free = text(&app.post(&owner, "/api/prices", json!({"product_id": product, "unit_amount": "2"})).await["id"]);
    let used = text(&app.post(&owner, "/api/prices", json!({"product_id": product, "unit_amount": "3"})).await["id"]);
    app.post(&owner, "/api/payment-links", json!({"line_items": [{"price_id": used, "quantity": 1}]})).await;
    assert_eq!(app.refused(&owner, Verb::DELETE, &format!("/api/prices/{used}"), Value::Null).await.0, 409);
    assert_eq!(app.call(&owner, Verb::DELETE, &format!("/api/prices/{free}"), &Value::Null).await.0, 200);
    assert_eq!(app.refused(&owner, Verb::GET, &format!("/api/prices/{free}"), Value::Null).await.0, 404);
    assert_eq!(app.put(&owner, &format!("/api/prices/{used}/archive"), Value::Null).await["active"], false);
    assert_eq!(app.get(&owner, "/api/prices?active=false").await["count"], 1);
    assert_eq!(app.get(&owner, &format!("/api/prices?product_id={}", text(&product))).await["count"], 2);
}
