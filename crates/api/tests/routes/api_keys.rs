//! `Authorization: Bearer souk_…`

use crate::app::{Answer, Terms, TestApp, WEEK};
use poem::http::Method;
use souk_adapters::on_one;
use souk_api::auth::{CreatedKey, NewKey, create_key};
use souk_domain::access::Scope;
use souk_domain::shared::Mode;

async fn key(app: &TestApp, mode: Mode, scope: &str) -> CreatedKey {
    let scopes = vec![Scope::parse(scope).expect("a scope")];
    create_key(&app.ctx, NewKey { name: "script".to_owned(), mode, scopes }).await.expect("is made")
}

async fn payments(app: &TestApp, authorization: &str) -> Answer {
    app.browser().call(Method::GET, "/api/payment-intents/all").header("authorization", authorization).send().await
}

#[tokio::test]
async fn a_key_can_read_only_resources_of_its_scope() {
    let app = TestApp::open().await;
    app.sign_in("alice").await.buy(&app, &app.shop.atlas).await;
    for scope in ["payment_intents:read", "payment_intents:write", "*"] {
        let secret = key(&app, Mode::Test, scope).await.secret;
        assert_eq!(payments(&app, &format!("Bearer {secret}")).await.ok()["count"], 1, "{scope}");
    }
    let secret = key(&app, Mode::Test, "products:write").await.secret;
    assert_eq!(payments(&app, &format!("Bearer {secret}")).await.refused(403)["code"], "forbidden");
    app.finish().await;
}

#[tokio::test]
async fn a_key_with_the_scope_reads_invoices_of_its_mode() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.buy(&app, &app.shop.atlas).await;
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an invoice").to_owned();
    let paths = [format!("/api/invoices/{invoice}"), format!("/api/invoices/{invoice}/pdf")];
    let (test, live) = (key(&app, Mode::Test, "invoices:read").await.secret, key(&app, Mode::Live, "invoices:read").await.secret);
    let other = key(&app, Mode::Test, "products:read").await.secret;
    let get = async |path: &str, secret: &str| {
        app.browser().call(Method::GET, path).header("authorization", format!("Bearer {secret}")).send().await
    };
    for path in &paths {
        assert_eq!(get(path, &test).await.status, 200, "{path}");
        get(path, &live).await.refused(404);
        get(path, &other).await.refused(403);
    }
    assert_eq!(get("/api/invoices", &test).await.ok()["count"], 1);
    assert_eq!(get("/api/invoices", &live).await.ok()["count"], 0);
    get("/api/invoices", &other).await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn a_key_is_restricted_to_its_own_mode() {
    let app = TestApp::open().await;
    app.sign_in("alice").await.buy(&app, &app.shop.atlas).await;
    let secret = key(&app, Mode::Live, "*").await.secret;
    assert!(secret.starts_with("souk_live_"));
    assert_eq!(payments(&app, &format!("Bearer {secret}")).await.ok()["count"], 0, "the call asks for test mode");
    app.finish().await;
}

#[tokio::test]
async fn an_invalid_or_revoked_key_is_rejected_even_with_a_valid_session() {
    let app = TestApp::open().await;
    let CreatedKey { key: made, secret } = key(&app, Mode::Test, "*").await;
    for authorization in ["Bearer souk_test_wrong", "Bearer nonsense", "Basic dXNlcjpwYXNz", "", &secret] {
        payments(&app, authorization).await.refused(401);
    }
    payments(&app, &format!("Bearer {secret}")).await.ok();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    assert!(unit.api_keys().revoke(&made.id, app.ctx.now()).await.expect("is revoked"));
    unit.commit().await.expect("commits");
    payments(&app, &format!("Bearer {secret}")).await.refused(401);
    let owner = app.owner().await;
    let call = owner.browser.call(Method::GET, "/api/payment-intents/all").header("authorization", format!("Bearer {secret}"));
    call.send().await.refused(401);
    app.finish().await;
}

#[tokio::test]
async fn only_admins_see_all_payments() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    alice.buy(&app, &app.shop.atlas).await;
    app.browser().get("/api/payment-intents/all").await.refused(401);
    alice.browser.get("/api/payment-intents/all").await.refused(403);
    assert_eq!(app.owner().await.browser.get("/api/payment-intents/all").await.ok()["count"], 1);
    app.finish().await;
}

