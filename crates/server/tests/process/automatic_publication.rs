//! Updates that the store publishes automatically.

use crate::developer::Developer;
use crate::drain::drain;
use crate::souk::Settings;
use crate::store_client::{CallOptions, StoreClient};
use reqwest::Method;
use serde_json::json;
use souk_adapters::persistence::Database;
use std::sync::Arc;

/// Published tools print another page for a published version, and ask their developer to publish any other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_to_an_upload_says_whether_the_store_has_published_the_version() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let souk = settings.start().await;
    let client = Arc::new(StoreClient::new());
    client.move_to(vec![souk.address.clone()]);
    let developer = Developer::enroll(Arc::clone(&client), &settings, 1).await;
    let version = |version: &str| developer.version("granary", version);
    let did = version("1.0.0").did();

    let first = developer.upload(&version("1.0.0").sign()).await.expect("is uploaded");
    assert_eq!(first["status"], "uploaded", "its developer publishes the first version");
    let database = Database::open(&format!("sqlite://{}", folder.path().join("souk.db").display())).await.expect("opens");
    assert!(drain(&database).await.is_empty(), "{}", souk.log());
    database.close().await;
    developer.publish(&did, "1.0.0").await.expect("is published");
    let options = CallOptions { cookies: Some(&developer.cookies), json: Some(json!({ "days": 30 })), ..CallOptions::default() };
    client.call(Method::PUT, &format!("api/developer/apps/{did}/auto-publish"), options).await.expect("is switched on");

    let update = version("1.1.0").sign();
    for attempt in ["it is sent", "it is sent again because the first answer was lost"] {
        let answer = developer.upload(&update).await.expect("is uploaded");
        assert_eq!(answer["status"], "published", "{attempt}: {}", souk.log());
    }
    assert!(developer.is_published(&did, "1.1.0").await.expect("is answered"));
    souk.kill().await;
}
