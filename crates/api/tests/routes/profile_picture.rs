//! `/api/session/picture`: the picture that a user uploads in place of the drawn avatar.

use crate::app::{Answer, Browser, Connect, TestApp};
use futures_util::{StreamExt, stream};
use poem::http::{Method, Uri};
use poem::{Body, Endpoint, Request};
use serde_json::{Value, json};
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::files::FileStore;
use souk_adapters::on_one;
use souk_adapters::testing::upload::png;
use souk_domain::profile::{self, PICTURE_MAX, PICTURES_PER_HOUR, ProfilePictureError};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PATH: &str = "/api/session/picture";

/// The beginning of a JPEG, which is all that is measured.
fn jpeg(width: u16, height: u16) -> Vec<u8> {
    [b"\xff\xd8\xff\xc0\x00\x11\x08".as_slice(), &height.to_be_bytes(), &width.to_be_bytes(), &[3; 10]].concat()
}

/// The beginning of a WebP, which is all that is measured.
fn webp(width: u32, height: u32) -> Vec<u8> {
    let side = |pixels: u32| (pixels - 1).to_le_bytes()[..3].to_vec();
    [b"RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00".to_vec(), side(width), side(height)].concat()
}

/// A PNG with this number of bytes.
fn png_of(size: usize) -> Vec<u8> {
    let mut content = png(64, 64, 1);
    content.resize(size, 7);
    content
}

async fn upload(browser: &Browser, content: Vec<u8>) -> Answer {
    browser.call(Method::PUT, PATH).body("image/png", content).send().await
}

async fn remove(browser: &Browser) -> Answer {
    browser.call(Method::DELETE, PATH).send().await
}

/// The avatar at the address that a session names.
async fn avatar_of(app: &TestApp, session: &Value) -> Answer {
    app.browser().get(session["user"]["avatar"].as_str().expect("an address")).await
}

/// Uploads 2 MiB without saying how much it is. Returns the status, the code of the answer, and the number of chunks of 64 KiB that
/// were received.
async fn stream_to(app: &TestApp, browser: &Browser) -> (u16, String, usize) {
    let received = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&received);
    let chunks = stream::iter(0..32).map(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok::<_, io::Error>(vec![7_u8; 64 << 10])
    });
    let cookie = browser.cookie("login_token").map(|token| format!("login_token={token}")).unwrap_or_default();
    let request = Request::builder().method(Method::PUT).uri(Uri::from_static(PATH)).header("cookie", cookie);
    let request = request.content_type("image/png").body(Body::from_bytes_stream(chunks));
    let mut response = app.service().get_response(request).await;
    let answer: Value = serde_json::from_str(&response.take_body().into_string().await.expect("a body")).expect("JSON");
    let code = answer["code"].as_str().unwrap_or_default().to_owned();
    (response.status().as_u16(), code, received.load(Ordering::SeqCst))
}