#[tokio::test]
async fn the_secret_of_a_key_is_not_in_the_database() {
    let app = TestApp::open().await;
    let secret = key(&app, Mode::Test, "*").await.secret;
    payments(&app, &format!("Bearer {secret}")).await.ok();
    let mut unit = app.ctx.store.read().await.expect("reads");
    let listed = unit.api_keys().list().await.expect("lists");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].last_used_at, Some(app.ctx.now()));
    assert!(!format!("{listed:?}").contains(&secret));
    drop(unit);
    app.finish().await;
}

on_one! {
    async fn each_scope_grants_access_to_its_own_resource_only(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        app.advance_and_bill(WEEK).await;
        let subscription = alice.buyer.browser.get(&format!("/api/subscriptions/{}", alice.id)).await.ok();
        let item = subscription["items"][0]["id"].as_str().expect("an item").to_owned();
        let payment = alice.buyer.browser.get("/api/payment-intents").await.ok()["list"][0]["id"].as_str().expect("an id").to_owned();
        let did = alice.buyer.wallet.did();
        let opened = [
            ("subscriptions", format!("/api/subscriptions/{}", alice.id)),
            ("refunds", "/api/refunds".to_owned()),
            ("test_clocks", "/api/test-clocks".to_owned()),
            ("customers", "/api/customers".to_owned()),
            ("customers", format!("/api/customers/{}", alice.customer)),
            ("customers", format!("/api/customers/{did}")),
            ("customers", format!("/api/customers/{did}/overdue/invoices")),
            ("invoices", format!("/api/invoices?customer_id={did}")),
            ("payment_intents", "/api/payment-intents".to_owned()),
            ("payment_intents", format!("/api/payment-intents?customer_id={did}")),
            ("payment_intents", format!("/api/payment-intents/{payment}")),
            ("customers", "/api/customers/search?query=alice".to_owned()),
            ("invoices", "/api/invoices/search?query=month".to_owned()),
            ("payment_intents", "/api/payment-intents/search?query=month".to_owned()),
            ("subscriptions", "/api/subscriptions/search?query=month".to_owned()),
        ];
        let get = async |path: &str, secret: &str| {
            app.browser().call(Method::GET, path).header("authorization", format!("Bearer {secret}")).send().await
        };
        let other = key(&app, Mode::Test, "products:write").await.secret;
        for (scope, path) in &opened {
            let (own, live) = (key(&app, Mode::Test, &format!("{scope}:read")).await.secret, key(&app, Mode::Live, "*").await.secret);
            let seen = get(path, &own).await.ok();
            assert!(seen["count"].is_null() || seen["list"].is_array(), "{path}: {seen}");
            get(path, &other).await.refused(403);
            let beyond = get(path, &live).await;
            assert!(beyond.status != 200 || beyond.json()["count"] == 0, "{path}: a key of live mode sees test mode");
        }
        let counts =
            ["/api/customers", "/api/payment-intents", "/api/customers/search?query=ALICE", "/api/invoices/search?query=SOUK-TEST-000001"];
        for path in counts {
            assert_eq!(get(path, &key(&app, Mode::Test, "*").await.secret).await.ok()["count"], 1, "{path}");
        }
        let usage = format!("/api/usage-records?subscription_item_id={item}");
        get(&usage, &key(&app, Mode::Test, "usage_records:read").await.secret).await.refused(400);
        get(&usage, &other).await.refused(403);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_customer_cannot_see_other_customers_and_their_payments() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let bob = app.sign_in("bob").await;
    app.advance_and_bill(WEEK).await;
    let payment = alice.buyer.browser.get("/api/payment-intents").await.ok()["list"][0].clone();
    let path = format!("/api/payment-intents/{}", payment["id"].as_str().expect("an id"));
    assert_eq!(alice.buyer.browser.get(&path).await.ok()["amount_received"], payment["amount_received"]);
    bob.browser.get(&path).await.refused(404);
    app.browser().get(&path).await.refused(401);
    let named = format!("/api/payment-intents?customer_id={}", alice.buyer.wallet.did());
    assert_eq!(bob.browser.get(&named).await.ok()["count"], 0);
    assert_eq!(alice.buyer.browser.get(&named).await.ok()["count"], 1);
    bob.browser.get(&format!("/api/customers/{}", alice.buyer.wallet.did())).await.refused(404);
    bob.browser.get("/api/customers").await.refused(403);
    assert_eq!(alice.buyer.browser.get(&format!("/api/customers/{}", alice.customer)).await.ok()["id"], alice.customer.as_str());
    app.finish().await;
}
