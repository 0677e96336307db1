//! A session charges what it showed: locked and replaced prices, and the total that the payer expects.

use crate::app::plans::{SKT, no_stake, week};
use crate::app::{Buyer, Plans, TestApp, form};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::checkout::{SubscriptionTerms, expire_due};
use std::time::Duration;

/// A product with one price in tokens, and a link that sells it.
struct OnSale {
    owner: Buyer,
    product: String,
    price: String,
    link: String,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

impl OnSale {
    async fn put(app: &TestApp, price: Value) -> Self {
        let owner = app.owner().await;
        let mut fields = json!({ "currency_id": app.shop.token.as_str() });
        fields.as_object_mut().expect("an object").extend(price.as_object().expect("an object").clone());
        let product = owner.browser.post("/api/products", &json!({ "name": "Lantern", "prices": [fields] })).await.ok();
        let price = text(&product["prices"][0]["id"]);
        assert_eq!(product["prices"][0]["locked"], false, "nothing refers to it");
        let items = json!({ "line_items": [{ "price_id": price, "quantity": 1, "adjustable_quantity": { "enabled": true } }] });
        let link = text(&owner.browser.post("/api/payment-links", &items).await.ok()["id"]);
        Self { owner, product: text(&product["id"]), price, link }
    }

    async fn read(&self, price: &str) -> Value {
        self.owner.browser.get(&format!("/api/prices/{price}")).await.ok()
    }

    async fn edit(&self, fields: Value) -> crate::app::Answer {
        self.owner.browser.put(&format!("/api/prices/{}", self.price), &fields).await
    }

    /// Replaces the price and returns the new one.
    async fn replace(&self, price: &str, fields: Value) -> Value {
        self.owner.browser.post(&format!("/api/prices/{price}/replace"), &fields).await.ok()
    }
}

/// Submits for payment by wallet with the total that the page showed.
async fn submit(app: &TestApp, buyer: &Buyer, session: &str, total: u128) -> crate::app::Answer {
    let mut body = form(&app.shop, &buyer.name, false);
    body["expected_total"] = total.to_string().into();
    buyer.submit(session, &body).await
}

async fn adjust(buyer: &Buyer, session: &str, price: &str, quantity: u64) -> crate::app::Answer {
    let change = json!({ "itemId": price, "quantity": quantity });
    buyer.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await
}

async fn due(buyer: &Buyer, session: &str) -> u128 {
    let due = buyer.retrieve(session).await["checkoutSession"]["due"].clone();
    let units = |name: &str| text(&due[name]).parse::<u128>().expect("an amount");
    units("now") + units("stake")
}

#[tokio::test]
async fn a_shown_price_is_charged_although_its_owner_tries_to_edit_it() {
    let app = TestApp::open().await;
    let sale = OnSale::put(&app, json!({ "unit_amount": "10" })).await;
    assert_eq!(sale.read(&sale.price).await["locked"], true, "a link refers to it");
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&sale.link).await;
    assert_eq!(due(&alice, &session).await, 10 * SKT);
    let refused = sale.edit(json!({ "unit_amount": "90" })).await.refused(409);
    assert_eq!((&refused["code"], &refused["params"]["field"]), (&"PRICE_LOCKED".into(), &"unit_amount".into()), "{refused}");
    let dollars = json!([{ "currency_id": app.shop.dollar.as_str(), "unit_amount": "9.99" }]);
    sale.edit(json!({ "currency_options": dollars })).await.ok();
    let dearer = json!([{ "currency_id": app.shop.dollar.as_str(), "unit_amount": "19.99" }]);
    for (fields, field) in [
        (json!({ "currency_options": dearer }), "currency_options"),
        (json!({ "currency_options": [] }), "currency_options"),
        (json!({ "currency_id": app.shop.dollar.as_str(), "unit_amount": "10" }), "currency_id"),
        (json!({ "custom_unit_amount": { "preset": "1" }, "currency_options": [] }), "custom_unit_amount"),
    ] {
        let refused = sale.edit(fields).await.refused(409);
        assert_eq!((&refused["code"], &refused["params"]["field"]), (&"PRICE_LOCKED".into(), &field.into()), "{refused}");
    }
    let edited = sale.edit(json!({ "unit_amount": "10.0", "nickname": "Brass", "currency_options": dollars })).await.ok();
    assert_eq!((&edited["nickname"], &edited["unit_amount"]), (&"Brass".into(), &(10 * SKT).to_string().into()));
    let submitted = submit(&app, &alice, &session, 10 * SKT).await.ok();
    assert_eq!(submitted["paymentIntent"]["amount"], (10 * SKT).to_string());
    assert_eq!(alice.pay_by_wallet(&app, &session).await["status"], "ok");
    app.finish().await;
}

