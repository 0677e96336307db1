//! The review of versions and their publication, over HTTP.

use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Did, Role};
use souk_domain::publishing::{PermissionMode, Preferences, change_preferences};
use souk_domain::shared::{CategoryId, Text};
use souk_domain::store::Category;
use std::collections::BTreeMap;

const APPROVAL: &str = "Works as described";

/// A store in which every version is reviewed, with two reviewers.
struct Store {
    publishing: Publishing,
    rita: Who,
    robert: Who,
}

impl Store {
    async fn open() -> Self {
        let publishing = Publishing::open().await;
        let preferences = Preferences { review_required: true, permission_mode: PermissionMode::Inviting, ..Preferences::default() };
        change_preferences(&publishing.app.ctx, 0, preferences).await.expect("are changed");
        let mut unit = publishing.app.ctx.store.begin().await.expect("begins");
        let id = CategoryId::parse("cat_1").expect("an id");
        let category = Category { id, slug: "tools".to_owned(), name: Text::new("Tools", "工具"), position: 1 };
        unit.apps().insert_category(&category).await.expect("inserts");
        unit.commit().await.expect("commits");
        let rita = publishing.app.enroll(Did::from_verified("z1rita".to_owned()), Some(Role::Reviewer)).await;
        let robert = publishing.app.enroll(Did::from_verified("z1robert".to_owned()), Some(Role::Reviewer)).await;
        Self { publishing, rita, robert }
    }

    async fn upload(&self, version: &str) -> Value {
        let (status, answer) = self.publishing.upload(&self.publishing.version("hello", version).sign()).await;
        assert!(status == StatusCode::OK || answer["code"].is_string(), "{answer}");
        answer
    }

    fn path(&self, version: &str) -> String {
        format!("/api/apps/{}/versions/{version}/review", self.publishing.version("hello", version).did())
    }

    /// Takes a step, and returns the status of the version, or the code of the refusal.
    async fn take(&self, who: &Who, version: &str, step: Value) -> String {
        let (_, answer) = self.publishing.app.call(who, Method::PUT, &self.path(version), &step).await;
        let found = answer["version"]["status"].as_str().or_else(|| answer["code"].as_str());
        found.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn developer(&self, version: &str, step: &str) -> String {
        self.take(&self.publishing.developer, version, json!({ "step": step, "comment": "Please" })).await
    }

    fn approval() -> Value {
        json!({ "step": "approve", "comment": APPROVAL, "category_id": "cat_1", "review_type": "FIRST" })
    }
}

#[tokio::test]
async fn a_version_is_reviewed_corrected_approved_and_published() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    assert_eq!(store.developer("1.0.0", "publish").await, "REVIEW_NEEDED");
    assert_eq!(store.developer("1.0.0", "request").await, "PENDING_REVIEW");
    assert_eq!(store.upload("1.1.0").await["code"], "APP_IN_REVIEW");
    let queue = store.publishing.app.get(&store.rita, "/api/console/reviews").await;
    assert_eq!((&queue["count"], &queue["list"][0]["app_name"]), (&json!(1), &json!("hello")));
    assert_eq!(store.take(&store.rita, "1.0.0", json!({ "step": "start" })).await, "IN_REVIEW");
    assert_eq!(store.take(&store.robert, "1.0.0", Store::approval()).await, "REVIEW_CLAIMED_BY_OTHER");
    assert_eq!(store.take(&store.rita, "1.0.0", json!({ "step": "reject", "comment": " " })).await, "REVIEW_COMMENT_REQUIRED");
    let request = json!({ "step": "request_changes", "comment": "The license is missing" });
    assert_eq!(store.take(&store.rita, "1.0.0", request).await, "IN_REVIEW");

    store.upload("1.1.0").await;
    let replaced = store.publishing.app.get(&store.publishing.developer, &store.path("1.0.0")).await;
    assert_eq!((&replaced["version"]["status"], &replaced["version"]["replaced_by"]), (&json!("CANCELLED"), &json!("1.1.0")));
    let kinds: Vec<_> = replaced["thread"].as_array().expect("a thread").iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds, ["requested", "started", "changes_requested", "replaced"]);
    assert_eq!(replaced["thread"][2]["comment"], "The license is missing");
    assert_eq!(store.developer("1.1.0", "request").await, "PENDING_REVIEW");
    assert_eq!(store.take(&store.robert, "1.1.0", json!({ "step": "start" })).await, "IN_REVIEW");
    assert_eq!(store.take(&store.rita, "1.1.0", json!({ "step": "take_over" })).await, "IN_REVIEW");
    let unknown = json!({ "step": "approve", "comment": APPROVAL, "category_id": "cat_9" });
    assert_eq!(store.take(&store.rita, "1.1.0", unknown).await, "CATEGORY_UNKNOWN");
    assert_eq!(store.take(&store.rita, "1.1.0", Store::approval()).await, "APPROVED");
    assert_eq!(store.developer("1.1.0", "publish").await, "PUBLISHED");

    let did = store.publishing.version("hello", "1.1.0").did();
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{did}")).await;
    assert_eq!((&shown["name"], &shown["version"]), (&json!("hello"), &json!("1.1.0")), "{shown}");
    assert_eq!(shown["screenshots"].as_array().expect("screenshots").len(), 3);
    let (status, _) =
        store.publishing.app.call(&Who::Nobody, Method::GET, &format!("/api/blocklets/{did}/blocklet.json"), &Value::Null).await;
    assert_eq!(status, 200, "tools can install it");

    // Only first versions of this app are reviewed from now on.
    store.upload("1.2.0").await;
    assert_eq!(store.developer("1.2.0", "publish").await, "PUBLISHED");
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{did}")).await;
    assert_eq!(shown["version"], "1.2.0");
    let mine = store.publishing.app.get(&store.publishing.developer, "/api/developer/apps").await;
    assert_eq!(
        (&mine["count"], &mine["list"][0]["latest"], &mine["list"][0]["category_id"]),
        (&json!(1), &json!("1.2.0"), &json!("cat_1"))
    );
    let uploads = store.publishing.app.get(&store.publishing.developer, &format!("/api/apps/{did}/uploads")).await;
    let list = uploads["list"].as_array().expect("a list").iter();
    let statuses: BTreeMap<_, _> = list.map(|version| (version["version"].to_string(), version["status"].to_string())).collect();
    let expected = [("1.0.0", "CANCELLED"), ("1.1.0", "PUBLISHED"), ("1.2.0", "PUBLISHED")];
    assert_eq!(statuses, expected.map(|(version, status)| (json!(version).to_string(), json!(status).to_string())).into());
}

