//! `/api/did/{action}` for pages of other origins, whose calls carry no cookie.

use crate::app::{Answer, Browser, Connect, Terms, TestApp, WEEK, page_tokens};
use poem::http::Method;
use serde_json::json;
use souk_adapters::on_both;

/// A call of a page of another origin, whose browser has cookies of the store.
async fn from_elsewhere(browser: &Browser, method: Method, path: &str) -> Answer {
    let answer = browser.call(method, path).header("origin", "https://app.example").send().await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
    assert_eq!(answer.header("access-control-allow-headers"), Some("*"), "{path}");
    assert_eq!((answer.header("access-control-allow-credentials"), answer.header("set-cookie")), (None, None), "{path}");
    answer
}

#[tokio::test]
async fn wallets_and_dialogs_of_other_origins_use_connect_sessions_without_cookies() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    for call in ["token", "status", "timeout", "auth", "auth/submit"] {
        for method in ["GET", "POST"] {
            let path = format!("/payment/api/did/login/{call}");
            let preflight = alice.browser.call(Method::OPTIONS, &path).header("origin", "https://app.example");
            let preflight = preflight.header("access-control-request-method", method).send().await;
            assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("*")), "{method} {call}");
        }
    }
    // The cookie is ignored, so the session belongs to no browser and to no user.
    let begun = from_elsewhere(&alice.browser, Method::POST, "/api/did/login/token").await.ok();
    assert_eq!(begun["extra"], json!({}), "{begun}");
    let token = begun["token"].as_str().expect("a token").to_owned();
    let refused = from_elsewhere(&alice.browser, Method::GET, "/api/did/payment/token").await;
    assert_eq!(refused.status, 401);
    let connect = Connect::found(&app, &alice.browser, "login", &token);
    connect.sign_in_elsewhere(&alice.wallet, "alice").await;
    let seen = from_elsewhere(&alice.browser, Method::GET, &format!("/api/did/login/status?_t_={token}")).await.ok();
    assert_eq!((&seen["status"], seen.get("did")), (&json!("succeed"), None), "{seen}");
    let own = app.browser();
    assert_eq!(connect.status_from(&own).await.ok()["status"], "succeed");
    assert_eq!(own.cookie("login_token"), None, "no browser receives the login");
    from_elsewhere(&alice.browser, Method::GET, &format!("/api/did/login/timeout?_t_={token}")).await.ok();
    assert_eq!(from_elsewhere(&alice.browser, Method::GET, &format!("/api/did/login/status?_t_={token}")).await.status, 400);
    let session = alice.browser.call(Method::GET, "/api/session").header("origin", "https://app.example").send().await;
    assert_eq!(session.header("access-control-allow-origin"), None);
    app.finish().await;
}

on_both! {
    async fn an_email_link_pays_overdue_invoices_from_another_origin(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
        app.advance_and_bill(WEEK).await;
        let auth_token = page_tokens().auth_token(alice.id.as_str(), app.ctx.now());
        let stranger = app.browser();
        let query = format!("subscriptionId={}&currencyId={}&authToken={auth_token}", alice.id, app.shop.token);
        let begun = from_elsewhere(&stranger, Method::GET, &format!("/api/did/collect-batch/token?{query}")).await.ok();
        let token = begun["token"].as_str().expect("a token").to_owned();
        let connect = Connect::found(&app, &stranger, "collect-batch", &token);
        let (done, _) = connect.sign_all(&alice.buyer.wallet).await;
        assert_eq!(done["status"], "ok", "{done}");
        let seen = from_elsewhere(&stranger, Method::GET, &format!("/api/did/collect-batch/status?_t_={token}")).await.ok();
        assert_eq!((&seen["status"], seen.get("did")), (&json!("succeed"), None), "{seen}");
        app.finish().await;
    }

    async fn an_email_link_undoes_a_cancellation_from_another_origin(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let alice = app.subscribe("alice", Terms::default()).await;
        let path = format!("/api/subscriptions/{}", alice.id);
        alice.buyer.browser.put(&format!("{path}/cancel"), &json!({ "at": "current_period_end" })).await.ok();
        let stranger = app.browser();
        let token = |subject: &str| page_tokens().auth_token(subject, app.ctx.now());
        for (method, call) in [(Method::GET, "recover-info"), (Method::PUT, "recover")] {
            let anonymous = from_elsewhere(&stranger, method.clone(), &format!("{path}/{call}")).await;
            let of_another = from_elsewhere(&stranger, method, &format!("{path}/{call}?authToken={}", token("sub_other"))).await;
            assert_eq!((anonymous.status, of_another.status), (401, 404), "{call}");
        }
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["cancel_at_period_end"], true);
        let own = token(alice.id.as_str());
        let info = from_elsewhere(&stranger, Method::GET, &format!("{path}/recover-info?authToken={own}")).await.ok();
        assert_eq!(info["needStake"], false, "{info}");
        from_elsewhere(&stranger, Method::PUT, &format!("{path}/recover?authToken={own}")).await.ok();
        assert_eq!(alice.buyer.browser.get(&path).await.ok()["cancel_at_period_end"], false);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_link_of_a_customer_shows_the_overdue_invoices_to_another_origin() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { limit: 1, ..Terms::default() }).await;
    app.advance_and_bill(WEEK).await;
    let customer = alice.buyer.browser.get("/api/customers/me").await.ok()["id"].as_str().expect("a customer").to_owned();
    let stranger = app.browser();
    for named in [customer.as_str(), alice.buyer.wallet.did().as_str()] {
        let path = format!("/api/customers/{named}/overdue/invoices");
        assert_eq!(from_elsewhere(&stranger, Method::GET, &path).await.status, 401);
        let of_another = page_tokens().auth_token("cus_other", app.ctx.now());
        assert_eq!(from_elsewhere(&stranger, Method::GET, &format!("{path}?authToken={of_another}")).await.status, 404);
        let own = page_tokens().auth_token(&customer, app.ctx.now());
        let overdue = from_elsewhere(&stranger, Method::GET, &format!("{path}?authToken={own}")).await.ok();
        assert_eq!(overdue["invoices"].as_array().map(Vec::len), Some(1), "{overdue}");
    }
    app.finish().await;
}