on_one! {
    async fn a_picture_replaces_the_drawn_avatar_until_it_is_removed(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let drawn = alice.browser.get("/api/session").await.ok();
        assert_eq!((&drawn["user"]["hasPicture"], &drawn["user"]["didSpace"]), (&json!(false), &Value::Null));
        assert_eq!(avatar_of(&app, &drawn).await.header("content-type"), Some("image/svg+xml"));

        let mut addresses = vec![drawn["user"]["avatar"].clone()];
        for (content, kind) in [(png(64, 4_096, 1), "image/png"), (jpeg(640, 480), "image/jpeg"), (webp(512, 512), "image/webp")] {
            app.advance(Duration::from_millis(1));
            // The content decides, whatever the content type says.
            let session = upload(&alice.browser, content.clone()).await.ok();
            assert_eq!((&session["user"]["hasPicture"], &session["user"]["fullName"]), (&json!(true), &json!("alice Example")));
            assert_eq!(alice.browser.get("/api/session").await.ok(), session, "the next page sees the same");
            let shown = avatar_of(&app, &session).await;
            assert_eq!((shown.status, shown.header("content-type"), &shown.bytes), (200, Some(kind), &content));
            assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(shown.header("cache-control"), Some("public, max-age=86400"));
            assert_eq!(shown.header("content-security-policy"), Some("default-src 'none'; sandbox"));
            assert!(!addresses.contains(&session["user"]["avatar"]), "a new picture has a new address");
            addresses.push(session["user"]["avatar"].clone());
        }

        let session = remove(&alice.browser).await.ok();
        assert_eq!((&session["user"]["hasPicture"], &session["user"]["avatar"]), (&json!(false), &addresses[0]));
        assert_eq!(avatar_of(&app, &session).await.header("content-type"), Some("image/svg+xml"));
        remove(&alice.browser).await.ok();
        app.finish().await;
    }

    async fn an_erasure_removes_the_picture_that_the_export_names(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let session = upload(&alice.browser, png(64, 64, 1)).await.ok();
        let exported = alice.browser.get("/api/customers/me/export").await.ok()["records"]["users"][0].clone();
        assert_eq!(exported["picture_format"], "png");
        assert!(exported["picture"].as_str().is_some_and(|hash| hash.len() == 64), "{exported}");
        assert!(exported["picture_updated_at"].is_string(), "{exported}");
        alice.browser.post("/api/customers/me/erasure", &json!({})).await.ok();
        assert_eq!(avatar_of(&app, &session).await.header("content-type"), Some("image/svg+xml"));
        // An upload that was in progress during the erasure.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = FileStore::open(folder.path()).await.expect("opens");
        let late = profile::set_picture(&app.ctx, &LocalBundleReader::default(), &files, alice.wallet.did(), &png(64, 64, 2)).await;
        assert!(matches!(late, Err(ProfilePictureError::Contended)), "{late:?}");
        assert_eq!(avatar_of(&app, &session).await.header("content-type"), Some("image/svg+xml"));
        Connect::begin(&app, &alice.browser, "login", "").await.sign_in(&alice.wallet, "alice").await;
        assert_eq!(alice.browser.get("/api/session").await.ok()["user"]["hasPicture"], false);
        app.finish().await;
    }
}

#[tokio::test]
async fn the_avatar_ignores_the_wanted_size_and_confirms_what_a_browser_has() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    upload(&alice.browser, png(64, 64, 1)).await.ok();
    let address = format!("/.well-known/service/user/avatar/{}", alice.wallet.did());
    let sized = app.browser().get(&format!("{address}?imageFilter=resize&w=40&h=-1")).await;
    assert_eq!((sized.status, &sized.bytes), (200, &png(64, 64, 1)));
    assert_eq!(sized.header("cache-control"), Some("public, max-age=300"), "this address stays when the picture changes");
    let tag = sized.header("etag").expect("a tag").to_owned();
    let known = async |tag: &str| app.browser().call(Method::GET, &address).header("if-none-match", tag).send().await;
    let same = known(&tag).await;
    assert_eq!((same.status, same.bytes.len(), same.header("etag")), (304, 0, Some(tag.as_str())));
    upload(&alice.browser, png(64, 64, 2)).await.ok();
    assert_eq!(known(&tag).await.status, 200, "it has changed");
    remove(&alice.browser).await.ok();
    assert_eq!(known(&tag).await.header("content-type"), Some("image/svg+xml"));
    app.finish().await;
}

#[tokio::test]
async fn the_picture_of_a_blocked_user_is_not_shown() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = upload(&alice.browser, png(64, 64, 1)).await.ok();
    let mut unit = app.ctx.store.begin().await.expect("begins");
    assert!(unit.users().set_blocked(alice.wallet.did(), Some(app.ctx.now())).await.expect("blocks"));
    unit.commit().await.expect("commits");
    assert_eq!(avatar_of(&app, &session).await.header("content-type"), Some("image/svg+xml"));
    app.finish().await;
}

