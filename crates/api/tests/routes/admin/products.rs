//! `/api/products`

use super::app::{TestApp, Who, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};
use souk_domain::access::Role;
use souk_domain::shared::Mode;

#[tokio::test]
async fn a_product_is_created_with_prices_and_read_back_in_base_units() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (token, dollar) = app.currencies(&owner).await;
    let body = json!({
        "name": " Keeper ", "description": "Keeps", "images": ["https://a.example/1.png"], "features": [{"name": "Fast"}],
        "unit_label": "seat", "metadata": {"team": "a", "n": 5},
        "prices": [{"unit_amount": "1.88", "currency_options": [{"currency_id": dollar, "unit_amount": "1.99"}], "quantity_available": 5}],
    });
    let made = app.post(&owner, "/api/products", body).await;
    let read = app.get(&owner, &format!("/api/products/{}", text(&made["id"]))).await;
    assert_eq!(read, made);
    assert_eq!((&read["name"], &read["livemode"], &read["metadata"]), (&json!("Keeper"), &json!(false), &json!({"team": "a", "n": "5"})));
    let price = &read["prices"][0];
    assert_eq!(price["unit_amount"], "1880000000000000000");
    assert_eq!(price["currency_id"], token);
    assert_eq!(price["currency_options"], json!([{"currency_id": dollar, "unit_amount": "199"}]));
    assert_eq!((&price["quantity_available"], &price["type"]), (&json!(5), &json!("one_time")));
    assert_eq!(read["default_price_id"], price["id"]);
}

#[tokio::test]
async fn products_can_be_changed_listed_searched_archived_and_deleted() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let one = text(&app.post(&owner, "/api/products", json!({"name": "Straße", "metadata": {"team": "a"}})).await["id"]);
    let two = app.post(&owner, "/api/products", json!({"name": "Other", "prices": [{"unit_amount": 1}]})).await;
    let two = text(&two["id"]);
    let changed = app.put(&owner, &format!("/api/products/{one}"), json!({"description": "New", "unit_label": ""})).await;
    assert_eq!((&changed["name"], &changed["description"], changed.get("unit_label")), (&json!("Straße"), &json!("New"), None));
    let ids = |list: &Value| list["list"].as_array().expect("a list").iter().map(|item| text(&item["id"])).collect::<Vec<_>>();
    let all = app.get(&owner, "/api/products?pageSize=1&unknown=x").await;
    assert_eq!((&all["count"], ids(&all).len()), (&json!(2), 1));
    assert_eq!(ids(&app.get(&owner, "/api/products/search?query=STRASSE").await), Vec::<String>::new());
    assert_eq!(ids(&app.get(&owner, "/api/products/search?query=STRA%C3%9FE").await), [one.as_str()]);
    assert_eq!(ids(&app.get(&owner, "/api/products?metadata.team=a").await), [one.as_str()]);
    let archived = app.put(&owner, &format!("/api/products/{two}/archive"), Value::Null).await;
    assert_eq!((&archived["active"], &archived["prices"][0]["active"]), (&json!(false), &json!(false)));
    assert_eq!(ids(&app.get(&owner, "/api/products?active=true").await), [one.as_str()]);
    let in_use = app.refused(&owner, Verb::DELETE, &format!("/api/products/{two}"), Value::Null).await;
    assert_eq!(in_use, (409, "It is in use and can only be archived".to_owned()));
    let (status, _) = app.call(&owner, Verb::DELETE, &format!("/api/products/{one}"), &Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(app.refused(&owner, Verb::GET, &format!("/api/products/{one}"), Value::Null).await.0, 404);
}

