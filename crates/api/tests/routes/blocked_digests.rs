//! `/api/console/blocked-digests`. That the check of versions finds blocked content is tested with the checks.

use crate::app::TestApp;
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;

const DIGESTS: &str = "/api/console/blocked-digests";

fn reason(text: &str) -> Value {
    json!({ "reason": text })
}

on_both! {
    async fn an_administrator_blocks_and_unblocks_content(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let owner = app.owner().await.browser;
        assert_eq!(owner.get(DIGESTS).await.ok(), json!({ "count": 0, "list": [] }));
        let digest = "0f".repeat(32);
        let path = format!("{DIGESTS}/{digest}");
        let blocked = owner.put(&path, &reason(" a miner ")).await.ok();
        assert_eq!((&blocked["sha256"], &blocked["reason"], &blocked["version_count"]), (&json!(digest), &json!("a miner"), &json!(0)));
        owner.put(&path, &reason("a known miner")).await.ok();
        let listed = owner.get(&format!("{DIGESTS}?keyword=MINER&page=1&pageSize=20")).await.ok();
        assert_eq!((&listed["count"], &listed["list"][0]["reason"]), (&json!(1), &json!("a known miner")));
        assert_eq!(owner.get(&format!("{DIGESTS}?keyword=spam")).await.ok()["count"], 0);
        assert_eq!(owner.get(&format!("{path}/versions")).await.ok(), json!({ "count": 0, "list": [] }));
        assert_eq!(owner.call(Method::DELETE, &path).send().await.status, 204);
        owner.call(Method::DELETE, &path).send().await.refused(404);
        let log = owner.get("/api/audit-log").await.ok();
        let entries = log["list"].as_array().expect("a list");
        let mut operations: Vec<_> = entries.iter().map(|entry| entry["operation"].as_str().expect("an operation")).collect();
        operations.sort_unstable();
        assert_eq!(operations, ["digest.block", "digest.block", "digest.unblock"]);
        assert!(entries.iter().all(|entry| entry["objects"] == json!([digest])), "{log}");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_digest_or_a_reason_that_is_not_valid_is_refused_by_name() {
    let app = TestApp::open().await;
    let owner = app.owner().await.browser;
    let path = format!("{DIGESTS}/{}", "0f".repeat(32));
    for (path, text, code) in [
        (format!("{DIGESTS}/abc"), "spam".to_owned(), "DIGEST_INVALID"),
        (path.clone(), " ".to_owned(), "DIGEST_REASON_REQUIRED"),
        (path.clone(), "r".repeat(256), "DIGEST_REASON_TOO_LONG"),
        (path.clone(), "two\nlines".to_owned(), "CONTROL_CHARACTERS"),
    ] {
        assert_eq!(owner.put(&path, &reason(&text)).await.refused(400)["code"], code, "{path} {text}");
    }
    assert_eq!(owner.get(&format!("{DIGESTS}/abc/versions")).await.refused(400)["code"], "DIGEST_INVALID");
    assert_eq!(owner.get("/api/audit-log").await.ok()["count"], 0, "a refused call leaves no entry");
    app.finish().await;
}
