//! `POST /api/webhooks/{method}`: events of card processors and their authentication.

use crate::app::{ACCEPTED, Answer, TestApp};
use poem::http::Method;
use std::time::Duration;

async fn deliver(app: &TestApp, method: &str, signature: Option<&str>, body: &[u8]) -> Answer {
    let browser = app.browser();
    let mut call = browser.call(Method::POST, &format!("/api/webhooks/{method}"));
    if let Some(signature) = signature {
        call = call.header("stripe-signature", signature);
    }
    call.body("application/json", body.to_vec()).send().await
}

#[tokio::test]
async fn an_event_settles_a_payment_whose_page_was_closed() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    app.networks.confirm(&secret, ACCEPTED).await;
    let (signature, body) = app.networks.event("payment_intent.succeeded").await;
    let method = app.shop.card.to_string();
    for _ in 0..2 {
        assert_eq!(deliver(&app, &method, Some(&signature), &body).await.status, 200);
    }
    app.drain().await;
    assert_eq!(deliver(&app, &method, Some(&signature), &body).await.status, 200, "a late repetition is acknowledged");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    assert_eq!(app.mails().len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn only_events_signed_by_the_processor_are_accepted() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    let secret = alice.submit_for_card(&app, &session).await;
    let (signature, body) = app.networks.event("payment_intent.created").await;
    let method = app.shop.card.to_string();
    let forged = String::from_utf8(body.clone()).expect("text").replace("payment_intent.created", "payment_intent.succeeded");
    deliver(&app, &method, Some(&signature), forged.as_bytes()).await.refused(401);
    deliver(&app, &method, Some("t=1,v1=00"), &body).await.refused(401);
    deliver(&app, &method, Some("nonsense"), &body).await.refused(401);
    deliver(&app, &method, None, &body).await.refused(400);
    deliver(&app, "pm_unknown", Some(&signature), &body).await.refused(404);
    deliver(&app, app.shop.wallet.as_str(), Some(&signature), &body).await.refused(404);
    deliver(&app, &method, Some(&signature), &vec![b' '; 600 * 1024]).await.refused(413);
    app.advance(Duration::from_secs(301));
    deliver(&app, &method, Some(&signature), &body).await.refused(401);
    app.drain().await;
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
    assert_eq!(app.networks.confirm(&secret, ACCEPTED).await.0, 200);
    app.advance(Duration::from_secs(2));
    alice.retrieve(&session).await;
    app.finish().await;
}
