//! Intervals, tiers, custom amounts, upsells and cross-sells in `/api/prices` and `/api/products`.

use super::app::{TestApp, Who, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};

/// The input of a price of the product, with these fields.
fn of(product: &str, fields: &Value) -> Value {
    let mut body = json!({"product_id": product, "unit_amount": "10"});
    body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    body
}

async fn keeper(app: &TestApp, owner: &Who) -> String {
    text(&app.post(owner, "/api/products", json!({"name": "Keeper"})).await["id"])
}

#[tokio::test]
async fn a_recurring_price_is_returned_with_its_interval() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let product = keeper(&app, &owner).await;
    let month = app.post(&owner, "/api/prices", of(&product, &json!({"recurring": {"interval": "month"}}))).await;
    assert_eq!((&month["type"], &month["billing_scheme"]), (&json!("recurring"), &json!("per_unit")));
    let expected = json!({"interval": "month", "interval_count": 1, "usage_type": "licensed", "anchoring": "fixed"});
    assert_eq!(month["recurring"], expected);
    let metered =
        json!({"interval": "hour", "interval_count": 6, "usage_type": "metered", "aggregate_usage": "max", "anchoring": "calendar"});
    let hours = app.post(&owner, "/api/prices", of(&product, &json!({"type": "recurring", "recurring": metered}))).await;
    assert_eq!(hours["recurring"], metered);
    assert_eq!(app.get(&owner, &format!("/api/prices/{}", text(&hours["id"]))).await, hours);
    let once = app.post(&owner, "/api/prices", of(&product, &json!({"type": "one_time", "recurring": null}))).await;
    assert_eq!((&once["type"], once.get("recurring")), (&json!("one_time"), None));
}

#[tokio::test]
async fn invalid_intervals_are_rejected_by_name() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let product = keeper(&app, &owner).await;
    let unsupported = "Unsupported recurring interval";
    for (fields, error) in [
        (json!({"recurring": {"interval": "minute"}}), unsupported),
        (json!({"recurring": {"interval": "month", "interval_count": 0}}), unsupported),
        (json!({"recurring": {"interval": "year", "interval_count": 6}}), unsupported),
        (json!({"recurring": {"interval": "Month"}}), unsupported),
        (json!({"type": "recurring"}), "recurring is required"),
        (json!({"type": "one_time", "recurring": {"interval": "month"}}), "recurring is not for prices of type one_time"),
        (json!({"type": "weekly"}), "type must be one_time or recurring"),
        (json!({"recurring": {"interval": "month", "usage_type": "guessed"}}), "usage_type must be licensed or metered"),
        (
            json!({"recurring": {"interval": "month", "usage_type": "metered", "aggregate_usage": "last_ever"}}),
            "aggregate_usage must be sum, last_during_period or max",
        ),
        (json!({"recurring": {"interval": "month", "anchoring": "lunar"}}), "anchoring must be fixed or calendar"),
    ] {
        assert_eq!(app.refused(&owner, Verb::POST, "/api/prices", of(&product, &fields)).await, (400, error.to_owned()), "{fields}");
    }
    let made = app.post(&owner, "/api/prices", of(&product, &json!({"recurring": {"interval": "month"}}))).await;
    let path = format!("/api/prices/{}", text(&made["id"]));
    let refused = app.refused(&owner, Verb::PUT, &path, json!({"recurring": {"interval": "year"}})).await;
    assert_eq!(refused, (400, "recurring can't be changed; create another price".to_owned()));
    let same = app.put(&owner, &path, json!({"recurring": {"interval": "month"}, "type": "recurring", "unit_amount": "11"})).await;
    assert_eq!(same["unit_amount"], "11000000000000000000");
}

