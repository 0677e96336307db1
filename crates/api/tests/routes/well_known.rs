//! `/.well-known/service` and `/__blocklet__.js`

use crate::app::TestApp;
use poem::http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_user_has_an_avatar_and_a_profile_url() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let did = app.app_key.did();
    let picture = browser.get(&format!("/.well-known/service/user/avatar/{did}?imageFilter=resize&w=40&h=40")).await;
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/svg+xml")));
    assert!(picture.text().starts_with("<svg "));
    let user = browser.get(&format!("/.well-known/service/user?did={did}")).await;
    assert_eq!((user.status, user.header("location")), (303, Some(format!("/profile?did={did}").as_str())));
    let odd = browser.get("/.well-known/service/user?did=//evil.example").await;
    assert_eq!((odd.status, odd.header("location")), (404, None));
    assert_eq!(browser.get("/.well-known/service/user/avatar/nonsense").await.status, 404);
    app.finish().await;
}

#[tokio::test]
async fn the_link_of_a_user_leads_to_their_profile_in_the_language_that_it_names() {
    let app = TestApp::open().await;
    let did = app.app_key.did();
    // With a mode in the address, the test browser adds no language of its own.
    let open = async |rest: &str| app.browser().get(&format!("/.well-known/service/user?livemode=true&did={rest}")).await;
    for language in ["en", "zh"] {
        let answer = open(&format!("{did}&locale={language}")).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(format!("/profile?did={did}").as_str())));
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert_eq!(cookie, format!("nf_lang={language}; Path=/; SameSite=Lax; Max-Age=31536000; Secure"));
    }
    for ignored in ["", "&locale=", "&locale=fr", "&locale=ZH", "&locale=zh%3B%20Path%3D/x", "&locale=en%0d%0aset-cookie:a=b"] {
        let answer = open(&format!("{did}{ignored}")).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(format!("/profile?did={did}").as_str())), "{ignored}");
        assert_eq!(answer.header("set-cookie"), None, "{ignored}");
    }
    let unknown = open("nonsense&locale=zh").await;
    assert_eq!((unknown.status, unknown.header("location"), unknown.header("set-cookie")), (404, None, None));
    app.finish().await;
}

#[tokio::test]
async fn a_drawn_avatar_is_sent_once_and_then_confirmed_by_its_tag() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let address = format!("/.well-known/service/user/avatar/{}", app.app_key.did());
    let first = browser.get(&address).await;
    assert_eq!((first.status, first.header("cache-control")), (200, Some("public, max-age=300")));
    assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
    let tag = first.header("etag").expect("a tag").to_owned();
    let again = browser.call(Method::GET, &address).header("if-none-match", tag).send().await;
    assert_eq!((again.status, again.bytes.len()), (304, 0));
    app.finish().await;
}

#[tokio::test]
async fn page_views_are_accepted_and_malformed_ones_rejected() {
    let app = TestApp::open().await;
    let browser = app.browser();
    let path = "/.well-known/service/analytics/pageview";
    let seen = browser.post(path, &json!({ "path": "/apps/x?token=secret", "referrer": "", "locale": "en" })).await;
    assert_eq!(seen.status, 204);
    assert_eq!(browser.post(path, &json!({ "path": "x".repeat(8_000) })).await.status, 413);
    for body in [json!({}), json!({ "path": 5 }), json!({ "path": "/", "locale": "€" })] {
        assert!(matches!(browser.post(path, &body).await.status, 204 | 400), "{body}");
    }
    app.finish().await;
}

#[tokio::test]
async fn published_clients_find_the_store_and_its_payment_kit() {
    let app = TestApp::open().await;
    let call = app.browser();
    let found = call.call(Method::GET, "/__blocklet__.js?type=json").header("origin", "https://elsewhere.example").send().await;
    assert_eq!(found.header("access-control-allow-origin"), Some("*"));
    let found = found.ok();
    assert_eq!((&found["appPid"], &found["appUrl"]), (&app.app_key.did().as_str().into(), &"https://souk.example/".into()));
    let mounted = |did: &str| {
        let components = found["componentMountPoints"].as_array().expect("a list");
        components.iter().find(|component| component["did"] == did).map(|component| component["mountPoint"].clone())
    };
    assert_eq!(mounted("z2qaCNvKMv5GjouKdcDWexv6WqtHbpNPQDnAk"), Some("/payment".into()));
    assert_eq!(mounted("z8ia29UsENBg6tLZUKi2HABj38Cw1LmHZocbQ"), Some("/".into()), "where publisher tools find the store");
    let script = call.get("/__blocklet__.js").await;
    assert!(script.header("content-type").is_some_and(|kind| kind.contains("javascript")), "{:?}", script.headers);
    let object = script.text();
    let object = object.split_once('{').map(|(_, rest)| format!("{{{}", rest.trim_end().trim_end_matches(';'))).expect("an object");
    assert!(serde_json::from_str::<Value>(&object).is_ok(), "{object}");
    app.finish().await;
}

#[tokio::test]
async fn the_store_is_described_in_both_languages() {
    let app = TestApp::open().await;
    let store = app.browser().get("/api/store").await.ok();
    assert_eq!((&store["name"], &store["demo"]), (&"Souk".into(), &false.into()));
    assert_eq!(store["description"], json!({ "en": "Apps", "zh": "应用" }));
    assert_eq!(store["appPid"], app.app_key.did().as_str());
    app.finish().await;
}
