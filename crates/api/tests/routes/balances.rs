//! `/api/customers/{id}/balance` and its transactions

use crate::app::{ACCEPTED, Buyer, TOKEN, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::{on_both, on_one};
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;
use std::time::Duration;

/// Credits a whole purchase to the balance and returns the customer's id.
async fn with_balance(app: &TestApp, buyer: &Buyer, owner: &Buyer) -> String {
    let session = buyer.buy(app, &app.shop.atlas).await;
    let found = buyer.retrieve(&session).await["checkoutSession"].clone();
    let order = json!({ "invoice_id": found["invoice_id"], "to": "balance" });
    owner.browser.post("/api/credit-notes", &order).await.ok();
    app.drain().await;
    found["customer_id"].as_str().expect("a customer").to_owned()
}

fn tokens(whole: u128) -> Value {
    json!((whole * TOKEN).to_string())
}

on_both! {
    async fn a_balance_is_listed_with_its_transactions_and_paid_out_to_the_wallet(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["count"], 0, "before the first purchase");
        assert_eq!(alice.browser.get("/api/customers/me/balance-transactions").await.ok()["count"], 0);
        let customer = with_balance(&app, &alice, &owner).await;
        let path = format!("/api/customers/{customer}/balance");
        for (who, path) in [(&alice, "/api/customers/me/balance"), (&alice, &*path), (&owner, &*path)] {
            let balance = who.browser.get(path).await.ok()["list"][0].clone();
            assert_eq!((&balance["amount"], &balance["currency"]["symbol"]), (&tokens(10), &json!("SKT")), "{path}");
        }
        assert!(alice.browser.get(&path).await.ok()["list"][0]["payout_limit"].is_null(), "for the store only");
        assert_eq!(owner.browser.get(&path).await.ok()["list"][0]["payout_limit"], tokens(10));

        let order = json!({ "currency_id": app.shop.token.as_str(), "amount": "4", "memo": "As you asked" });
        let paid = owner.browser.post(&format!("{path}/payout"), &order).await.ok();
        let refund = &paid["list"][0];
        assert_eq!((&paid["count"], &refund["type"], &refund["status"]), (&json!(1), &json!("balance_payout"), &json!("pending")));
        assert_eq!((&refund["amount"], &refund["description"]), (&tokens(4), &json!("As you asked")));
        app.drain().await;
        let refund = format!("/api/refunds/{}", refund["id"].as_str().expect("an id"));
        assert_eq!(alice.browser.get(&refund).await.ok()["status"], "succeeded");
        assert_eq!(app.networks.transfers_to(alice.wallet.did().as_str()).await.len(), 1);

        let transactions = alice.browser.get("/api/customers/me/balance-transactions").await.ok()["list"].clone();
        let transaction = |place: usize| {
            let one = &transactions[place];
            (one["type"].clone(), one["direction"].clone(), one["amount"].clone(), one["balance_after"].clone())
        };
        assert_eq!(transaction(0), (json!("payout"), json!("decrease"), tokens(4), tokens(6)));
        assert_eq!(transaction(1), (json!("credit_note"), json!("increase"), tokens(10), tokens(10)));
        assert!(transactions[1]["source"].as_str().is_some_and(|id| id.starts_with("cn_")), "{transactions}");
        let narrowed = format!("/api/customers/{customer}/balance-transactions?currency_id={}&pageSize=1", app.shop.token);
        let narrowed = owner.browser.get(&narrowed).await.ok();
        assert_eq!((&narrowed["count"], narrowed["list"].as_array().map(Vec::len)), (&json!(2), Some(1)));
        for slip in ["nonsense", app.shop.dollar.as_str()] {
            let path = format!("/api/customers/me/balance-transactions?currency_id={slip}");
            assert_eq!(alice.browser.get(&path).await.ok()["count"], 0, "{slip}");
        }
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

on_one! {
    async fn a_balance_is_visible_to_its_customer_and_paid_out_by_the_store_only(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, bob, owner) = (app.sign_in("alice").await, app.sign_in("bob").await, app.owner().await);
        let customer = with_balance(&app, &alice, &owner).await;
        let did = alice.wallet.did();
        for named in [customer.as_str(), did.as_str()] {
            for path in [format!("/api/customers/{named}/balance"), format!("/api/customers/{named}/balance-transactions")] {
                bob.browser.get(&path).await.refused(404);
                app.browser().get(&path).await.refused(401);
                assert_eq!(alice.browser.get(&path).await.ok()["count"], 1, "{path}");
            }
        }
        for path in ["/api/customers/me/balance", "/api/customers/me/balance-transactions"] {
            app.browser().get(path).await.refused(401);
            assert_eq!(bob.browser.get(path).await.ok()["count"], 0);
            assert_eq!(alice.browser.live().get(path).await.ok()["count"], 0, "the other mode has none");
        }
        let payout = format!("/api/customers/{customer}/balance/payout");
        let order = json!({ "currency_id": app.shop.token.as_str() });
        app.browser().post(&payout, &order).await.refused(401);
        alice.browser.post(&payout, &order).await.refused(403);
        bob.browser.post(&payout, &order).await.refused(403);
        owner.browser.live().post(&payout, &order).await.refused(404);
        owner.browser.post("/api/customers/cus_nobody/balance/payout", &order).await.refused(404);
        let post = async |scope: &str| {
            let scopes = vec![Scope::parse(scope).expect("a scope")];
            let key = NewKey { name: "script".to_owned(), mode: Mode::Test, scopes };
            let secret = create_key(&app.ctx, key).await.expect("is made").secret;
            let browser = app.browser();
            let call = browser.call(Method::POST, &payout).header("authorization", format!("Bearer {secret}"));
            call.json(&order).send().await.status
        };
        assert_eq!((post("customers:read").await, post("refunds:write").await), (403, 403));
        for (body, code) in [
            (json!({ "currency_id": app.shop.token.as_str(), "amount": "0" }), "NO_AMOUNT"),
            (json!({ "currency_id": app.shop.token.as_str(), "amount": "10.5" }), "BALANCE_TOO_SMALL"),
            (json!({ "currency_id": app.shop.token.as_str(), "amount": "ten" }), "AMOUNT_INVALID"),
            (json!({ "currency_id": app.shop.dollar.as_str() }), "BALANCE_TOO_SMALL"),
        ] {
            assert_eq!(owner.browser.post(&payout, &body).await.refused(400)["code"], code, "{body}");
        }
        owner.browser.post(&payout, &json!({ "currency_id": "pc_nobody" })).await.refused(404);
        assert_eq!(post("customers:write").await, 200);
        app.drain().await;
        assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["count"], 0);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_balance_from_a_card_is_paid_out_to_the_card() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    let found = alice.retrieve(&session).await["checkoutSession"].clone();
    app.drain().await;
    owner.browser.post("/api/credit-notes", &json!({ "invoice_id": found["invoice_id"], "amount": "3", "to": "balance" })).await.ok();
    let payout = format!("/api/customers/{}/balance/payout", found["customer_id"].as_str().expect("a customer"));
    let paid = owner.browser.post(&payout, &json!({ "currency_id": app.shop.dollar.as_str() })).await.ok();
    assert_eq!((&paid["list"][0]["amount"], &paid["list"][0]["payment_intent_id"]), (&json!("300"), &found["payment_intent_id"]));
    app.drain().await;
    assert_eq!(app.networks.card_refunds().await, 1);
    assert_eq!(app.breaches().await, [""; 0]);
    app.finish().await;
}