#[tokio::test]
async fn tiers_are_read_exactly_in_each_currency_and_can_be_removed() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (_, dollar) = app.currencies(&owner).await;
    let product = keeper(&app, &owner).await;
    let body = format!(
        r#"{{"product_id": "{product}", "billing_scheme": "tiered", "tiers_mode": "graduated", "recurring": {{"interval": "month"}},
            "tiers": [{{"up_to": 5, "unit_amount": "0.1", "flat_amount": 98765432109876543.210987}}, {{"up_to": null, "unit_amount": 0.05}}],
            "currency_options": [{{"currency_id": "{dollar}", "tiers": [{{"unit_amount": "1.5"}}]}}]}}"#
    );
    let (status, made) = app.send(&owner, Verb::POST, "/api/prices", body).await;
    assert_eq!(status, 200, "{made}");
    let tiers = json!([
        {"up_to": 5, "unit_amount": "100000000000000000", "flat_amount": "98765432109876543210987000000000000"},
        {"unit_amount": "50000000000000000", "flat_amount": "0"},
    ]);
    assert_eq!((&made["billing_scheme"], &made["tiers_mode"], &made["tiers"]), (&json!("tiered"), &json!("graduated"), &tiers));
    let option = json!([{"currency_id": dollar, "unit_amount": "0", "tiers": [{"unit_amount": "150", "flat_amount": "0"}]}]);
    assert_eq!(made["currency_options"], option);
    let path = format!("/api/prices/{}", text(&made["id"]));
    let refused = app.refused(&owner, Verb::PUT, &path, json!({"tiers": [], "unit_amount": "1"})).await;
    assert_eq!(refused, (400, "tiers_mode is required".to_owned()));
    let plain = json!({"tiers": [], "unit_amount": "1", "currency_options": [{"currency_id": dollar, "unit_amount": 2}]});
    let plain = app.put(&owner, &path, plain).await;
    assert_eq!((&plain["billing_scheme"], plain.get("tiers"), plain.get("tiers_mode")), (&json!("per_unit"), None, None));
}

#[tokio::test]
async fn invalid_prices_are_rejected_with_a_message() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (_, dollar) = app.currencies(&owner).await;
    let product = keeper(&app, &owner).await;
    let month = json!({"interval": "month"});
    let open = json!([{"unit_amount": "1"}]);
    let metered = json!({"interval": "month", "usage_type": "metered"});
    let order = "up_to must increase from tier to tier, and only the last tier has none";
    for (fields, error) in [
        (json!({"recurring": month, "tiers": open}), "tiers_mode is required"),
        (json!({"recurring": month, "tiers_mode": "volume"}), "tiers are required"),
        (json!({"recurring": month, "tiers_mode": "stairs", "tiers": open}), "tiers_mode must be graduated or volume"),
        (json!({"recurring": month, "tiers_mode": "volume", "tiers": [{"up_to": 5}]}), order),
        (json!({"recurring": month, "tiers_mode": "volume", "tiers": [{"up_to": 5}, {"up_to": 5}, {}]}), order),
        (json!({"tiers_mode": "volume", "tiers": open}), "tiers are for recurring prices without custom_unit_amount"),
        (
            json!({"recurring": month, "tiers_mode": "volume", "tiers": open, "currency_options": [{"currency_id": dollar, "unit_amount": 1}]}),
            "tiers are required",
        ),
        (json!({"billing_scheme": "tiered"}), "tiers are required"),
        (json!({"billing_scheme": "per_unit", "tiers": open}), "billing_scheme must be tiered"),
        (
            json!({"recurring": month, "tiers_mode": "volume", "tiers": [{"unit_amount": "0.0000001"}]}),
            "unit_amount is not valid: amount has more than 6 decimals",
        ),
        (
            json!({"custom_unit_amount": {"minimum": 5, "maximum": 1}}),
            "custom_unit_amount must propose amounts between its minimum and its maximum",
        ),
        (
            json!({"custom_unit_amount": {"preset": "0.5", "minimum": 1}}),
            "custom_unit_amount must propose amounts between its minimum and its maximum",
        ),
        (json!({"recurring": metered, "custom_unit_amount": {"preset": 1}}), "custom_unit_amount is for prices that are paid once"),
        (
            json!({"recurring": {"interval": "month"}, "custom_unit_amount": {"preset": 1}}),
            "custom_unit_amount is for prices that are paid once",
        ),
        (
            json!({"custom_unit_amount": {"preset": 1}, "currency_options": [{"currency_id": dollar, "unit_amount": 1}]}),
            "custom_unit_amount is required",
        ),
    ] {
        assert_eq!(app.refused(&owner, Verb::POST, "/api/prices", of(&product, &fields)).await, (400, error.to_owned()), "{fields}");
    }
    let nothing = app.refused(&owner, Verb::POST, "/api/prices", json!({"product_id": product, "recurring": month})).await;
    assert_eq!(nothing, (400, "unit_amount is required".to_owned()));
}

