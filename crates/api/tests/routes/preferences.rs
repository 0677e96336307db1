//! `/api/console/preferences`.

use crate::app::{Connect, TestApp};
use serde_json::{Value, json};
use souk_adapters::on_both;
use std::time::Duration;

const PATH: &str = "/api/console/preferences";
const HOUR: Duration = Duration::from_secs(3_600);

/// The preferences with other values.
fn with(preferences: &Value, changes: &Value) -> Value {
    let mut changed = preferences.clone();
    for (name, value) in changes.as_object().expect("an object") {
        changed[name] = value.clone();
    }
    changed
}

on_both! {
    async fn an_administrator_changes_the_preferences_and_the_log_names_each_change(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let owner = app.owner().await;
        let before = owner.browser.get(PATH).await.ok();
        let expected = json!({
            "permission_mode": "inviting", "review_required": false, "review_type": "EACH", "stake_currency": "ABT",
            "passport_stake_amount": "1", "passport_waiting_days": 7, "publish_stake_amount": "1", "publish_waiting_days": 30,
            "bundle_max_mb": 500, "logo_max_kb": 500, "logo_types": ["png", "jpg", "svg", "webp"], "image_max_mb": 5,
            "image_count_min": 3, "image_count_max": 5, "image_width_min": 600, "image_height_min": 338, "paid_apps_allowed": false,
            "price_min": "0.01", "price_max": "10000", "store_share": "0.3",
            "github_issuers": ["https://token.actions.githubusercontent.com"], "gitlab_issuers": ["https://gitlab.com"],
            "version": 0, "changed_at": null,
        });
        assert_eq!(before, expected);
        owner.browser.put(PATH, &before).await.ok();
        let changes = json!({
            "permission_mode": "staking", "stake_currency": "SKT", "bundle_max_mb": 100, "passport_stake_amount": "2.50",
            "logo_types": ["webp", "png"],
        });
        let changed = owner.browser.put(PATH, &with(&before, &changes)).await.ok();
        let stored = json!({ "version": 1, "passport_stake_amount": "2.5", "logo_types": ["png", "webp"], "changed_at": changed["changed_at"] });
        assert_eq!(changed, with(&with(&before, &changes), &stored));
        assert!(changed["changed_at"].is_string());
        assert_eq!(owner.browser.get(PATH).await.ok(), changed);
        let log = owner.browser.get("/api/audit-log?operation=preferences.update").await.ok();
        assert_eq!(log["count"], 1, "preferences without a difference leave no entry: {log}");
        assert_eq!(log["list"][0].get("livemode"), None, "they are those of both modes");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_change_of_preferences_that_someone_else_has_changed_is_refused() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let seen = owner.browser.get(PATH).await.ok();
    owner.browser.put(PATH, &with(&seen, &json!({ "review_required": true }))).await.ok();
    let refused = owner.browser.put(PATH, &with(&seen, &json!({ "bundle_max_mb": 9 }))).await.refused(409);
    assert_eq!(refused["code"], "PREFERENCES_CHANGED");
    let now = owner.browser.get(PATH).await.ok();
    assert_eq!((&now["review_required"], &now["bundle_max_mb"]), (&json!(true), &json!(500)));
    app.finish().await;
}

#[tokio::test]
async fn every_invalid_field_is_named_with_its_limits() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let before = owner.browser.get(PATH).await.ok();
    let changes = json!({ "bundle_max_mb": 0, "price_min": "20000", "store_share": "0.1234567", "stake_currency": " " });
    let refused = owner.browser.put(PATH, &with(&before, &changes)).await.refused(400);
    assert_eq!(refused["code"], "VALIDATION");
    let fields = &refused["fields"];
    assert_eq!(
        fields["bundle_max_mb"],
        json!({ "error": "bundle_max_mb must be between 1 and 2000", "code": "OUT_OF_RANGE", "params": { "min": "1", "max": "2000" } })
    );
    assert_eq!(fields["price_max"]["params"], json!({ "field": "price_min" }));
    assert_eq!((&fields["store_share"]["code"], &fields["stake_currency"]["code"]), (&json!("TOO_PRECISE"), &json!("REQUIRED")));
    for (field, value) in
        [("price_min", "1e3"), ("price_max", "-1"), ("store_share", "0,3"), ("review_type", "first"), ("permission_mode", "open")]
    {
        let refused = owner.browser.put(PATH, &with(&before, &json!({ field: value }))).await.refused(400);
        assert_eq!((&refused["code"], &refused["params"]["field"]), (&json!("INVALID"), &json!(field)));
    }
    assert_eq!(owner.browser.get(PATH).await.ok(), before);
    app.finish().await;
}

#[tokio::test]
async fn who_may_publish_and_stakes_change_only_after_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(HOUR / 4).await;
    let owner = app.owner().await;
    app.advance(HOUR);
    let before = owner.browser.get(PATH).await.ok();
    for changes in [
        json!({ "permission_mode": "staking" }),
        json!({ "review_required": true }),
        json!({ "review_type": "FIRST" }),
        json!({ "publish_waiting_days": 1 }),
        json!({ "store_share": "0" }),
    ] {
        let refused = owner.browser.put(PATH, &with(&before, &changes)).await.refused(403);
        assert_eq!(refused["code"], "SIGN_IN_AGAIN", "{changes}");
    }
    let harmless = owner.browser.put(PATH, &with(&before, &json!({ "image_max_mb": 6 }))).await.ok();
    Connect::begin(&app, &owner.browser, "login", "").await.sign_in(&owner.wallet, "owner").await;
    owner.browser.put(PATH, &with(&harmless, &json!({ "permission_mode": "staking", "stake_currency": "SKT" }))).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn developers_stake_only_in_a_currency_that_a_wallet_of_the_store_can_deposit() {
    let app = TestApp::open().await;
    let owner = app.owner().await;
    let before = owner.browser.get(PATH).await.ok();
    // There is no such currency, and one that is paid by cards.
    for changes in
        [json!({ "permission_mode": "staking", "stake_currency": "ABT" }), json!({ "permission_mode": "staking", "stake_currency": "USD" })]
    {
        let refused = owner.browser.put(PATH, &with(&before, &changes)).await.refused(400);
        assert_eq!(refused["fields"]["stake_currency"]["code"], "NO_DEPOSITS", "{changes}");
    }
    assert_eq!(owner.browser.get(PATH).await.ok(), before);
    owner.browser.put(PATH, &with(&before, &json!({ "stake_currency": "USD" }))).await.ok();
    app.finish().await;
}
