//! The middleware of all requests.

use crate::app::{Answer, Browser, Plans, Terms, TestApp, form, page_tokens};
use poem::http::Method;
use serde_json::json;

#[tokio::test]
async fn every_path_works_under_the_mount_prefix() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let path = format!("/payment/api/checkout-sessions/start/{}", app.shop.atlas.link);
    let session = alice.browser.post(&path, &json!({})).await.ok()["checkoutSession"]["id"].as_str().expect("an id").to_owned();
    let submit = format!("/payment/api/checkout-sessions/{session}/submit");
    alice.browser.put(&submit, &form(&app.shop, "alice", false)).await.ok();
    alice.browser.get("/payment/api/settings").await.ok();
    alice.browser.get("/payments/api/settings").await;
    assert_eq!(alice.browser.get("/paymentapi/settings").await.status, 404);
    app.finish().await;
}

#[tokio::test]
async fn oversized_bodies_are_rejected_by_length_and_while_streaming() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let path = format!("/api/checkout-sessions/{session}/submit");
    let mut filled = form(&app.shop, "alice", false);
    filled["customer_name"] = json!("x".repeat(1 << 20));
    let body = filled.to_string().into_bytes();
    let announced = alice.browser.call(Method::PUT, &path).header("content-length", body.len().to_string());
    announced.body("application/json", body.clone()).send().await.refused(413);
    alice.browser.call(Method::PUT, &path).body("application/json", body.clone()).send().await.refused(413);
    let with_key = alice.browser.call(Method::PUT, &path).header("idempotency-key", "k1");
    with_key.body("application/json", body).send().await.refused(413);
    app.finish().await;
}

#[tokio::test]
async fn malformed_json_is_a_bad_request_in_the_error_format() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let path = format!("/api/checkout-sessions/{session}/submit");
    for body in ["", "{", "[]", "null", "{\"payment_method\": 5}", "{\"payment_method\":\"pm_1\"}", "\u{0}"] {
        let refused = alice.browser.call(Method::PUT, &path).body("application/json", body.as_bytes().to_vec()).send().await.refused(400);
        assert!(refused["error"].as_str().is_some_and(|error| error.starts_with("Sorry, request error")), "{refused}");
        assert_eq!(refused["code"], "BAD_REQUEST", "{refused}");
    }
    let other = alice.browser.call(Method::PUT, &path).body("text/plain", b"hello".to_vec()).send().await;
    assert!(matches!(other.status, 400 | 415), "{}", other.status);
    assert!(other.json()["error"].is_string());
    app.finish().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_use_the_error_format() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let unknown = browser.get("/api/nonsense").await.refused(404);
    assert_eq!(unknown["error"], "Sorry, the page you visited does not exist.");
    assert_eq!(unknown["code"], "NOT_FOUND");
    let answer = browser.call(Method::DELETE, "/api/settings").send().await;
    assert_eq!(answer.status, 405);
    assert!(answer.json()["error"].is_string());
    app.finish().await;
}

#[tokio::test]
async fn cross_site_writes_with_the_login_cookie_are_forbidden() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let path = "/api/session/logout";
    for origin in ["https://evil.example", "http://souk.example", "https://souk.example.evil.example", "https://souk.example:444", "null"] {
        let answer = alice.browser.call(Method::POST, path).header("origin", origin).json(&json!({})).send().await;
        assert_eq!(answer.refused(403)["code"], "forbidden", "{origin}");
        let answer = alice.browser.call(Method::POST, &format!("/payment{path}")).header("origin", origin).json(&json!({})).send().await;
        assert_eq!(answer.status, 403, "{origin} under the prefix");
    }
    let read = alice.browser.call(Method::GET, "/api/session").header("origin", "https://evil.example").send().await;
    assert_eq!((read.ok()["user"].clone(), read.header("access-control-allow-origin")), (json!(null), None), "the cookie is ignored");
    let own = alice.browser.call(Method::POST, path).header("origin", "https://souk.example").json(&json!({})).send().await;
    assert_eq!(own.status, 204);
    app.finish().await;
}