#[tokio::test]
async fn a_custom_amount_has_presets_and_limits() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (_, dollar) = app.currencies(&owner).await;
    let body = json!({
        "custom_unit_amount": {"presets": ["1", 5, "10"], "preset": 5, "minimum": 0.01, "maximum": "100"},
        "currency_options": [{"currency_id": dollar, "custom_unit_amount": {"presets": [2.5]}}],
    });
    let id = app.price(&owner, body).await;
    let read = app.get(&owner, &format!("/api/prices/{id}")).await;
    let whole = |tokens: u32| format!("{tokens}000000000000000000");
    let expected =
        json!({"preset": whole(5), "presets": [whole(1), whole(5), whole(10)], "minimum": "10000000000000000", "maximum": whole(100)});
    assert_eq!(read["custom_unit_amount"], expected);
    assert_eq!(read["currency_options"][0]["custom_unit_amount"], json!({"presets": ["250"]}));
}

#[tokio::test]
async fn an_upsell_is_a_longer_price_of_the_same_product() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let product = keeper(&app, &owner).await;
    let make = async |fields: Value| text(&app.post(&owner, "/api/prices", of(&product, &fields)).await["id"]);
    let month = make(json!({"recurring": {"interval": "month"}})).await;
    let year = make(json!({"recurring": {"interval": "year"}})).await;
    let once = make(json!({})).await;
    let other = app.price(&owner, json!({"unit_amount": 1, "recurring": {"interval": "year"}})).await;
    let path = format!("/api/prices/{month}");
    let error = "upsells_to_id must name a recurring price of this product with a longer interval";
    for target in [&month, &once, &other, &"price_none".to_owned()] {
        let refused = app.refused(&owner, Verb::PUT, &path, json!({"upsell": {"upsells_to_id": target}})).await;
        assert_eq!(refused, (400, error.to_owned()), "{target}");
    }
    let back = json!({"upsell": {"upsells_to_id": month}});
    assert_eq!(app.refused(&owner, Verb::PUT, &format!("/api/prices/{year}"), back).await, (400, error.to_owned()));
    let refused = app.refused(&owner, Verb::PUT, &path, json!({"upsell": {"upsells_to_id": "prod_1"}})).await;
    assert_eq!(refused, (400, "upsells_to_id is not the id of a price".to_owned()));

    let updated = app.put(&owner, &path, json!({"upsell": {"upsells_to_id": year}})).await;
    assert_eq!(
        (&updated["upsell"]["upsells_to_id"], &updated["upsell"]["upsells_to"]["recurring"]["interval"]),
        (&json!(year), &json!("year"))
    );
    let in_use = app.refused(&owner, Verb::DELETE, &format!("/api/prices/{year}"), Value::Null).await;
    assert_eq!(in_use, (409, "It is in use and can only be archived".to_owned()));
    let cleared = app.put(&owner, &path, json!({"upsell": {"upsells_to_id": ""}})).await;
    assert_eq!(cleared.get("upsell"), None);
}

#[tokio::test]
async fn a_cross_sell_is_another_product_of_the_mode() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let (one, two) = (keeper(&app, &owner).await, keeper(&app, &owner).await);
    let path = format!("/api/products/{one}");
    for target in [one.as_str(), "prod_none"] {
        let refused = app.refused(&owner, Verb::PUT, &path, json!({"cross_sell": {"cross_sells_to_id": target}})).await;
        assert_eq!(refused, (400, "cross_sells_to_id must name another product of this mode".to_owned()));
    }
    let refused = app.refused(&owner, Verb::PUT, &path, json!({"cross_sell": {"cross_sells_to_id": "price_1"}})).await;
    assert_eq!(refused, (400, "cross_sells_to_id is not the id of a product".to_owned()));
    let updated = app.put(&owner, &path, json!({"cross_sell": {"cross_sells_to_id": two}})).await;
    assert_eq!(updated["cross_sell"], json!({"cross_sells_to_id": two}));
    assert_eq!(app.get(&owner, &path).await["cross_sell"], updated["cross_sell"]);
    assert_eq!(app.refused(&owner, Verb::DELETE, &format!("/api/products/{two}"), Value::Null).await.0, 409);
    assert_eq!(app.put(&owner, &path, json!({"cross_sell": {"cross_sells_to_id": ""}})).await.get("cross_sell"), None);
}
