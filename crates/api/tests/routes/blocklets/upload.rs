//! Uploads that succeed, and who may make them.

use super::{Publishing, developer_of, enroll_developer, give_token};
use poem::http::StatusCode;
use serde_json::json;
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Did, Role};
use souk_domain::publishing::access_tokens::TokenScope;
use souk_domain::publishing::bundle::{FileRole, NewVersion, UploadSource, parse_version};
use souk_domain::publishing::review::VersionStatus;

#[tokio::test]
async fn an_upload_becomes_a_draft_with_its_files() {
    let store = Publishing::open().await;
    let upload = store.version("hello", "1.0.0");
    assert_eq!(store.upload(&upload.sign()).await, (StatusCode::OK, json!({ "status": "uploaded" })));
    let mut unit = store.app.ctx.store.read().await.expect("reads");
    let app = unit.uploads().find_app(&upload.did()).await.expect("reads").expect("exists");
    assert_eq!((&app.owner, app.name.as_str(), app.latest.to_string().as_str()), (&developer_of(&upload.key), "hello", "1.0.0"));
    let version = unit.uploads().find_version(&upload.did(), &app.latest).await.expect("reads").expect("exists");
    assert_eq!((version.status, version.source, version.entries), (VersionStatus::Draft, UploadSource::Cli, 10));
    let files: Vec<_> = version.files.iter().map(|file| (file.role, file.path.as_str())).collect();
    assert_eq!(
        files,
        [
            (FileRole::Manifest, "blocklet.yml"),
            (FileRole::Logo, "logo.png"),
            (FileRole::Screenshot, "screenshots/1.png"),
            (FileRole::Screenshot, "screenshots/2.png"),
            (FileRole::Screenshot, "screenshots/3.png"),
            (FileRole::Readme, "README.zh.md"),
            (FileRole::Readme, "blocklet.md"),
            (FileRole::Changelog, "CHANGELOG.md"),
            (FileRole::License, "LICENSE"),
        ]
    );
    // The document, the bundle and these files; nothing of the upload in progress remains.
    assert_eq!(store.files(), 2 + files.len());
}

#[tokio::test]
async fn the_same_upload_once_more_has_the_same_answer_and_no_effect() {
    let store = Publishing::open().await;
    let upload = store.version("hello", "1.0.0");
    for signed_at in [upload.signed_at, upload.signed_at.plus(std::time::Duration::from_secs(1))] {
        // A client signs each attempt anew.
        let again = TestUpload { signed_at, ..store.version("hello", "1.0.0") };
        assert_eq!(store.upload(&again.sign()).await, (StatusCode::OK, json!({ "status": "uploaded" })));
        assert_eq!(store.files(), 11);
    }
    let other = TestUpload { members: json!({ "description": "Says something else" }), ..store.version("hello", "1.0.0") };
    let (status, answer) = store.upload(&other.sign()).await;
    assert_eq!((status, answer["error"].as_str()), (StatusCode::BAD_REQUEST, Some("Can't upload blocklet version less than 1.0.0")));
}

#[tokio::test]
async fn versions_only_go_up() {
    let store = Publishing::open().await;
    for (version, status) in [
        ("1.0.0-beta.1", StatusCode::OK),
        ("1.0.0-alpha.9", StatusCode::BAD_REQUEST),
        ("1.0.0", StatusCode::OK),
        ("1.0.0-rc.1", StatusCode::BAD_REQUEST),
        ("0.9.0", StatusCode::BAD_REQUEST),
        ("1.0.10", StatusCode::OK),
        ("1.0.9", StatusCode::BAD_REQUEST),
    ] {
        let before = store.files();
        let (found, answer) = store.upload(&store.version("hello", version).sign()).await;
        assert_eq!(found, status, "{version}: {answer}");
        if status != StatusCode::OK {
            let text = answer["error"].as_str().unwrap_or_default();
            assert!(text.starts_with("Can't upload blocklet version less than 1.0."), "{answer}");
            assert_eq!(store.files(), before, "{version}: something is left on disk");
        }
    }
}

#[tokio::test]
async fn a_file_name_belongs_to_one_version() {
    let store = Publishing::open().await;
    store.upload(&store.version("hello", "1.0.0").sign()).await;
    let dist = |upload: &TestUpload| {
        let signed: serde_json::Value = serde_json::from_slice(&upload.sign().document).expect("JSON");
        json!({ "dist": { "tarball": "hello-1.0.0.tgz", "integrity": signed["dist"]["integrity"], "size": signed["dist"]["size"] } })
    };
    let next = store.version("hello", "1.1.0");
    let reused = TestUpload { members: dist(&next), ..next };
    let (status, answer) = store.upload(&reused.sign()).await;
    assert_eq!((status, answer["code"].as_str()), (StatusCode::BAD_REQUEST, Some("TARBALL_TAKEN")), "{answer}");
}

#[tokio::test]
async fn a_name_belongs_to_one_app_and_stays() {
    let store = Publishing::open().await;
    // The DID of an app's key, which goes with any name.
    let keyed = |name: &str, version: &str| TestUpload {
        members: json!({ "did": "z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA" }),
        ..store.version(name, version)
    };
    assert_eq!(store.upload(&keyed("hello", "1.0.0").sign()).await.0, StatusCode::OK);
    for (upload, code) in [(store.version("hello", "2.0.0"), "NAME_TAKEN"), (keyed("renamed", "2.0.0"), "NAME_CHANGED")] {
        let (status, answer) = store.upload(&upload.sign()).await;
        assert_eq!((status, answer["code"].as_str()), (StatusCode::BAD_REQUEST, Some(code)), "{answer}");
    }
}