#[tokio::test]
async fn a_replaced_price_is_charged_in_open_sessions_and_the_new_one_in_new_sessions() {
    let app = TestApp::open().await;
    let sale = OnSale::put(&app, json!({ "unit_amount": "10", "lookup_key": "lantern", "nickname": "Brass" })).await;
    let (alice, bob, carol) = (app.sign_in("alice").await, app.sign_in("bob").await, app.sign_in("carol").await);
    let (kept, left) = (alice.start_link(&sale.link).await, carol.start_link(&sale.link).await);
    let replace = async || {
        let call = sale.owner.browser.call(Method::POST, "/api/prices/lantern/replace").header("idempotency-key", "k");
        call.json(&json!({ "unit_amount": "90" })).send().await
    };
    let new = replace().await.ok();
    let again = replace().await;
    assert_eq!((again.ok(), again.header("idempotent-replayed")), (new.clone(), Some("true")));
    assert_eq!(
        (&new["unit_amount"], &new["nickname"], &new["lookup_key"]),
        (&(90 * SKT).to_string().into(), &"Brass".into(), &"lantern".into())
    );
    assert_eq!((&new["locked"], &new["active"]), (&true.into(), &true.into()), "the link refers to it now");
    let old = sale.read(&sale.price).await;
    assert_eq!((&old["active"], &old["replaced_by"], old.get("lookup_key")), (&false.into(), &new["id"], None));
    let product = sale.owner.browser.get(&format!("/api/products/{}", sale.product)).await.ok();
    assert_eq!(product["default_price_id"], new["id"]);
    let link = sale.owner.browser.get(&format!("/api/payment-links/{}", sale.link)).await.ok();
    assert_eq!(link["line_items"][0]["price_id"], new["id"]);
    let refused =
        sale.owner.browser.post(&format!("/api/prices/{}/replace", sale.price), &json!({ "unit_amount": "1" })).await.refused(409);
    assert_eq!(refused["code"], "PRICE_ARCHIVED", "a repeated call replaces nothing");

    let session = bob.start_link(&sale.link).await;
    let refused = submit(&app, &bob, &session, 10 * SKT).await.refused(409);
    let params = json!({ "total": (90 * SKT).to_string(), "amount": "90 SKT" });
    assert_eq!((&refused["code"], &refused["params"]), (&"TOTAL_CHANGED".into(), &params), "{refused}");
    assert!(bob.retrieve(&session).await.get("paymentIntent").is_none(), "nothing was written");
    submit(&app, &bob, &session, 90 * SKT).await.ok();
    assert_eq!(bob.pay_by_wallet(&app, &session).await["status"], "ok");
    let submitted = submit(&app, &alice, &kept, 10 * SKT).await.ok();
    assert_eq!(submitted["paymentIntent"]["amount"], (10 * SKT).to_string());
    assert_eq!(alice.pay_by_wallet(&app, &kept).await["status"], "ok");

    sale.owner.browser.put(&format!("/api/prices/{}/archive", sale.price), &Value::Null).await.ok();
    let refused = submit(&app, &carol, &left, 10 * SKT).await.refused(400);
    assert_eq!(refused["code"], "NOT_CONFIGURED", "the owner withdrew the old price from open sessions as well");
    assert_eq!(app.breaches().await, Vec::<String>::new());
    app.finish().await;
}

