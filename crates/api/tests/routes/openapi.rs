//! The committed OpenAPI document.

use crate::app::TestApp;
use serde_json::Value;

#[test]
fn the_committed_document_matches_the_served_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.json");
    let kept = std::fs::read_to_string(path).expect("openapi.json is at the root of the repository: `souk openapi > openapi.json`");
    assert!(kept.trim_end() == souk_api::document().trim_end(), "openapi.json is out of date: `souk openapi > openapi.json`");
}

#[tokio::test]
async fn the_service_serves_its_document() {
    let app = TestApp::open().await;
    let served = app.browser().get("/openapi.json").await.ok();
    assert_eq!(served, serde_json::from_str::<Value>(&souk_api::document()).expect("JSON"));
    assert!(served["paths"]["/api/checkout-sessions/{id}/submit"]["put"].is_object(), "paths are whole");
    app.finish().await;
}