#[tokio::test]
async fn pictures_that_break_a_rule_are_refused_by_name_and_change_nothing() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let kept = upload(&alice.browser, png(64, 64, 1)).await.ok();
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
    for content in [svg, b"GIF89a\x40\x00\x40\x00".to_vec(), b"<html></html>".to_vec(), png(64, 64, 1)[..12].to_vec(), Vec::new()] {
        let refused = upload(&alice.browser, content).await.refused(415);
        assert_eq!(refused["code"], "PICTURE_FORMAT", "{refused}");
    }
    for content in [png(63, 64, 1), png(64, 4_097, 1), jpeg(640, 63), webp(5_000, 64)] {
        let refused = upload(&alice.browser, content).await.refused(400);
        assert_eq!((&refused["code"], &refused["params"]), (&json!("PICTURE_DIMENSIONS"), &json!({ "min": "64", "max": "4096" })));
    }
    let refused = upload(&alice.browser, png_of(PICTURE_MAX + 1)).await.refused(413);
    assert_eq!((&refused["code"], &refused["params"]), (&json!("PICTURE_TOO_LARGE"), &json!({ "max": "1" })));
    assert_eq!(alice.browser.get("/api/session").await.ok(), kept);
    upload(&alice.browser, png_of(PICTURE_MAX)).await.ok();
    app.finish().await;
}

#[tokio::test]
async fn a_picture_is_received_of_its_user_only_and_not_beyond_its_limit() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let (status, code, received) = stream_to(&app, &alice.browser).await;
    assert_eq!((status, code.as_str()), (413, "PICTURE_TOO_LARGE"));
    assert!((16..20).contains(&received), "{received} of 32 chunks were received");
    let (status, code, received) = stream_to(&app, &app.browser()).await;
    assert_eq!((status, code.as_str(), received), (401, "forbidden", 0), "nothing is received of a stranger");
    let announced = alice.browser.call(Method::PUT, PATH).body("image/png", png(64, 64, 1));
    let announced = announced.header("content-length", (PICTURE_MAX + 1).to_string()).send().await.refused(413);
    assert_eq!(announced["code"], "PICTURE_TOO_LARGE", "nothing is received that says it is too large");
    app.finish().await;
}

#[tokio::test]
async fn users_change_their_own_picture_only() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    let of_alice = upload(&alice.browser, png(64, 64, 1)).await.ok();
    // Equal content is stored once, and each user keeps it on their own.
    let of_bob = upload(&bob.browser, png(64, 64, 1)).await.ok();
    remove(&bob.browser).await.ok();
    assert_eq!(alice.browser.get("/api/session").await.ok(), of_alice);
    assert_eq!(avatar_of(&app, &of_alice).await.header("content-type"), Some("image/png"));
    assert_eq!(avatar_of(&app, &of_bob).await.header("content-type"), Some("image/svg+xml"));
    upload(&app.browser(), png(64, 64, 1)).await.refused(401);
    remove(&app.browser()).await.refused(401);
    let elsewhere = alice.browser.call(Method::PUT, PATH).body("image/png", png(64, 64, 2)).header("origin", "https://elsewhere.example");
    elsewhere.send().await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn uploads_are_limited_for_each_user_and_hour() {
    let app = TestApp::open().await;
    let (alice, bob) = (app.sign_in("alice").await, app.sign_in("bob").await);
    for _ in 0..PICTURES_PER_HOUR {
        upload(&alice.browser, png(64, 64, 1)).await.ok();
    }
    assert_eq!(upload(&alice.browser, png(64, 64, 1)).await.refused(429)["code"], "TOO_MANY_PICTURES");
    remove(&alice.browser).await.ok();
    upload(&bob.browser, png(64, 64, 1)).await.ok();
    app.advance(Duration::from_secs(3_600));
    upload(&alice.browser, png(64, 64, 1)).await.ok();
    app.finish().await;
}
