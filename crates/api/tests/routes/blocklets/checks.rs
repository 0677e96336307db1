//! The checks of versions: what they find, and who sees and repeats them.

use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::Role;
use souk_domain::events::Topic;
use souk_domain::publishing::bundle::{UploadedVersion, parse_version};
use souk_domain::shared::StorageError;

async fn uploaded(store: &Publishing, upload: &TestUpload) -> UploadedVersion {
    let (status, answer) = store.upload(&upload.sign()).await;
    assert_eq!(status, 200, "{answer}");
    let version = parse_version(&upload.version).expect("a version");
    let mut unit = store.app.ctx.store.read().await.expect("reads");
    unit.uploads().find_version(&upload.did(), &version).await.expect("reads").expect("exists")
}

async fn run(store: &Publishing, version: &UploadedVersion) -> Result<(), StorageError> {
    store.run_checks(&version.app, &version.version.to_string()).await
}

fn path(version: &UploadedVersion) -> String {
    format!("/api/apps/{}/versions/{}/checks", version.app, version.version)
}

/// The names and states of the checks.
fn states(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    answer["list"].as_array().expect("a list").iter().map(|check| (text(&check["name"]), text(&check["state"]))).collect()
}

fn expected(failed: &[&str]) -> Vec<(String, String)> {
    let all = ["manifest", "archive", "secrets", "look_alike", "license", "pictures", "blocked_digests"];
    all.map(|name| (name.to_owned(), if failed.contains(&name) { "failed" } else { "passed" }.to_owned())).to_vec()
}

#[tokio::test]
async fn an_honest_version_passes_every_check() {
    let store = Publishing::open().await;
    let version = uploaded(&store, &store.version("hello", "1.0.0")).await;
    let before = store.app.get(&store.developer, &path(&version)).await;
    assert_eq!(before["list"], json!([]), "they have not run yet");
    let files = store.files();
    run(&store, &version).await.expect("run");
    let answer = store.app.get(&store.developer, &path(&version)).await;
    assert_eq!(states(&answer), expected(&[]), "{answer}");
    assert_eq!(store.files(), files, "nothing is left of the copy of the bundle");
}

#[tokio::test]
async fn a_failing_check_says_what_and_where() {
    let store = Publishing::open().await;
    let other = TestUpload::new(2, "time-keeper", "1.0.0", store.app.ctx.now());
    enroll_developer(&store.app, &other.key).await;
    uploaded(&store, &other).await;
    let mut upload = store.version("tirne-keeper", "1.0.0");
    upload.files.retain(|(path, _)| !matches!(path.as_str(), "blocklet.yml" | "LICENSE" | "blocklet.md" | "README.zh.md"));
    upload.files.push(("blocklet.yml".to_owned(), b"name: other\nversion: 1.0.0\nlicense: MIT\n".to_vec()));
    let key = concat!("-----BEGIN ", "PRIVATE KEY-----");
    upload.files.push(("server.js".to_owned(), format!("first\nconst key = `{key}`;\n").into_bytes()));
    let version = uploaded(&store, &upload).await;
    let logo = version.files.iter().find(|file| file.path == "index.js");
    assert!(logo.is_none(), "code is not kept beside the bundle");
    let digest = {
        use souk_domain::publishing::bundle::BundleReader;
        LocalBundleReader::default().sha256(b"console.log('hello');\n")
    };
    let mut unit = store.app.ctx.store.begin().await.expect("begins");
    unit.digests().block(&digest, "a known miner", store.app.ctx.now()).await.expect("blocks");
    unit.commit().await.expect("commits");
    run(&store, &version).await.expect("run");
    let answer = store.app.get(&store.developer, &path(&version)).await;
    assert_eq!(states(&answer), expected(&["manifest", "secrets", "look_alike", "license", "blocked_digests"]), "{answer}");
    let found: Vec<_> =
        answer["list"].as_array().expect("a list").iter().flat_map(|check| check["findings"].as_array().expect("a list")).collect();
    let brief: Vec<_> = found.iter().map(|finding| json!([finding["rule"], finding["file"], finding["line"], finding["detail"]])).collect();
    assert_eq!(
        brief,
        [
            json!(["manifest.differs", "blocklet.yml", null, "name"]),
            json!(["manifest.readme_missing", "", null, ""]),
            json!(["secrets.private_key", "server.js", 2, ""]),
            json!(["look_alike.name", "", null, "time-keeper"]),
            json!(["license.text_missing", "", null, "MIT"]),
            json!(["blocked_digests.found", "index.js", null, "a known miner"]),
        ]
    );
    assert!(found.iter().all(|finding| finding["hint"].as_str().is_some_and(|hint| !hint.is_empty())), "{answer}");
    assert!(!answer.to_string().contains("BEGIN"), "the secret itself is not shown");
}

#[tokio::test]
async fn a_check_that_cannot_be_carried_out_is_errored_and_can_be_run_again() {
    let store = Publishing::open().await;
    let version = uploaded(&store, &store.version("hello", "1.0.0")).await;
    let bundle = store.app.files.path().join(&version.bundle[..2]).join(&version.bundle);
    let aside = store.app.files.path().join("aside");
    std::fs::rename(&bundle, &aside).expect("moves");
    assert!(run(&store, &version).await.is_err(), "the job tries again");
    let answer = store.app.get(&store.developer, &path(&version)).await;
    let errored: Vec<_> = states(&answer).into_iter().filter(|(_, state)| state == "errored").map(|(name, _)| name).collect();
    assert_eq!(errored, ["archive", "secrets", "blocked_digests"]);
    std::fs::rename(&aside, &bundle).expect("moves back");
    let ordered = store.app.ordered(Topic::CheckVersion).await;
    for _ in 0..2 {
        store.app.call(&store.developer, Method::POST, &path(&version), &Value::Null).await;
    }
    assert_eq!(store.app.ordered(Topic::CheckVersion).await, ordered + 1, "who asks twice waits for the first run");
    run(&store, &version).await.expect("run");
    let answer = store.app.get(&store.developer, &path(&version)).await;
    assert_eq!(states(&answer), expected(&[]), "{answer}");
}

#[tokio::test]
async fn checks_are_for_the_developer_and_for_reviewers() {
    let store = Publishing::open().await;
    let version = uploaded(&store, &store.version("hello", "1.0.0")).await;
    let admin = store.app.person(Some(Role::Admin)).await;
    let guest = store.app.person(None).await;
    for (who, status) in [(&store.developer, 200), (&admin, 200), (&guest, 404), (&Who::Nobody, 401)] {
        for verb in [Method::GET, Method::POST] {
            let (found, answer) = store.app.call(who, verb.clone(), &path(&version), &Value::Null).await;
            assert_eq!(found, status, "{who:?} {verb} {answer}");
        }
    }
    let (status, _) = store.app.call(&admin, Method::GET, &path(&version).replace("1.0.0", "2.0.0"), &Value::Null).await;
    assert_eq!(status, 404);
    let log = store.app.get(&store.app.owner().await, "/api/audit-log?operation=version.check").await;
    assert_eq!(log["count"], 2, "refused calls leave no entry: {log}");
    assert_eq!(log["list"][0]["objects"], json!([version.app.to_string()]));
}
