//! `/api/payment-methods`

use super::app::{HOST, TestApp, text};
use poem::http::Method as Verb;
use serde_json::{Value, json};
use souk_domain::payment::MethodSettings;
use souk_domain::shared::{MethodId, Mode};

#[tokio::test]
async fn secrets_are_write_only() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let list = app.get(&owner, "/api/payment-methods").await;
    let methods = list.as_array().expect("a bare array");
    assert_eq!(methods.len(), 2);
    let card = methods.iter().find(|method| method["type"] == "stripe").expect("the card method");
    assert_eq!(card["settings"]["stripe"]["publishable_key"], "pk_1");
    assert_eq!(card["payment_currencies"][0]["symbol"], "USD");
    assert_eq!(card["default_currency_id"], card["payment_currencies"][0]["id"]);
    let path = format!("/api/payment-methods/{}", text(&card["id"]));
    let change = json!({"settings": {"stripe": {"publishable_key": "pk_2", "secret_key": ""}}, "name": "Cards"});
    let changed = app.put(&owner, &path, change).await;
    let settings = app.get(&owner, "/api/settings").await;
    for answer in [&list, &changed, &app.get(&owner, &path).await, &settings] {
        let shown = answer.to_string();
        assert!(!shown.contains("sk_secret") && !shown.contains("whsec_secret"), "{shown}");
    }
    let id = MethodId::parse(&text(&card["id"])).expect("an id");
    let stored = app.ctx.store.read().await.expect("reads").methods().find(&id).await.expect("reads").expect("exists");
    let MethodSettings::Stripe { publishable_key, secret_key, webhook_signing_secret, .. } = stored.settings else {
        panic!("a card method has card settings")
    };
    assert_eq!((publishable_key.as_str(), secret_key.reveal(), webhook_signing_secret.reveal()), ("pk_2", "sk_secret", "whsec_secret"));
}

#[tokio::test]
async fn settings_that_the_network_rejects_are_not_saved() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    let wrong = json!({"chain_id": "x", "api_host": "https://wrong.example/api/", "explorer_host": "https://wrong.example"});
    let body = json!({"type": "arcblock", "name": "Other", "settings": {"arcblock": wrong}});
    let refused = app.refused(&owner, Verb::POST, "/api/payment-methods", body).await;
    assert_eq!(refused, (400, "the method's settings don't match its network: nobody is there".to_owned()));
    let list = app.get(&owner, "/api/payment-methods").await;
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    let wallet = list.as_array().expect("an array").iter().find(|method| method["type"] == "arcblock").expect("the wallet method");
    let path = format!("/api/payment-methods/{}", text(&wallet["id"]));
    assert_eq!(app.refused(&owner, Verb::PUT, &path, json!({"settings": {"arcblock": wrong}})).await.0, 400);
    assert_eq!(app.get(&owner, &path).await["settings"]["arcblock"]["api_host"], HOST);
    assert_eq!(app.put(&owner, &path, json!({"active": false})).await["active"], false);
}

#[tokio::test]
async fn invalid_input_is_rejected_with_a_message() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let explorer = json!({"bitcoin": {"explorer_host": "https://a.example"}});
    for (body, error) in [
        (json!({"name": "a", "type": "paypal"}), "type must be one of arcblock, bitcoin, ethereum, base, stripe"),
        (json!({"name": "a", "type": "stripe", "settings": {"arcblock": {}}}), "settings.stripe is required"),
        (json!({"name": "a", "type": "arcblock", "settings": {"arcblock": {"chain_id": "x"}}}), "api_host is required"),
        (json!({"name": "a", "type": "bitcoin", "settings": explorer}), "Payments by bitcoin are not supported"),
    ] {
        assert_eq!(app.refused(&owner, Verb::POST, "/api/payment-methods", body).await, (400, error.to_owned()));
    }
    let live = app.key(Mode::Live, &["payment_methods:write"]).await;
    let sandbox = json!({"type": "arcblock", "name": "a", "settings": {"arcblock": {"chain_id": "x", "api_host": "/sandbox", "explorer_host": "/x"}}});
    let refused = app.refused(&live, Verb::POST, "/api/payment-methods", sandbox).await;
    assert_eq!(refused, (400, "api_host of this store's sandbox can be used in test mode only".to_owned()));
    assert_eq!(app.get(&live, "/api/payment-methods").await, Value::Array(Vec::new()));
}

/// A stored secret is sent only to its own network, and a payment in flight is queried at the network where it was started.
#[tokio::test]
async fn a_method_cannot_be_moved_to_another_network() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    app.currencies(&owner).await;
    for (kind, settings, field) in [
        ("stripe", json!({"stripe": {"api_host": "https://elsewhere.example"}}), "api_host"),
        ("arcblock", json!({"arcblock": {"chain_id": "another"}}), "chain_id"),
    ] {
        let list = app.get(&owner, "/api/payment-methods").await;
        let method = list.as_array().expect("an array").iter().find(|method| method["type"] == kind).expect("the method").clone();
        let path = format!("/api/payment-methods/{}", text(&method["id"]));
        let refused = app.refused(&owner, Verb::PUT, &path, json!({ "settings": settings })).await;
        assert_eq!(refused, (400, format!("The network of a method can't be changed. Create another method for another {field}.")));
        assert_eq!(app.get(&owner, &path).await["settings"], method["settings"]);
    }
}
