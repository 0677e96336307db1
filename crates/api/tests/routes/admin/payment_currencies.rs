//! `/api/payment-currencies`

use super::app::{TestApp, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};
use souk_domain::shared::Mode;

#[tokio::test]
async fn currencies_are_verified_created_changed_and_listed_as_a_bare_array() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (token, dollar) = app.currencies(&owner).await;
    let list = app.get(&owner, "/api/payment-currencies").await;
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    let read = app.get(&owner, &format!("/api/payment-currencies/{token}")).await;
    assert_eq!((&read["decimal"], &read["maximum_precision"], &read["is_base_currency"]), (&json!(18), &json!(6), &json!(true)));
    let changed = app
        .put(
            &owner,
            &format!("/api/payment-currencies/{dollar}"),
            json!({"is_base_currency": true, "decimal": 9, "name": "Dollar", "symbol": "USDT"}),
        )
        .await;
    assert_eq!((&changed["decimal"], &changed["maximum_precision"], &changed["contract"]), (&json!(2), &json!(2), &json!("usd")));
    assert_eq!((&changed["name"], &changed["is_base_currency"]), (&json!("Dollar"), &json!(true)));
    assert_eq!(changed["symbol"], "USDT", "nothing was ordered in it");
    assert_eq!(app.get(&owner, &format!("/api/payment-currencies/{token}")).await["is_base_currency"], false, "one base currency per mode");
    let method = text(&read["payment_method_id"]);
    let bad = json!({"payment_method_id": method, "symbol": "BAD", "contract": "bad"});
    assert_eq!(app.refused(&owner, Verb::POST, "/api/payment-currencies", bad).await.0, 400);
    let twice = json!({"payment_method_id": method, "symbol": "TBA", "contract": "z35token"});
    assert_eq!(app.refused(&owner, Verb::POST, "/api/payment-currencies", twice).await.0, 409);
    let fine = json!({"payment_method_id": method, "symbol": "X", "contract": "z35other", "decimal": 39});
    assert_eq!(app.refused(&owner, Verb::POST, "/api/payment-currencies", fine).await, (400, "decimal may be at most 38".to_owned()));
    let live = app.key(Mode::Live, &["*"]).await;
    assert_eq!(app.refused(&live, Verb::GET, &format!("/api/payment-currencies/{token}"), Value::Null).await.0, 404);
    let other = json!({"payment_method_id": method, "symbol": "X", "contract": "z35other"});
    let refused = app.refused(&live, Verb::POST, "/api/payment-currencies", other).await;
    assert_eq!(refused, (400, "payment_method_id does not name a payment method of this mode".to_owned()));
}