#[tokio::test]
async fn a_replacement_must_have_the_currency_of_every_link_and_keeps_the_interval() {
    let app = TestApp::open().await;
    let sale = OnSale::put(&app, json!({ "unit_amount": "10" })).await;
    let path = format!("/api/prices/{}/replace", sale.price);
    let dollars = json!({ "currency_id": app.shop.dollar.as_str(), "unit_amount": "9.99" });
    assert_eq!(sale.owner.browser.post(&path, &dollars).await.refused(400)["code"], "LINK_CURRENCY_MISSING");
    let monthly = json!({ "recurring": { "interval": "month" } });
    assert_eq!(sale.owner.browser.post(&path, &monthly).await.refused(400)["code"], "RECURRING_FIXED");
    assert_eq!(sale.read(&sale.price).await["active"], true, "a refused replacement changes nothing");
    let alice = app.sign_in("alice").await;
    alice.browser.post(&path, &json!({ "unit_amount": "1" })).await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn an_upsell_is_locked_and_replaced_with_its_price() {
    let app = TestApp::open().await;
    let sale = OnSale::put(&app, json!({ "unit_amount": "10", "recurring": { "interval": "month" } })).await;
    let token = app.shop.token.as_str();
    let yearly = json!({ "product_id": sale.product, "currency_id": token, "unit_amount": "100", "recurring": { "interval": "year" } });
    let yearly = text(&sale.owner.browser.post("/api/prices", &yearly).await.ok()["id"]);
    assert_eq!(sale.read(&yearly).await["locked"], false);
    sale.edit(json!({ "upsell": { "upsells_to_id": yearly } })).await.ok();
    assert_eq!(sale.read(&yearly).await["locked"], true, "sessions with the monthly price offer it");
    let new = sale.replace(&yearly, json!({ "unit_amount": "90" })).await;
    assert_eq!((&new["locked"], &sale.read(&sale.price).await["upsell"]["upsells_to_id"]), (&true.into(), &new["id"]));
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&sale.link).await;
    let path = format!("/api/checkout-sessions/{session}/upsell");
    alice.browser.put(&path, &json!({ "from": sale.price, "to": yearly })).await.refused(400);
    let upsold = alice.browser.put(&path, &json!({ "from": sale.price, "to": new["id"] })).await.ok();
    assert_eq!(upsold["due"]["now"], (90 * SKT).to_string());
    let monthly = sale.replace(&sale.price, json!({ "unit_amount": "20" })).await;
    assert_eq!(monthly["upsell"]["upsells_to_id"], new["id"]);
    assert_eq!(app.breaches().await, Vec::<String>::new());
    app.finish().await;
}

#[tokio::test]
async fn a_cross_sell_is_locked_when_a_session_shows_it() {
    let app = TestApp::open().await;
    let sale = OnSale::put(&app, json!({ "unit_amount": "10" })).await;
    let price = json!({ "currency_id": app.shop.token.as_str(), "unit_amount": "3" });
    let oil = sale.owner.browser.post("/api/products", &json!({ "name": "Oil", "prices": [price] })).await.ok();
    let (product, price) = (text(&oil["id"]), text(&oil["prices"][0]["id"]));
    let offer = json!({ "cross_sell": { "cross_sells_to_id": product } });
    sale.owner.browser.put(&format!("/api/products/{}", sale.product), &offer).await.ok();
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&sale.link).await;
    let edit = async |amount: &str| sale.owner.browser.put(&format!("/api/prices/{price}"), &json!({ "unit_amount": amount })).await;
    edit("4").await.ok();
    let path = format!("/api/checkout-sessions/{session}/cross-sell");
    let shown = alice.browser.get(&path).await.ok();
    assert_eq!((&shown["unit_amount"], &shown["locked"]), (&(4 * SKT).to_string().into(), &true.into()));
    assert_eq!(edit("90").await.refused(409)["code"], "PRICE_LOCKED");
    let added = alice.browser.put(&path, &json!({ "to": price })).await.ok();
    assert_eq!(added["due"]["now"], (14 * SKT).to_string());
    app.finish().await;
}

#[tokio::test]
async fn the_bounds_of_a_locked_custom_amount_can_change_and_the_preset_cannot() {
    let app = TestApp::open().await;
    let custom = |preset: &str, maximum: &str| json!({ "custom_unit_amount": { "preset": preset, "presets": ["5", "7"], "minimum": "1", "maximum": maximum } });
    let sale = OnSale::put(&app, custom("5", "50")).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&sale.link).await;
    sale.edit(custom("5", "20")).await.ok();
    assert_eq!(sale.edit(custom("7", "20")).await.refused(409)["params"]["field"], "custom_unit_amount");
    assert_eq!(due(&alice, &session).await, 5 * SKT);
    let choose = async |amount: u128| {
        let body = json!({ "priceId": sale.price, "amount": (amount * SKT).to_string() });
        alice.browser.put(&format!("/api/checkout-sessions/{session}/amount"), &body).await
    };
    choose(21).await.refused(400);
    choose(9).await.ok();
    assert_eq!(submit(&app, &alice, &session, 5 * SKT).await.refused(409)["params"]["total"], (9 * SKT).to_string());
    assert_eq!(submit(&app, &alice, &session, 9 * SKT).await.ok()["paymentIntent"]["amount"], (9 * SKT).to_string());
    app.finish().await;
}