/// The calls of payment-kit.md 1.2 with their bodies.
fn browser_calls(link: &str, session: &str) -> Vec<(Method, String, serde_json::Value)> {
    let of_session = |method, call: &str, body| (method, format!("/api/checkout-sessions/{session}/{call}"), body);
    let read = |path: &str| (Method::GET, path.to_owned(), json!(null));
    vec![
        (Method::POST, format!("/api/checkout-sessions/start/{link}"), json!({})),
        read(&format!("/api/checkout-sessions/retrieve/{session}")),
        of_session(Method::PUT, "submit", json!({ "customer_name": "Eve", "payment_method": "pm_1", "payment_currency": "pc_1" })),
        of_session(Method::POST, "fast-checkout-confirm", json!({})),
        of_session(Method::POST, "abort-stripe", json!({})),
        of_session(Method::PUT, "upsell", json!({ "from": "price_1", "to": "price_2" })),
        of_session(Method::PUT, "downsell", json!({ "from": "price_1" })),
        of_session(Method::GET, "cross-sell?skipError=true", json!(null)),
        of_session(Method::PUT, "cross-sell", json!({ "to": "price_1" })),
        of_session(Method::DELETE, "cross-sell", json!(null)),
        of_session(Method::PUT, "amount", json!({ "priceId": "price_1", "amount": "1" })),
        of_session(Method::PUT, "adjust-quantity", json!({ "itemId": "price_1", "quantity": 1 })),
        read("/api/settings"),
        read("/api/customers/me"),
        read("/api/customers/cus_1/overdue/invoices"),
        read("/api/subscriptions/sub_1"),
        read("/api/subscriptions/sub_1/overdue/invoices"),
        read("/api/subscriptions/sub_1/recover-info"),
        (Method::PUT, "/api/subscriptions/sub_1/recover".to_owned(), json!({})),
        read("/api/invoices"),
        (Method::POST, "/api/invoices/pay-stripe".to_owned(), json!({ "currency_id": "pc_1" })),
        read("/api/payment-intents"),
        read("/api/products/prod_1"),
    ]
}

#[tokio::test]
async fn the_calls_of_the_published_client_work_from_another_origin_without_cookies() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let cookies = ["login_token", "vid"].map(|name| alice.browser.cookie(name));
    for (method, path, body) in browser_calls(app.shop.atlas.link.as_str(), session.as_str()) {
        for prefix in ["", "/payment"] {
            let path = format!("{prefix}{path}");
            let preflight = alice.browser.call(Method::OPTIONS, &path).header("origin", "https://app.example");
            let preflight =
                preflight.header("access-control-request-method", method.as_str()).header("access-control-request-headers", "x-csrf-token");
            let preflight = preflight.send().await;
            assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("*")), "{method} {path}");
            assert_eq!(preflight.header("access-control-allow-headers"), Some("*"), "{method} {path}");
            let methods = preflight.header("access-control-allow-methods").expect("methods");
            assert!(methods.split(", ").any(|allowed| allowed == method.as_str()), "{method} {path}: {methods}");

            let call = alice.browser.call(method.clone(), &path).header("origin", "https://app.example");
            let call = if body.is_null() { call } else { call.json(&body) };
            let answer = call.send().await;
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{method} {path}");
            assert_eq!(answer.header("access-control-allow-credentials"), None, "{method} {path}");
            assert_eq!(answer.header("set-cookie"), None, "{method} {path}");
            // Nobody is signed in, so whatever belongs to a person requires a login.
            let is_personal = [
                "/submit",
                "/fast-checkout-confirm",
                "/abort-stripe",
                "/api/customers/",
                "/api/subscriptions/",
                "/api/invoices",
                "intents",
            ];
            if is_personal.iter().any(|part| path.contains(part)) {
                assert_eq!(answer.status, 401, "{method} {path}: {}", answer.text());
            }
        }
    }
    assert_eq!(["login_token", "vid"].map(|name| alice.browser.cookie(name)), cookies);
    app.finish().await;
}

/// A call of a page of another origin, whose browser has the cookies of `visitor`.
async fn from_elsewhere(visitor: &Browser, method: Method, path: &str, body: serde_json::Value) -> Answer {
    let call = visitor.call(method, path).header("origin", "https://app.example");
    if body.is_null() { call.send().await } else { call.json(&body).send().await }
}

#[tokio::test]
async fn an_anonymous_visitor_chooses_an_order_from_another_origin() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let plans = Plans::put(&app).await;
    let (monthly, yearly) = (plans.monthly.as_str(), plans.yearly.as_str());
    let own = alice.start_link(&plans.plain(&app).await).await;
    let start = async |link: &str| {
        let path = format!("/api/checkout-sessions/start/{link}");
        let started = from_elsewhere(&alice.browser, Method::POST, &path, json!({})).await.ok();
        format!("/api/checkout-sessions/{}", started["checkoutSession"]["id"].as_str().expect("an id"))
    };
    let put = async |path: String, body| from_elsewhere(&alice.browser, Method::PUT, &path, body).await.ok();
    let plan = start(&plans.plain(&app).await).await;
    assert!(!plan.ends_with(&own), "an anonymous visitor has a session of their own");
    let upsold = put(format!("{plan}/upsell"), json!({ "from": monthly, "to": yearly })).await;
    assert_eq!(upsold["line_items"][0]["upsell_price_id"], yearly);
    let back = put(format!("{plan}/downsell"), json!({ "from": yearly })).await;
    assert!(back["line_items"][0].get("upsell_price_id").is_none(), "{back}");
    let offered = from_elsewhere(&alice.browser, Method::GET, &format!("{plan}/cross-sell?skipError=true"), json!(null)).await.ok();
    assert!(offered["error"].is_string(), "nothing is sold with it: {offered}");

    let seats = start(&app.shop.seats.link).await;
    let adjusted = put(format!("{seats}/adjust-quantity"), json!({ "itemId": app.shop.seats.price, "quantity": 2 })).await;
    assert_eq!(adjusted["line_items"][0]["quantity"], 2);
    let read = seats.replace("/checkout-sessions/", "/checkout-sessions/retrieve/");
    let seen = from_elsewhere(&alice.browser, Method::GET, &read, json!(null)).await.ok();
    assert_eq!(seen["checkoutSession"]["line_items"][0]["quantity"], 2);
    app.finish().await;
}