#[tokio::test]
async fn an_update_that_adds_a_permission_is_held_for_review() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    store.developer("1.0.0", "request").await;
    store.take(&store.rita, "1.0.0", json!({ "step": "start" })).await;
    store.take(&store.rita, "1.0.0", Store::approval()).await;
    assert_eq!(store.developer("1.0.0", "publish").await, "PUBLISHED");
    let members = json!({ "scripts": { "preInstall": "node install.js" } });
    let risky = TestUpload { members, ..store.publishing.version("hello", "1.1.0") };
    assert_eq!(store.publishing.upload(&risky.sign()).await.0, StatusCode::OK);
    assert_eq!(store.developer("1.1.0", "publish").await, "REVIEW_NEEDED");
    let review = store.publishing.app.get(&store.publishing.developer, &store.path("1.1.0")).await;
    assert_eq!((&review["need"], &review["current"]), (&json!("risky_differences"), &json!("1.0.0")));
    assert_eq!(review["differences"]["scripts"], json!(["preInstall"]));
}

#[tokio::test]
async fn after_a_granted_appeal_another_reviewer_judges_the_next_version() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    store.developer("1.0.0", "request").await;
    store.take(&store.rita, "1.0.0", json!({ "step": "start" })).await;
    assert_eq!(store.take(&store.rita, "1.0.0", json!({ "step": "reject", "comment": "Too slow" })).await, "REJECTED");
    assert_eq!(store.developer("1.0.0", "publish").await, "REVIEW_REJECTED");
    assert_eq!(store.developer("1.0.0", "appeal").await, "REJECTED");
    let queue = store.publishing.app.get(&store.robert, "/api/console/reviews").await;
    assert_eq!((&queue["count"], &queue["list"][0]["version"]["appeal"]), (&json!(1), &json!("open")));
    let grant = json!({ "step": "grant_appeal", "comment": "It is fast enough" });
    assert_eq!(store.take(&store.rita, "1.0.0", grant.clone()).await, "REVIEW_OWN_DECISION");
    assert_eq!(store.take(&store.robert, "1.0.0", grant).await, "REJECTED");
    store.upload("1.0.1").await;
    store.developer("1.0.1", "request").await;
    assert_eq!(store.take(&store.rita, "1.0.1", json!({ "step": "start" })).await, "REVIEW_EXCLUDED");
    assert_eq!(store.take(&store.robert, "1.0.1", json!({ "step": "start" })).await, "IN_REVIEW");
}

#[tokio::test]
async fn reviews_exist_for_the_developer_of_the_app_and_for_reviewers_only() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    store.developer("1.0.0", "request").await;
    let app = &store.publishing.app;
    let other = TestUpload::new(2, "any", "1.0.0", app.ctx.now()).key;
    let (other, guest) = (enroll_developer(app, &other).await, app.person(None).await);
    let uploads = format!("/api/apps/{}/uploads", store.publishing.version("hello", "1.0.0").did());
    for (who, status) in [(&Who::Nobody, 401), (&guest, 404), (&other, 404)] {
        for path in [store.path("1.0.0"), uploads.clone()] {
            assert_eq!(app.call(who, Method::GET, &path, &Value::Null).await.0, status);
        }
        assert_eq!(app.call(who, Method::PUT, &store.path("1.0.0"), &json!({ "step": "start" })).await.0, status);
    }
    let (owner, admin) = (app.owner().await, app.person(Some(Role::Admin)).await);
    for who in [&store.publishing.developer, &store.rita, &owner, &admin] {
        assert_eq!(app.call(who, Method::GET, &store.path("1.0.0"), &Value::Null).await.0, 200);
    }
    // The developer of an app judges nothing of it.
    assert_eq!(store.developer("1.0.0", "start").await, "forbidden");
    let unknown = json!({ "step": "fly" });
    assert_eq!(app.call(&store.publishing.developer, Method::PUT, &store.path("1.0.0"), &unknown).await.0, 400);
    let log = app.get(&owner, "/api/audit-log").await;
    let operations: Vec<_> = log["list"].as_array().expect("a list").iter().map(|entry| entry["operation"].clone()).collect();
    assert!(operations.contains(&json!("version.review")), "{log}");
}