#[tokio::test]
async fn the_expected_total_is_what_the_session_shows_with_the_deposit() {
    let app = TestApp::open().await;
    let plans = Plans::put(&app).await;
    let trial = SubscriptionTerms { trial: week(), ..SubscriptionTerms::default() };
    let minimum = SubscriptionTerms { min_stake_amount: Some("25".to_owned()), ..no_stake() };
    let carts = [
        (vec![&plans.once], SubscriptionTerms::default(), 3),
        (vec![&plans.monthly], no_stake(), 10),
        (vec![&plans.monthly, &plans.once], SubscriptionTerms::default(), 10 + 3 + 10),
        (vec![&plans.monthly], trial, 10),
        (vec![&plans.metered], SubscriptionTerms::default(), 1),
        (vec![&plans.monthly], SubscriptionTerms { no_stake: false, ..minimum }, 10 + 25),
    ];
    for (number, (prices, terms, total)) in carts.into_iter().enumerate() {
        let buyer = app.sign_in(&format!("buyer{number}")).await;
        let session = buyer.start_link(&plans.link(&app, &prices, terms).await).await;
        assert_eq!(due(&buyer, &session).await, total * SKT, "cart {number}");
        let refused = submit(&app, &buyer, &session, total * SKT + 1).await.refused(409);
        assert_eq!(refused["params"]["total"], (total * SKT).to_string(), "cart {number}");
        submit(&app, &buyer, &session, total * SKT).await.ok();
    }
    let alice = app.sign_in("alice").await;
    let session = alice.start_link(&plans.plain(&app).await).await;
    let mut body = form(&app.shop, "alice", true);
    body["expected_total"] = "499".into();
    alice.submit(&session, &body).await.ok();
    body["expected_total"] = "4.99".into();
    let refused = alice.submit(&session, &body).await.refused(400);
    assert_eq!(refused["params"]["field"], "expected_total", "{refused}");
    app.finish().await;
}

on_both! {
    async fn sessions_of_an_old_and_a_new_price_sell_from_one_stock(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let sale = OnSale::put(&app, json!({ "unit_amount": "1", "quantity_available": 3 })).await;
        let (alice, bob, carol) = (app.sign_in("alice").await, app.sign_in("bob").await, app.sign_in("carol").await);
        let (held, late) = (alice.start_link(&sale.link).await, carol.start_link(&sale.link).await);
        adjust(&alice, &held, &sale.price, 2).await.ok();
        submit(&app, &alice, &held, 2 * SKT).await.ok();
        let new = sale.replace(&sale.price, json!({ "unit_amount": "5" })).await;
        assert_eq!((&new["quantity_available"], &new["quantity_sold"]), (&3.into(), &2.into()), "the sold count moves along");
        let price = text(&new["id"]);
        let session = bob.start_link(&sale.link).await;
        assert_eq!(adjust(&bob, &session, &price, 2).await.refused(400)["code"], "EXCEED_INVENTORY");
        assert_eq!(adjust(&carol, &late, &sale.price, 2).await.refused(400)["code"], "EXCEED_INVENTORY");
        submit(&app, &carol, &late, SKT).await.ok();
        assert_eq!(submit(&app, &bob, &session, 5 * SKT).await.refused(400)["code"], "EXCEED_INVENTORY", "the fourth of three");
        assert_eq!(carol.pay_by_wallet(&app, &late).await["status"], "ok", "a reservation of the old price becomes a sale");
        // The session that reserved two units expires, and the new price sells them.
        app.advance(Duration::from_secs(24 * 3_600 + 1));
        expire_due(&app.ctx, 10).await.expect("expires");
        assert_eq!(sale.read(&price).await["quantity_sold"], 1);
        let session = bob.start_link(&sale.link).await;
        adjust(&bob, &session, &price, 2).await.ok();
        submit(&app, &bob, &session, 10 * SKT).await.ok();
        assert_eq!(bob.pay_by_wallet(&app, &session).await["status"], "ok");
        for name in [&sale.price, &price] {
            assert_eq!(sale.read(name).await["quantity_sold"], 3, "{name}");
        }
        assert_eq!(app.breaches().await, Vec::<String>::new());
        app.finish().await;
    }
}