#[tokio::test]
async fn only_admins_and_keys_with_the_scope_can_access_products() {
    let app = TestApp::open().await;
    let body = json!({"name": "Keeper"});
    assert_eq!(app.refused(&Who::Nobody, Verb::POST, "/api/products", body.clone()).await, (401, "not authorized".to_owned()));
    for role in [None, Some(Role::Developer)] {
        let person = app.person(role).await;
        assert_eq!(app.refused(&person, Verb::POST, "/api/products", body.clone()).await.0, 403, "{role:?}");
        assert_eq!(app.refused(&person, Verb::GET, "/api/products", Value::Null).await.0, 403, "{role:?}");
    }
    let admin = app.person(Some(Role::Admin)).await;
    app.post(&admin, "/api/products", body.clone()).await;
    let reader = app.key(Mode::Test, &["products:read"]).await;
    assert_eq!(app.get(&reader, "/api/products").await["count"], 1);
    assert_eq!(app.refused(&reader, Verb::POST, "/api/products", body.clone()).await.0, 403);
    assert_eq!(app.refused(&reader, Verb::GET, "/api/prices", Value::Null).await.0, 403);
    assert_eq!(app.refused(&Who::Key("souk_test_0".to_owned()), Verb::GET, "/api/products", Value::Null).await.0, 401);
}

#[tokio::test]
async fn test_and_live_mode_are_separate() {
    let app = TestApp::open().await;
    let (test, live) = (app.key(Mode::Test, &["*"]).await, app.key(Mode::Live, &["*"]).await);
    let (token, _) = app.currencies(&test).await;
    let product = text(&app.post(&test, "/api/products", json!({"name": "Keeper"})).await["id"]);
    // A key is restricted to its mode, regardless of the query.
    let path = format!("/api/products/{product}?livemode=false");
    assert_eq!(app.refused(&live, Verb::GET, &path, Value::Null).await.0, 404);
    assert_eq!(app.refused(&live, Verb::PUT, &path, json!({"name": "x"})).await.0, 404);
    assert_eq!(app.refused(&live, Verb::DELETE, &path, Value::Null).await.0, 404);
    assert_eq!(app.get(&live, "/api/products").await["count"], 0);
    let price = json!({"product_id": product, "currency_id": token, "unit_amount": "1"});
    let refused = app.refused(&live, Verb::POST, "/api/prices", price).await;
    assert_eq!(refused, (400, "product_id does not name a product of this mode".to_owned()));
    let nested = json!({"name": "Live", "prices": [{"currency_id": token, "unit_amount": "1"}]});
    let refused = app.refused(&live, Verb::POST, "/api/products", nested).await;
    assert_eq!(refused, (400, "currency_id does not name a currency of this mode".to_owned()));
    assert_eq!(app.get(&live, "/api/products").await["count"], 0, "a product whose prices are rejected is not created");
}

#[tokio::test]
async fn invalid_input_is_rejected_with_a_message() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let many: serde_json::Map<_, _> = (0..51).map(|n| (n.to_string(), json!("v"))).collect();
    for (body, error) in [
        (json!({}), "name is required"),
        (json!({"name": "  "}), "name is required"),
        (json!({"name": "a".repeat(201)}), "name may have at most 200 characters"),
        (json!({"name": "a\u{0}b"}), "name may not have control characters"),
        (json!({"name": "a", "metadata": many}), "metadata may have at most 50 entries"),
        (json!({"name": "a", "metadata": {"a": {"b": 1}}}), "metadata values must be strings, numbers or booleans"),
        (json!({"name": "a", "images": ["javascript:alert(1)"]}), "images must be an address that begins with http:// or https://"),
        (json!({"name": "a", "app_did": "nonsense"}), "app_did is not an address"),
        (json!({"name": "a", "default_price_id": "cs_1"}), "default_price_id is not the id of a price"),
    ] {
        assert_eq!(app.refused(&owner, Verb::POST, "/api/products", body).await, (400, error.to_owned()));
    }
    let (status, answer) = app.send(&owner, Verb::POST, "/api/products", "{".to_owned()).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().is_some_and(|error| error.starts_with("Sorry, request error")), "{answer}");
    assert_eq!(app.refused(&owner, Verb::GET, "/api/products/nonsense", Value::Null).await.0, 404);
    assert_eq!(app.refused(&owner, Verb::GET, "/api/products?starting_after=%00", Value::Null).await.0, 400);
    assert_eq!(app.get(&owner, "/api/products?q=%01%25&page=99999&pageSize=1000").await["count"], 0);
}
