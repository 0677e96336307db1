//! `/api/apps`: the catalogue, and downloads of bundles.

use crate::app::{TestApp, form};
use poem::http::Method;
use serde_json::json;
use souk_adapters::on_both;
use souk_domain::store::Availability;
use std::time::Duration;

#[tokio::test]
async fn a_paid_bundle_requires_a_purchase() {
    let app = TestApp::open().await;
    let path = app.shop.atlas.bundle_path();
    assert_eq!(app.browser().get(&path).await.refused(401)["code"], "PURCHASE_REQUIRED");
    let alice = app.sign_in("alice").await;
    assert_eq!(alice.browser.get(&path).await.refused(403)["code"], "PURCHASE_REQUIRED");
    alice.buy(&app, &app.shop.atlas).await;
    assert_eq!(alice.browser.get(&path).await.status, 200);
    let bob = app.sign_in("bob").await;
    bob.browser.get(&path).await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn a_purchase_in_test_mode_grants_nothing_in_live_mode() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    alice.buy(&app, &app.shop.atlas).await;
    let live = alice.browser.live();
    assert_eq!(live.get(&app.shop.atlas.bundle_path()).await.refused(403)["code"], "PURCHASE_REQUIRED");
    assert_eq!(live.get("/api/entitlements").await.ok()["count"], 0);
    assert_eq!(live.get("/api/invoices").await.ok()["count"], 0);
    assert_eq!(live.get("/api/settings").await.ok()["paymentMethods"], serde_json::json!([]));
    assert_eq!(live.get(&format!("/api/apps/{}", app.shop.atlas.app)).await.ok()["entitled"], false);
    app.finish().await;
}

#[tokio::test]
async fn a_free_bundle_needs_no_login_and_is_not_sent_again_if_unchanged() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let path = app.shop.notes.bundle_path();
    let first = browser.get(&path).await;
    assert_eq!((first.status, &first.bytes), (200, &app.shop.notes.bundle));
    let tag = first.header("etag").expect("a tag").to_owned();
    let again = browser.call(Method::GET, &path).header("if-none-match", tag.clone()).send().await;
    assert_eq!((again.status, again.bytes.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    let shown = browser.get(&format!("/api/apps/{}", app.shop.notes.app)).await.ok();
    assert_eq!((&shown["downloads"], &shown["downloads_month"]), (&1.into(), &1.into()), "a 304 is no download");
    app.finish().await;
}

#[tokio::test]
async fn a_network_counts_once_a_day() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let downloads = async || browser.get(&format!("/api/apps/{}", app.shop.notes.app)).await.ok()["downloads"].clone();
    for (address, total) in [("192.0.2.1:1", 1), ("192.0.2.1:2", 1), ("192.0.2.2:1", 2), ("[2001:db8::1]:1", 3), ("[2001:db8::2]:1", 3)] {
        assert_eq!(browser.connecting_from(address).get(&app.shop.notes.bundle_path()).await.status, 200);
        assert_eq!(downloads().await, total, "{address}");
    }
    app.advance(Duration::from_secs(86_400));
    browser.connecting_from("192.0.2.1:1").get(&app.shop.notes.bundle_path()).await;
    assert_eq!(downloads().await, 4, "the next day");
    app.finish().await;
}

#[tokio::test]
async fn a_head_request_does_not_count_as_a_download() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let looked = browser.call(Method::HEAD, &app.shop.notes.bundle_path()).send().await;
    assert_eq!((looked.status, looked.bytes.len()), (200, 0));
    assert_eq!(looked.header("content-length"), Some(app.shop.notes.bundle.len().to_string().as_str()));
    assert_eq!(browser.get(&format!("/api/apps/{}", app.shop.notes.app)).await.ok()["downloads"], 0);
    app.finish().await;
}

#[tokio::test]
async fn shelves_and_categories_list_the_apps() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let shelves = browser.get("/api/apps/shelves").await.ok();
    for shelf in ["new", "updated", "trending"] {
        assert_eq!(shelves[shelf].as_array().map(Vec::len), Some(6), "{shelf}");
    }
    let categories = browser.get("/api/categories").await.ok();
    assert_eq!((&categories["count"], &categories["list"][0]["app_count"]), (&1.into(), &6.into()));
    assert_eq!(categories["list"][0]["name"], serde_json::json!({ "en": "Tools", "zh": "工具" }));
    app.finish().await;
}