#[tokio::test]
async fn the_cookies_of_a_visitor_do_not_open_their_order_to_another_origin() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.seats).await;
    alice.submit_for_wallet(&app, &session).await;
    let path = format!("/api/checkout-sessions/{session}/adjust-quantity");
    let change = json!({ "itemId": app.shop.seats.price, "quantity": 2 });
    let refused = from_elsewhere(&alice.browser, Method::PUT, &path, change.clone()).await;
    assert_eq!(refused.refused(403)["code"], "forbidden");
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"), "pages can read why");
    alice.browser.put(&path, &change).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn an_email_link_gives_access_from_another_origin() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let token = page_tokens().auth_token(alice.id.as_str(), app.ctx.now());
    let stranger = app.browser();
    let read = async |query: &str| {
        let path = format!("/api/subscriptions/{}/overdue/invoices?{query}", alice.id);
        stranger.call(Method::GET, &path).header("origin", "https://app.example").send().await
    };
    let seen = read(&format!("authToken={token}")).await;
    assert_eq!(seen.header("access-control-allow-origin"), Some("*"));
    assert_eq!(seen.ok()["subscription"]["id"], alice.id.as_str());
    let refused = read("authToken=forged").await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("*")), "pages can read the error as well");
    app.finish().await;
}

#[tokio::test]
async fn other_calls_stay_closed_to_other_origins() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    for (method, path) in [
        (Method::PUT, "/api/customers/me"),
        (Method::POST, "/api/refunds"),
        (Method::PUT, "/api/subscriptions/sub_1/cancel"),
        (Method::POST, "/api/settings"),
        (Method::GET, "/api/refunds"),
    ] {
        let preflight = alice.browser.call(Method::OPTIONS, path).header("origin", "https://app.example");
        let preflight = preflight.header("access-control-request-method", method.as_str()).send().await;
        assert_eq!(preflight.header("access-control-allow-origin"), None, "{method} {path}");
        let answer = alice.browser.call(method.clone(), path).header("origin", "https://app.example").json(&json!({})).send().await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {path}");
        if method != Method::GET {
            assert_eq!(answer.refused(403)["code"], "forbidden", "{method} {path}");
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn answers_are_not_stored_and_not_sniffed() {
    let app = TestApp::open().await;
    let answer = app.browser().get("/api/settings").await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    app.finish().await;
}

#[tokio::test]
async fn other_origins_can_read_public_data_only() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let request = async |method: Method, path: &str| browser.call(method, path).header("origin", "https://other.example").send().await;
    for path in ["/api/apps", "/api/categories", "/api/store", "/api/settings", "/api/apps/z1nobody"] {
        assert_eq!(request(Method::GET, path).await.header("access-control-allow-origin"), Some("*"), "{path}");
        let preflight = request(Method::OPTIONS, path).await;
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("*")), "{path}");
        assert_eq!(preflight.header("access-control-allow-credentials"), None);
    }
    for path in ["/api/session", "/api/refunds", "/api/appsandmore"] {
        assert_eq!(request(Method::GET, path).await.header("access-control-allow-origin"), None, "{path}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_running_store_reports_its_health() {
    let app = TestApp::open().await;
    assert_eq!(app.browser().get("/healthz").await.ok(), json!({ "status": "ok" }));
    assert_eq!(app.browser().get("/readyz").await.ok()["database"], "ok");
    app.finish().await;
}

#[tokio::test]
async fn browsers_are_told_to_keep_to_https_only_where_the_store_uses_it() {
    let secure = TestApp::open().await;
    for path in ["/healthz", "/api/store"] {
        assert_eq!(secure.browser().get(path).await.header("strict-transport-security"), Some("max-age=31536000"), "{path}");
    }
    secure.finish().await;
    let plain = TestApp::reached_at("http://127.0.0.1:8080/").await;
    assert_eq!(plain.browser().get("/healthz").await.header("strict-transport-security"), None);
    plain.finish().await;
}

#[tokio::test]
async fn pages_may_request_payments_and_passkeys_and_no_devices() {
    let app = TestApp::open().await;
    let answer = app.browser().get("/healthz").await;
    let policy = answer.header("permissions-policy").expect("a policy");
    for allowed in ["payment=(self \"https://js.stripe.com\")", "publickey-credentials-get=(self)", "publickey-credentials-create=(self)"] {
        assert!(policy.split(", ").any(|part| part == allowed), "{policy}");
    }
    for denied in ["camera=()", "microphone=()", "geolocation=()"] {
        assert!(policy.split(", ").any(|part| part == denied), "{policy}");
    }
    app.finish().await;
}
