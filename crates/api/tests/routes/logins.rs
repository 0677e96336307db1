//! `/api/session/logins`: the browsers in which a user is signed in.

use crate::app::{Browser, Connect, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use std::time::Duration;

const MINUTES: Duration = Duration::from_secs(11 * 60);

/// The devices and which of them is the caller's.
fn devices(list: &Value) -> Vec<(String, bool)> {
    let logins = list["list"].as_array().expect("a list").iter();
    logins.map(|login| (login["device"].as_str().expect("a device").to_owned(), login["current"] == json!(true))).collect()
}

async fn delete(browser: &Browser, path: &str) -> crate::app::Answer {
    browser.call(Method::DELETE, path).send().await
}

#[tokio::test]
async fn a_user_lists_logins_and_ends_one_or_all_others() {
    let app = TestApp::open().await;
    let laptop = app.sign_in("alice").await;
    let phone = Browser::new(app.service(), "phone").with_agent("Phone/1.0");
    Connect::begin(&app, &phone, "login", "").await.sign_in(&laptop.wallet, "alice").await;
    app.advance(MINUTES);
    laptop.browser.get("/api/session").await.ok();
    let listed = laptop.browser.get("/api/session/logins").await.ok();
    assert_eq!(devices(&listed), [(String::new(), true), ("Phone/1.0".to_owned(), false)], "the last used one comes first");
    assert!(listed["list"][0]["used_at"].as_str() > listed["list"][1]["used_at"].as_str());
    assert_eq!(devices(&phone.get("/api/session/logins").await.ok()), [(String::new(), false), ("Phone/1.0".to_owned(), true)]);

    let bob = app.sign_in("bob").await;
    let of_phone = format!("/api/session/logins/{}", listed["list"][1]["id"].as_str().expect("an id"));
    delete(&bob.browser, &of_phone).await.refused(404);
    assert_eq!(devices(&delete(&laptop.browser, &of_phone).await.ok()), [(String::new(), true)]);
    assert_eq!(phone.get("/api/session").await.ok()["user"], Value::Null, "it has ended");
    delete(&laptop.browser, &of_phone).await.refused(404);

    Connect::begin(&app, &phone, "login", "").await.sign_in(&laptop.wallet, "alice").await;
    assert_eq!(laptop.browser.get("/api/session/logins").await.ok()["count"], 2);
    assert_eq!(delete(&phone, "/api/session/logins").await.ok()["count"], 1);
    assert_eq!(laptop.browser.get("/api/session").await.ok()["user"], Value::Null);
    assert!(bob.browser.get("/api/session").await.ok()["user"].is_object(), "logins of others stay");
    app.browser().get("/api/session/logins").await.refused(401);
    app.finish().await;
}
