//! `/api/customers/me`

use crate::app::TestApp;
use serde_json::json;

#[tokio::test]
async fn a_user_without_purchases_gets_their_profile_data() {
    let app = TestApp::open().await;
    app.browser().get("/api/customers/me").await.refused(401);
    let alice = app.sign_in("alice").await;
    let me = alice.browser.get("/api/customers/me?skipSummary=1&fallback=1").await.ok();
    assert_eq!((&me["name"], &me["email"]), (&"alice Example".into(), &"alice@example.com".into()));
    assert!(me.get("id").is_none());
    app.finish().await;
}

#[tokio::test]
async fn an_update_changes_only_the_sent_fields() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    alice.buy(&app, &app.shop.atlas).await;
    let changed = alice.browser.put("/api/customers/me", &json!({ "phone": "+1 415 555 2671" })).await.ok();
    assert_eq!((&changed["phone"], &changed["name"]), (&"+14155552671".into(), &"alice Example".into()));
    assert_eq!(changed["address"]["postal_code"], "94105", "the checkout's address stays");
    let refused = alice.browser.put("/api/customers/me", &json!({ "email": "nonsense" })).await.refused(400);
    assert_eq!(refused["fields"], json!({ "customer_email": { "error": "Invalid", "code": "INVALID" } }));
    assert_eq!(alice.browser.get("/api/session").await.ok()["user"]["phone"], "+14155552671");
    app.finish().await;
}

#[tokio::test]
async fn nothing_is_copied_to_a_space_because_no_user_has_one() {
    let app = TestApp::open().await;
    app.browser().post("/api/customers/sync-to-space", &json!({})).await.refused(401);
    let alice = app.sign_in("alice").await;
    assert_eq!(alice.browser.get("/api/session").await.ok()["user"].get("didSpace"), None);
    assert_eq!(alice.browser.post("/api/customers/sync-to-space", &json!({})).await.ok(), json!({ "success": false }));
    app.finish().await;
}
