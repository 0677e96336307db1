//! `Authorization: Bearer souk_…`

use crate::app::{Answer, TestApp};
use poem::http::Method;
use souk_api::auth::{NewKey, create_key};
use souk_domain::access::{ApiKey, Scope};
use souk_domain::shared::Mode;

async fn key(app: &TestApp, mode: Mode, scope: &str) -> (ApiKey, String) {
    let scopes = vec![Scope::parse(scope).expect("a scope")];
    create_key(&app.ctx, NewKey { name: "script".to_owned(), mode, scopes }).await.expect("is made")
}

async fn payments(app: &TestApp, authorization: &str) -> Answer {
    app.browser().call(Method::GET, "/api/payment-intents/all").header("authorization", authorization).send().await
}

#[tokio::test]
async fn a_key_reads_what_its_scope_names_and_nothing_else() {
    let app = TestApp::open().await;
    app.sign_in("alice").await.buy(&app, &app.shop.atlas).await;
    for scope in ["payment_intents:read", "payment_intents:write", "*"] {
        let secret = key(&app, Mode::Test, scope).await.1;
        assert_eq!(payments(&app, &format!("Bearer {secret}")).await.ok()["count"], 1, "{scope}");
    }
    let secret = key(&app, Mode::Test, "products:write").await.1;
    assert_eq!(payments(&app, &format!("Bearer {secret}")).await.refused(403)["code"], "forbidden");
    app.finish().await;
}

#[tokio::test]
async fn a_key_stays_in_its_own_mode_whatever_the_call_says() {
    let app = TestApp::open().await;
    app.sign_in("alice").await.buy(&app, &app.shop.atlas).await;
    let secret = key(&app, Mode::Live, "*").await.1;
    assert!(secret.starts_with("souk_live_"));
    assert_eq!(payments(&app, &format!("Bearer {secret}")).await.ok()["count"], 0, "the call asks for test mode");
    app.finish().await;
}

#[tokio::test]
async fn a_key_that_is_wrong_or_revoked_is_refused_even_beside_a_good_session() {
    let app = TestApp::open().await;
    let (made, secret) = key(&app, Mode::Test, "*").await;
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
async fn only_those_who_run_the_store_see_all_payments() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    alice.buy(&app, &app.shop.atlas).await;
    app.browser().get("/api/payment-intents/all").await.refused(401);
    alice.browser.get("/api/payment-intents/all").await.refused(403);
    assert_eq!(app.owner().await.browser.get("/api/payment-intents/all").await.ok()["count"], 1);
    app.finish().await;
}

#[tokio::test]
async fn a_keys_secret_is_not_in_the_database() {
    let app = TestApp::open().await;
    let secret = key(&app, Mode::Test, "*").await.1;
    payments(&app, &format!("Bearer {secret}")).await.ok();
    let mut unit = app.ctx.store.read().await.expect("reads");
    let listed = unit.api_keys().list().await.expect("lists");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].last_used_at, Some(app.ctx.now()));
    assert!(!format!("{listed:?}").contains(&secret));
    drop(unit);
    app.finish().await;
}
