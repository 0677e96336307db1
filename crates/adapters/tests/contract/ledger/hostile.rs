//! Misbehaving networks: the rail must not interpret invalid responses as outcomes.

use super::bench::{currency, method, serve};
use poem::http::{StatusCode, header};
use poem::{Endpoint, Request, Response, Route, endpoint};
use souk_adapters::arcblock::ArcblockRail;
use souk_adapters::identity::AppKey;
use souk_adapters::testing::FixedClock;
use souk_domain::payment::{Outcome, RailError, SignedTransaction, WalletRail};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn signed() -> SignedTransaction {
    SignedTransaction { bytes: vec![1, 2, 3], hash: "AB".to_owned() }
}

fn rail(address: &str) -> ArcblockRail {
    ArcblockRail::new(AppKey::from_seed(&[2; 32]), Arc::new(FixedClock::default()), address.parse().expect("address")).expect("a rail")
}

fn always(status: StatusCode, body: &'static str) -> impl Endpoint + 'static {
    endpoint::make_sync(move |_| Response::builder().status(status).content_type("application/json").body(body))
}

#[tokio::test]
async fn an_invalid_response_is_never_an_outcome() {
    for (status, body) in [
        (StatusCode::BAD_GATEWAY, r#"{"data":{"sendTx":{"code":"OK"},"getTx":{"info":null}}}"#),
        (StatusCode::OK, "<html>"),
        (StatusCode::OK, "{}"),
        (StatusCode::OK, r#"{"data":{"sendTx":{"code":"INTERNAL"}}}"#),
        (StatusCode::OK, r#"{"data":{"sendTx":{"code":"OK"},"getTx":{"code":"OK","info":{"hash":"CD","code":"OK","receipts":[]}}}}"#),
        // An executed payment into a stake that the network does not show.
        (
            StatusCode::OK,
            r#"{"data":{"sendTx":{"code":"OK"},"getTx":{"info":{"hash":"AB","code":"OK","tx":{"from":"z1","itxJson":{"address":"zs","slashers":["z2"]}},"receipts":[]}}}}"#,
        ),
        (StatusCode::OK, r#"{"errors":[{"message":"something broke"}]}"#),
        (StatusCode::OK, r#"{"errors":[{"code":"INTERNAL","message":"something broke"}]}"#),
        (StatusCode::INTERNAL_SERVER_ERROR, r#"{"errors":[{"code":"INVALID_TX","message":"no"}]}"#),
        (StatusCode::NOT_FOUND, "{}"),
    ] {
        let (address, _stop) = serve(always(status, body)).await;
        let outcome = rail(&address).send(&method("/api/"), &currency(), &signed()).await;
        assert!(matches!(outcome, Outcome::Unknown(_)), "{status} {body}: {outcome:?}");
        let found = rail(&address).find(&method("/api/"), &currency(), "AB").await;
        assert!(
            matches!(found, Outcome::Unknown(_)) || (body.contains("\"info\":null") && status.is_success()),
            "{status} {body}: {found:?}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    static FOLLOWED: AtomicUsize = AtomicUsize::new(0);
    let away = endpoint::make_sync(|_: Request| {
        Response::builder().status(StatusCode::TEMPORARY_REDIRECT).header(header::LOCATION, "/elsewhere").finish()
    });
    let elsewhere = endpoint::make_sync(|_: Request| {
        FOLLOWED.fetch_add(1, Ordering::SeqCst);
        Response::builder().body(r#"{"data":{"sendTx":{"code":"OK"}}}"#)
    });
    let (address, _stop) = serve(Route::new().at("/api/", away).at("/elsewhere", elsewhere)).await;
    assert!(matches!(rail(&address).send(&method("/api/"), &currency(), &signed()).await, Outcome::Unknown(_)));
    assert_eq!(FOLLOWED.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_accepted_payment_that_is_not_visible_yet_is_pending() {
    let (address, _stop) = serve(always(StatusCode::OK, r#"{"data":{"sendTx":{"code":"OK"},"getTx":{"code":"OK","info":null}}}"#)).await;
    let outcome = rail(&address).send(&method("/api/"), &currency(), &signed()).await;
    assert_eq!(outcome, Outcome::Pending { requires_payer: false, last_error: None });
}

#[tokio::test]
async fn a_network_that_does_not_respond_is_unreachable() {
    let (address, stop) = serve(always(StatusCode::OK, "{}")).await;
    drop(stop);
    let closed = "http://127.0.0.1:1/api/";
    let outcome = rail(&address).send(&method(closed), &currency(), &signed()).await;
    assert!(matches!(outcome, Outcome::Unknown(_)));
    assert!(matches!(rail(&address).validate_settings(&method(closed), &[currency()]).await, Err(RailError::Unreachable(_))));
}