#[tokio::test]
async fn only_developers_upload_and_only_their_own_apps() {
    let store = Publishing::open().await;
    store.upload(&store.version("hello", "1.0.0").sign()).await;
    let now = store.app.ctx.now();
    let key_of = |seed| TestUpload::new(seed, "any", "1.0.0", now).key;
    enroll_developer(&store.app, &key_of(2)).await;
    // An owner of the store is no developer: the token has the passport of an owner.
    let owner = Did::from_verified("z1shop".to_owned());
    store.app.enroll(owner.clone(), Some(Role::Owner)).await;
    give_token(&store.app, &key_of(3), &owner, TokenScope::ALL, "*").await;
    let developer = developer_of(&key_of(1));
    give_token(&store.app, &key_of(4), &developer, &[TokenScope::PublishUpdate], "*").await;
    give_token(&store.app, &key_of(6), &developer, &[TokenScope::PublishNew], "*").await;
    give_token(&store.app, &key_of(7), &developer, TokenScope::ALL, "o*").await;
    let before = store.files();
    for (seed, name, version, status, code) in [
        (2, "hello", "1.1.0", StatusCode::FORBIDDEN, "NOT_OWNER"),
        (2, "hello", "1.0.0", StatusCode::FORBIDDEN, "NOT_OWNER"),
        (3, "other", "1.0.0", StatusCode::FORBIDDEN, "PASSPORT_NOT_FOUND"),
        (4, "other", "1.0.0", StatusCode::FORBIDDEN, "TOKEN_OUT_OF_SCOPE"),
        (6, "hello", "1.1.0", StatusCode::FORBIDDEN, "TOKEN_OUT_OF_SCOPE"),
        (7, "hello", "1.1.0", StatusCode::FORBIDDEN, "TOKEN_OTHER_APP"),
        (5, "other", "1.0.0", StatusCode::UNAUTHORIZED, "ACCESS_TOKEN_UNKNOWN"),
    ] {
        let (found, answer) = store.upload(&TestUpload::new(seed, name, version, now).sign()).await;
        assert_eq!((found, answer["code"].as_str()), (status, Some(code)), "{seed} {answer}");
        assert_eq!(store.files(), before, "{seed}: something is left on disk");
    }
    store.app.clock.advance(std::time::Duration::from_secs(3_600));
    let (found, answer) = store.upload(&store.version("hello", "1.1.0").sign()).await;
    assert_eq!((found, answer["code"].as_str()), (StatusCode::UNAUTHORIZED, Some("TOKEN_EXPIRED")), "{answer}");
    assert_eq!(store.files(), before, "a token that has expired");
}

#[tokio::test]
async fn a_blocked_app_and_one_in_review_get_no_version() {
    let store = Publishing::open().await;
    for (name, status, code) in [("blocked", None, "APP_BLOCKED"), ("reviewed", Some(VersionStatus::PendingReview), "APP_IN_REVIEW")] {
        let first = store.version(name, "1.0.0");
        let did = first.did();
        let mut unit = store.app.ctx.store.begin().await.expect("begins");
        let (is_blocked, version) = (status.is_none(), parse_version("1.0.0").expect("a version"));
        let app = souk_domain::publishing::bundle::UploadedApp {
            did: did.clone(),
            name: name.to_owned(),
            owner: developer_of(&first.key),
            latest: version.clone(),
            block_reason: is_blocked.then(|| "harmful".to_owned()),
            created_at: store.app.ctx.now(),
            updated_at: store.app.ctx.now(),
        };
        unit.uploads().insert_app(&app).await.expect("inserts");
        if let Some(status) = status {
            unit.uploads().insert_version(&recorded(&did, version, status, &store), &NewVersion::default()).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let (found, answer) = store.upload(&store.version(name, "1.1.0").sign()).await;
        assert_eq!((found, answer["code"].as_str()), (StatusCode::BAD_REQUEST, Some(code)), "{answer}");
        let expected = if is_blocked {
            "has been blocked, please contact store admin: https://store.example/"
        } else {
            "is in review, please wait for review to complete"
        };
        assert_eq!(answer["error"], format!("Blocklet {did} {expected}"));
    }
}

/// A version that is recorded without files.
fn recorded(
    did: &Did,
    version: semver::Version,
    status: VersionStatus,
    store: &Publishing,
) -> souk_domain::publishing::bundle::UploadedVersion {
    souk_domain::publishing::bundle::UploadedVersion {
        id: souk_domain::shared::VersionId::new(store.app.ctx.now(), store.app.ctx.random.as_ref()),
        app: did.clone(),
        version,
        status,
        is_yanked: false,
        document: "a".repeat(64),
        content: "b".repeat(64),
        bundle: "c".repeat(64),
        tarball: "a.tgz".to_owned(),
        integrity: String::new(),
        size: 1,
        entries: 1,
        unpacked: 1,
        source: UploadSource::Cli,
        signer: did.clone(),
        uploaded_at: store.app.ctx.now(),
        files: Vec::new(),
    }
}

#[tokio::test]
async fn an_upload_is_refused_while_the_disk_is_short() {
    let store = Publishing::open().await;
    store.app.disk.set_short(true);
    let (status, answer) = store.upload(&store.version("hello", "1.0.0").sign()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|text| text.contains("out of disk space")), "{answer}");
    store.app.disk.set_short(false);
    assert_eq!(store.upload(&store.version("hello", "1.0.0").sign()).await.0, StatusCode::OK);
}