#[tokio::test]
async fn developer_pictures_can_neither_run_scripts_nor_load_resources() {
    let app = TestApp::open().await;
    let logo = app.browser().get(&format!("/api/apps/{}/logo", app.shop.notes.app)).await;
    assert_eq!((logo.status, logo.header("content-type")), (200, Some("image/svg+xml")));
    assert!(
        logo.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'") && policy.contains("sandbox"))
    );
    assert!(logo.header("cache-control").is_some_and(|value| value.contains("immutable")));
    app.finish().await;
}

#[tokio::test]
async fn apps_and_versions_that_do_not_exist_are_not_found() {
    let app = TestApp::open().await;
    let browser = app.browser();
    for path in [
        "/api/apps/nonsense".to_owned(),
        format!("/api/apps/{}", app.app_key.did()),
        format!("/api/apps/{}?version=9.9.9", app.shop.notes.app),
        format!("/api/apps/{}/9.9.9/bundle", app.shop.notes.app),
        format!("/api/apps/{}/..%2f..%2fetc/bundle", app.shop.notes.app),
        format!("/api/apps/{}/screenshots/0", app.shop.notes.app),
    ] {
        assert_eq!(browser.get(&path).await.refused(404)["error"], "Sorry, the page you visited does not exist.", "{path}");
    }
    app.finish().await;
}

on_both! {
    async fn download_counts_survive_concurrency(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let browser = app.browser();
        let path = app.shop.notes.bundle_path();
        let answers = futures_util::future::join_all((0..40).map(|_| browser.get(&path))).await;
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.bytes == app.shop.notes.bundle));
        assert_eq!(browser.get(&format!("/api/apps/{}", app.shop.notes.app)).await.ok()["downloads"], 40);
        app.finish().await;
    }
}

#[tokio::test]
async fn lists_are_searched_filtered_and_limited_to_a_page() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let names = async |query: &str| -> Vec<String> {
        let found = browser.get(&format!("/api/apps?{query}")).await.ok();
        found["list"].as_array().expect("a list").iter().map(|app| app["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names("keyword=tla").await, ["atlas"]);
    assert_eq!(names("keyword=atlas%20%E5%BA%94%E7%94%A8").await, ["atlas"], "in Chinese as well");
    assert_eq!(names("price=free").await, ["notes"]);
    assert_eq!(names("price=paid&sort=name").await, ["atlas", "crumb", "gift", "seats", "strict"]);
    assert_eq!(names("category=tools&sort=name&pageSize=2&page=2").await, ["gift", "notes"]);
    assert!(names("category=nonsense").await.is_empty());
    assert_eq!(names("sort=nonsense&price=nonsense&page=0&pageSize=100000").await.len(), 6);
    let paid = &browser.get("/api/apps?keyword=atlas").await.ok()["list"][0];
    assert_eq!(paid["payment_link_id"], app.shop.atlas.link.as_str());
    // The currencies are in the order of their ids, which are random here.
    let mut amounts: Vec<_> = paid["prices"].as_array().expect("prices").iter().map(|price| price["unit_amount"].as_str()).collect();
    amounts.sort();
    assert_eq!((amounts, &paid["entitled"]), (vec![Some("10000000000000000000"), Some("499")], &false.into()));
    app.finish().await;
}

#[tokio::test]
async fn a_blocked_app_is_neither_sold_nor_downloaded_and_its_buyers_still_see_it() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    alice.buy(&app, &app.shop.atlas).await;
    let open = bob.start(&app.shop.atlas).await;
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.apps().set_availability(&app.shop.atlas.app, Availability::Blocked).await.expect("is set");
    unit.commit().await.expect("commits");
    let start = format!("/api/checkout-sessions/start/{}", app.shop.atlas.link);
    // A second start within a moment is the same one.
    app.advance(Duration::from_secs(4));
    assert_eq!(bob.browser.post(&start, &json!({})).await.refused(409)["code"], "APP_UNAVAILABLE");
    let submit = bob.browser.put(&format!("/api/checkout-sessions/{open}/submit"), &form(&app.shop, "bob", false)).await;
    assert_eq!(submit.refused(409)["code"], "APP_UNAVAILABLE");
    let detail = format!("/api/apps/{}", app.shop.atlas.app);
    bob.browser.get(&detail).await.refused(404);
    let shown = alice.browser.get(&detail).await.ok();
    assert_eq!((&shown["availability"], &shown["entitled"]), (&json!("blocked"), &json!(false)));
    assert_eq!(alice.browser.get(&app.shop.atlas.bundle_path()).await.refused(403)["code"], "APP_BLOCKED");
    app.finish().await;
}
