//! Malformed input: on both databases, every request gets a response that is not a server error.

use crate::app::{Connect, TestApp, form, wallet};
use poem::http::Method;
use serde_json::json;
use souk_adapters::on_both;

const VALUES: [&str; 12] = [
    "%00",
    "a%00b",
    "%F0%9F%92%A9",
    "%ff%fe",
    "%27%3B--",
    "%25%5F%5C",
    "-1",
    "4294967295",
    "99999999999999999999999999",
    "1e9",
    "NaN",
    "%E2%80%AE%F3%A0%81%81",
];

on_both! {
    async fn malformed_queries_and_paths_cause_no_server_error(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let owner = app.owner().await;
        let session = owner.buy(&app, &app.shop.atlas).await;
        let did = &app.shop.atlas.app;
        let invoice = owner.retrieve(&session).await["checkoutSession"]["invoice_id"].as_str().expect("an id").to_owned();
        let queries = [
            ("/api/apps", "keyword category price sort page pageSize"),
            (&*format!("/api/apps/{did}"), "version"),
            ("/api/invoices", "page pageSize status customer_id currency_id starting_after ignore_zero"),
            (&*format!("/api/invoices/{invoice}/pdf"), "locale"),
            ("/api/payment-intents", "page pageSize"),
            ("/api/payment-intents/all", "page pageSize"),
            ("/api/entitlements", "page pageSize"),
            ("/api/products", "q page pageSize starting_after active metadata.x"),
            ("/api/products/search", "query"),
            ("/api/customers/search", "query page pageSize"),
            ("/api/invoices/search", "query page pageSize"),
            ("/api/payment-intents/on-hold", "page pageSize limit starting_after"),
            ("/api/payment-intents/search", "query page pageSize"),
            ("/api/subscriptions/search", "query page pageSize"),
            ("/api/prices", "q product_id metadata.x"),
            ("/api/payment-links", "q metadata.x"),
            ("/api/checkout-sessions", "status metadata.x payment_link page"),
            ("/api/settings", "livemode locale"),
            ("/api/session", "locale"),
            ("/api/did/login/status", "_t_"),
            ("/api/did/login/auth", "_t_"),
            ("/api/did/login/timeout", "_t_"),
            ("/api/did/login/token", "checkoutSessionId locale x"),
            ("/.well-known/service/user", "did locale"),
            (&*format!("/.well-known/service/user/avatar/{did}"), "imageFilter w h updateAt"),
        ];
        for (path, names) in queries {
            for name in names.split(' ') {
                for value in VALUES {
                    let path = format!("{path}?{name}={value}");
                    let answer = owner.browser.get(&path).await;
                    assert!(answer.status < 500, "{path}: {} {}", answer.status, answer.text());
                }
            }
        }
        for path in [
            "/api/apps/{}", "/api/apps/{}/1.0.0/bundle", "/api/apps/{}/logo", "/api/apps/{}/screenshots/0", "/api/invoices/{}",
            "/api/invoices/{}/pdf", "/api/checkout-sessions/retrieve/{}", "/api/products/{}", "/api/prices/{}", "/api/payment-links/{}",
            "/api/payment-methods/{}", "/api/payment-currencies/{}", "/api/checkout-sessions/{}", "/.well-known/service/user/avatar/{}",
        ] {
            for value in VALUES {
                let path = path.replace("{}", value);
                let answer = owner.browser.get(&path).await;
                assert!(answer.status < 500, "{path}: {} {}", answer.status, answer.text());
            }
        }
        for value in VALUES {
            let path = format!("/api/apps/{did}/{value}/bundle");
            let answer = owner.browser.get(&path).await;
            assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
            let path = format!("/api/checkout-sessions/start/{value}");
            assert!(owner.browser.post(&path, &json!({})).await.status < 500, "{path}");
        }
        app.finish().await;
    }

    async fn malformed_forms_cause_no_server_error(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = alice.start(&app.shop.strict).await;
        let texts = ["\u{0}", "a\u{0}b", "\u{202e}x", "💩", "'; --", " ", "\u{feff}", "\u{10ffff}"];
        for text in texts {
            for field in ["customer_name", "customer_email", "customer_phone", "payment_method", "payment_currency"] {
                let mut filled = form(&app.shop, "alice", false);
                filled[field] = json!(text);
                let answer = alice.submit(&session, &filled).await;
                assert!(answer.status < 500, "{field} {text:?}: {}", answer.text());
            }
            for field in ["country", "state", "city", "line1", "line2", "postal_code"] {
                let mut filled = form(&app.shop, "alice", false);
                filled["customer_phone"] = json!("+14155552671");
                let address = &mut filled["billing_address"];
                *address = json!({ "country": "xx", "state": "a", "city": "b", "line1": "c", "line2": "d", "postal_code": "e" });
                address[field] = json!(text);
                let answer = alice.submit(&session, &filled).await;
                assert!(answer.status < 500, "{field} {text:?}: {}", answer.text());
            }
            let profile = json!({ "name": format!("A {text}"), "phone": text, "address": { "city": text, "country": text } });
            let answer = alice.browser.put("/api/customers/me", &profile).await;
            assert!(answer.status < 500, "{text:?}: {}", answer.text());
            let answer = alice.browser.post("/api/session/claim-owner", &json!({ "token": text })).await;
            assert!(answer.status < 500, "{text:?}: {}", answer.text());
            let change = json!({ "itemId": text, "quantity": 1 });
            let answer = alice.browser.put(&format!("/api/checkout-sessions/{session}/adjust-quantity"), &change).await;
            assert!(answer.status < 500, "{text:?}: {}", answer.text());
        }
        app.finish().await;
    }

    async fn a_wallet_with_a_malformed_profile_can_sign_in(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let mallory = wallet("mallory");
        for (index, claim) in [
            json!({ "type": "profile", "fullName": "a\u{0}b", "email": "\u{0}", "phone": { "phoneNumber": "\u{0}1" } }),
            json!({ "type": "profile", "fullName": "x".repeat(10_000), "email": [], "phone": 5 }),
            json!({ "type": "profile", "phone": { "country": "us" } }),
            json!(["nonsense"]),
            json!({}),
        ].into_iter().enumerate() {
            let connect = Connect::begin(&app, &app.browser(), "login", "&a=%01&b=%ff").await;
            let asked = connect.scan().await;
            let asked = connect.answer(&mallory, &asked, json!([])).await;
            let answer = connect.post(&connect.signed(&mallory, &asked, "responseAuth", json!([claim]))).await;
            assert_eq!(answer.status, 200, "{index}: {}", answer.text());
        }
        app.finish().await;
    }
}

#[tokio::test]
async fn non_text_headers_are_ignored() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let odd = "caf\u{e9}";
    for name in ["authorization", "cookie", "idempotency-key", "if-none-match", "origin", "x-blocklet-visitor-id", "content-length"] {
        let call = browser.call(Method::POST, &format!("/api/checkout-sessions/start/{}", app.shop.atlas.link));
        let answer = call.header(name, odd).json(&json!({})).send().await;
        assert!(answer.status < 500, "{name}: {}", answer.text());
    }
    app.finish().await;
}
