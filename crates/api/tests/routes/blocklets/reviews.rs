//! The review of versions and their publication, over HTTP.

use super::reading::get;
use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use souk_adapters::testing::upload::TestUpload;
use souk_domain::access::{Did, Role};
use souk_domain::billing::{Stake, StakePurpose, StakeStatus, StakeSubject};
use souk_domain::customer::Customer;
use souk_domain::events::Topic;
use souk_domain::publishing::bundle::checks::CheckName;
use souk_domain::publishing::bundle::parse_version;
use souk_domain::publishing::digests::{block_digest, unblock_digest};
use souk_domain::publishing::publication::{StorePublication, UploadOutcome, upload_outcome};
use souk_domain::publishing::{PermissionMode, Preferences, change_preferences};
use souk_domain::shared::{Amount, CategoryId, CurrencyId, CustomerId, Language, Mode, StakeId, Text};
use souk_domain::store::Category;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

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
        let step = json!({ "step": step, "comment": "Please" });
        self.publishing.check_before(&step, &self.publishing.version("hello", version).did(), version).await;
        self.take(&self.publishing.developer, version, step).await
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
    let (waiting, reason) = (&queue["list"][0], json!("first_version"));
    assert_eq!((&queue["count"], &waiting["app_name"], &waiting["reason"]), (&json!(1), &json!("hello"), &reason));
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
    let members = json!({
        "license": "Apache-2.0",
        "homepage": "https://hello.example",
        "docker": { "image": "hello" },
        "requirements": { "server": ">=1.16.0", "nodejs": ">=20", "os": ["linux"], "cpu": ["arm64"] },
        "components": [{ "source": { "name": "images", "version": "^1.0.0" }, "required": true, "title": "Images" }],
        "screenshots": ["3.png", "2.png", "1.png"],
    });
    let update = TestUpload { members: members.clone(), ..store.publishing.version("hello", "1.2.0") };
    assert_eq!(store.publishing.upload(&update.sign()).await.0, StatusCode::OK);
    assert_eq!(store.developer("1.2.0", "publish").await, "PUBLISHED");
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{did}")).await;
    assert_eq!(shown["version"], "1.2.0");
    // Each version shows what it says of itself.
    assert_eq!((&shown["license"], &shown["website"], &shown["docker"]), (&members["license"], &members["homepage"], &json!(true)));
    assert_eq!(shown["requirements"], members["requirements"]);
    assert_eq!(shown["components"], json!([{ "title": "Images", "version": "^1.0.0", "required": true }]));
    let older = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{did}?version=1.1.0")).await;
    assert_eq!((&older["license"], &older["website"], &older["docker"]), (&json!("MIT"), &Value::Null, &json!(false)));
    assert_eq!((&older["requirements"]["os"], &older["components"]), (&json!([]), &json!([])));
    for (page, picture) in [(&shown, "screenshots/3.png"), (&older, "screenshots/1.png")] {
        let url = page["screenshots"][0]["url"].as_str().expect("an address");
        let (_, content) = update.files.iter().find(|(path, _)| path == picture).expect("a picture");
        assert!(get(&store.publishing, &Who::Nobody, Method::GET, url).await.body == *content, "{url}");
    }
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
async fn the_first_release_after_a_pre_release_is_held_for_what_it_adds() {
    let store = Store::open().await;
    store.publish("1.0.0-beta.1").await;
    let members = json!({ "scripts": { "preInstall": "node install.js" } });
    let risky = TestUpload { members, ..store.publishing.version("hello", "1.0.0") };
    assert_eq!(store.publishing.upload(&risky.sign()).await.0, StatusCode::OK);
    assert_eq!(store.developer("1.0.0", "publish").await, "REVIEW_NEEDED");
    let review = store.publishing.app.get(&store.publishing.developer, &store.path("1.0.0")).await;
    assert_eq!((&review["need"], &review["differences"]["scripts"]), (&json!("risky_differences"), &json!(["preInstall"])));
    store.publish("1.0.1").await;
    assert_eq!(store.offered().await, ["1.0.1", "1.0.1"], "a release that adds nothing needs no review");
    let did = store.publishing.version("hello", "1.0.1").did();
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{did}")).await;
    let versions: BTreeSet<_> = shown["versions"].as_array().expect("versions").iter().map(|one| one["version"].to_string()).collect();
    assert_eq!(versions, BTreeSet::from(["\"1.0.0-beta.1\"".to_owned(), "\"1.0.1\"".to_owned()]), "the pre-release enters the catalogue");
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
    assert_eq!(queue["list"][0]["reason"], "appeal");
    let grant = json!({ "step": "grant_appeal", "comment": "It is fast enough" });
    assert_eq!(store.take(&store.rita, "1.0.0", grant.clone()).await, "REVIEW_OWN_DECISION");
    // This version waits for its review already when the appeal is granted.
    store.upload("1.0.1").await;
    store.developer("1.0.1", "request").await;
    assert_eq!(store.take(&store.rita, "1.0.1", json!({ "step": "start" })).await, "IN_REVIEW");
    assert_eq!(store.take(&store.robert, "1.0.0", grant).await, "REJECTED");
    for step in [json!({ "step": "renew" }), json!({ "step": "reject", "comment": "Too slow" })] {
        assert_eq!(store.take(&store.rita, "1.0.1", step).await, "REVIEW_EXCLUDED");
    }
    assert_eq!(store.take(&store.robert, "1.0.1", json!({ "step": "take_over" })).await, "IN_REVIEW");
    assert_eq!(store.take(&store.rita, "1.0.1", json!({ "step": "take_over" })).await, "REVIEW_EXCLUDED");
    assert_eq!(store.take(&store.robert, "1.0.1", json!({ "step": "request_changes", "comment": "Name the licence" })).await, "IN_REVIEW");
    // One that is uploaded afterwards.
    store.upload("1.0.2").await;
    store.developer("1.0.2", "request").await;
    assert_eq!(store.take(&store.rita, "1.0.2", json!({ "step": "start" })).await, "REVIEW_EXCLUDED");
    assert_eq!(store.take(&store.robert, "1.0.2", json!({ "step": "start" })).await, "IN_REVIEW");
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

impl Store {
    /// Publishes a version, after a review if it needs one.
    async fn publish(&self, version: &str) {
        self.upload(version).await;
        if self.developer(version, "publish").await == "REVIEW_NEEDED" {
            self.developer(version, "request").await;
            self.take(&self.rita, version, json!({ "step": "start" })).await;
            self.take(&self.rita, version, Self::approval()).await;
            assert_eq!(self.developer(version, "publish").await, "PUBLISHED");
        }
    }

    /// The version in the catalogue and the one that tools install; the status of a refusal.
    async fn offered(&self) -> [Value; 2] {
        let did = self.publishing.version("hello", "1.0.0").did();
        let mut offered = [Value::Null, Value::Null];
        for (offered, path) in offered.iter_mut().zip([format!("/api/apps/{did}"), format!("/api/blocklets/{did}/blocklet.json")]) {
            let (status, answer) = self.publishing.app.call(&Who::Nobody, Method::GET, &path, &Value::Null).await;
            *offered = if status == 200 { answer["version"].clone() } else { json!(status) };
        }
        offered
    }

    /// The status, the type and the caching of a picture.
    async fn picture(&self, who: &Who, name: &str) -> (u16, String, String) {
        let did = self.publishing.version("hello", "1.0.0").did();
        let request = self.publishing.app.client.get(format!("/api/apps/{did}/{name}"));
        let request = if let Who::Cookie(token) = who { request.header("cookie", format!("login_token={token}")) } else { request };
        let response = request.send().await.0;
        let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
        (response.status().as_u16(), header("content-type"), header("cache-control"))
    }

    async fn download(&self, version: &str) -> (u16, Value) {
        let did = self.publishing.version("hello", "1.0.0").did();
        let (status, answer) =
            self.publishing.app.call(&Who::Nobody, Method::GET, &format!("/api/apps/{did}/{version}/bundle"), &Value::Null).await;
        (status, answer["code"].clone())
    }
}

#[tokio::test]
async fn a_yanked_version_is_no_longer_installed_and_the_highest_that_remains_is() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    store.publish("1.1.0").await;
    let admin = store.publishing.app.person(Some(Role::Admin)).await;
    let yank = json!({ "step": "yank", "comment": "It loses files" });
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", json!({ "step": "yank", "comment": "" })).await, "REVIEW_REASON_REQUIRED");
    assert_eq!(store.take(&store.rita, "1.1.0", yank.clone()).await, "forbidden", "reviewers judge versions only");
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", yank.clone()).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
    assert_eq!(store.download("1.1.0").await, (410, json!("VERSION_YANKED")));
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", yank.clone()).await, "REVIEW_ALREADY_YANKED");

    // Without any version, the app leaves the catalogue.
    assert_eq!(store.take(&admin, "1.0.0", yank).await, "PUBLISHED");
    assert_eq!(store.offered().await, [404, 404]);
    let listed = store.publishing.app.get(&Who::Nobody, "/api/apps").await;
    assert_eq!(listed["count"], 0);
    let undo = json!({ "step": "undo_yank" });
    assert_eq!(store.take(&store.publishing.developer, "1.0.0", undo.clone()).await, "REVIEW_YANKED_BY_STORE");
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", undo.clone()).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.1.0", "1.1.0"]);
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", undo).await, "REVIEW_NOT_YANKED");
    let thread = store.publishing.app.get(&store.publishing.developer, &store.path("1.1.0")).await;
    let kinds: Vec<_> = thread["thread"].as_array().expect("a thread").iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["yanked", "yank_undone"]);
}

#[tokio::test]
async fn a_version_with_blocked_content_is_not_offered_whatever_was_decided() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    store.publish("1.1.0").await;
    let (ctx, did) = (&store.publishing.app.ctx, store.publishing.version("hello", "1.2.0").did());
    let yank = json!({ "step": "yank", "comment": "It loses files" });
    assert_eq!(store.take(&store.publishing.developer, "1.1.0", yank).await, "PUBLISHED");
    store.upload("1.2.0").await;
    assert_eq!(store.take(&store.publishing.developer, "1.2.0", json!({ "step": "publish" })).await, "CHECKS_PENDING");
    for (version, step) in [("1.1.0", "undo_yank"), ("1.2.0", "publish")] {
        let number = parse_version(version).expect("a version");
        let found = ctx.store.read().await.expect("reads").uploads().find_version(&did, &number).await.expect("reads");
        let bundle = found.expect("is uploaded").bundle;
        block_digest(ctx, &bundle, "A miner").await.expect("blocks");
        assert_eq!(store.developer(version, step).await, "BLOCKED_CONTENT");
        assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
        unblock_digest(ctx, &bundle).await.expect("unblocks");
    }
    assert_eq!(store.developer("1.1.0", "undo_yank").await, "PUBLISHED");
    assert_eq!(store.developer("1.2.0", "publish").await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.2.0", "1.2.0"]);

    let former = parse_version("1.1.0").expect("a version");
    let found = ctx.store.read().await.expect("reads").uploads().find_version(&did, &former).await.expect("reads");
    block_digest(ctx, &found.expect("is uploaded").bundle, "A miner").await.expect("blocks");
    assert_eq!(store.developer("1.1.0", "roll_back").await, "BLOCKED_CONTENT");
    assert_eq!(store.offered().await, ["1.2.0", "1.2.0"], "it does not become what new installs get");
}

#[tokio::test]
async fn a_blocked_app_leaves_the_store_and_its_developer_reads_why() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let app = &store.publishing.app;
    let admin = app.person(Some(Role::Admin)).await;
    let block = json!({ "step": "block", "comment": "It sends passwords to strangers" });
    for who in [&store.rita, &store.publishing.developer] {
        assert_eq!(store.take(who, "1.0.0", block.clone()).await, "forbidden");
    }
    let long = json!({ "step": "block", "comment": "x".repeat(256) });
    assert_eq!(store.take(&admin, "1.0.0", long).await, "REVIEW_REASON_TOO_LONG");
    assert_eq!(store.take(&admin, "1.0.0", block.clone()).await, "PUBLISHED");
    assert_eq!(store.offered().await, [404, 404]);
    assert_eq!(store.download("1.0.0").await, (403, json!("APP_BLOCKED")));
    for picture in ["logo", "screenshots/0"] {
        assert_eq!(store.picture(&Who::Nobody, picture).await.0, 404);
        let shown = store.picture(&store.publishing.developer, picture).await;
        assert_eq!(shown, (200, "image/png".to_owned(), "private, no-store".to_owned()));
    }
    assert_eq!(app.get(&Who::Nobody, "/api/apps").await["count"], 0);
    let mine = app.get(&store.publishing.developer, "/api/developer/apps").await;
    assert_eq!(mine["list"][0]["block_reason"], "It sends passwords to strangers");
    assert_eq!(store.upload("1.1.0").await["code"], "APP_BLOCKED");
    assert_eq!(store.take(&admin, "1.0.0", block).await, "REVIEW_ALREADY_BLOCKED");
    assert_eq!(store.take(&admin, "1.0.0", json!({ "step": "unblock" })).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
    let shown = store.picture(&Who::Nobody, "logo").await;
    assert_eq!((shown.0, shown.1.as_str()), (200, "image/png"));
}

impl Store {
    /// Requires a deposit for each app, in the token of a payment method. Returns its currency.
    async fn require_deposits(&self, owner: &Who) -> CurrencyId {
        let app = &self.publishing.app;
        let (token, _) = app.currencies(owner).await;
        let stake_currency = "TBA".to_owned();
        let preferences =
            Preferences { review_required: true, permission_mode: PermissionMode::Staking, stake_currency, ..Preferences::default() };
        change_preferences(&app.ctx, 1, preferences).await.expect("are changed");
        CurrencyId::parse(&token).expect("an id")
    }

    /// Requires no deposits any more.
    async fn invite_developers(&self) {
        let preferences = Preferences { review_required: true, permission_mode: PermissionMode::Inviting, ..Preferences::default() };
        change_preferences(&self.publishing.app.ctx, 2, preferences).await.expect("are changed");
    }

    /// The network holds a deposit of one token for the app.
    async fn place_deposit(&self, token: &CurrencyId) {
        let (app, did) = (&self.publishing.app, self.publishing.version("hello", "1.0.0").did());
        let (now, amount) = (app.ctx.now(), Amount::new(1_000_000_000_000_000_000));
        let mut unit = app.ctx.store.begin().await.expect("begins");
        let owner = unit.reviews().find_app(&did).await.expect("reads").expect("an app").owner;
        let customer = Customer {
            id: CustomerId::new(now, app.ctx.random.as_ref()),
            mode: Mode::Test,
            did: owner.clone(),
            name: String::new(),
            email: String::new(),
            phone: String::new(),
            address: None,
            language: Language::English,
            created_at: now,
            updated_at: now,
        };
        let customer_id = unit.customers().upsert(&customer).await.expect("inserts").id;
        let currency = unit.methods().find_currency(token).await.expect("reads").expect("a currency");
        let stake = Stake {
            id: StakeId::new(now, app.ctx.random.as_ref()),
            mode: Mode::Test,
            customer_id,
            payer: owner,
            method_id: currency.method_id,
            currency_id: currency.id,
            subject: StakeSubject::App(did),
            purpose: StakePurpose::Publication,
            waiting_days: 30,
            amount_requested: amount,
            amount,
            amount_forfeited: Amount::ZERO,
            amount_returned: Amount::ZERO,
            reservation: None,
            status: StakeStatus::Held,
            release_reason: None,
            released_at: None,
            return_at: None,
            failure_count: 0,
            failure: None,
            reference: None,
            return_reference: None,
            checked_at: now,
            created_at: now,
            updated_at: now,
        };
        unit.stakes().insert(&stake).await.expect("inserts");
        unit.commit().await.expect("commits");
    }
}

#[tokio::test]
async fn an_app_is_published_only_with_its_deposit_which_a_block_may_keep() {
    let store = Store::open().await;
    let app = &store.publishing.app;
    let owner = app.owner().await;
    let token = store.require_deposits(&owner).await;
    store.upload("1.0.0").await;
    store.developer("1.0.0", "request").await;
    store.take(&store.rita, "1.0.0", json!({ "step": "start" })).await;
    assert_eq!(store.take(&store.rita, "1.0.0", Store::approval()).await, "APPROVED");
    assert_eq!(store.developer("1.0.0", "publish").await, "PUBLISH_DEPOSIT_REQUIRED");
    let path = format!("/api/apps/{}/deposit", store.publishing.version("hello", "1.0.0").did());
    let missing = app.get(&store.publishing.developer, &path).await;
    assert_eq!((&missing["required"], &missing["complete"], &missing["stake"]), (&json!(true), &json!(false), &Value::Null));
    let terms = &missing["terms"];
    assert_eq!((&terms["amount"], &terms["waiting_days"]), (&json!("1000000000000000000"), &json!(30)));
    assert_eq!((&terms["currency"]["symbol"], &terms["method"]), (&json!("TBA"), &json!("arcblock")));
    store.place_deposit(&token).await;
    assert_eq!(app.get(&store.publishing.developer, &path).await["complete"], true);
    assert_eq!(store.developer("1.0.0", "publish").await, "PUBLISHED");

    let admin = app.person(Some(Role::Admin)).await;
    let block = json!({ "step": "block", "comment": "It sends passwords to strangers", "forfeit_deposit": true });
    assert_eq!(store.take(&admin, "1.0.0", block.clone()).await, "PUBLISHED");
    let kept = app.get(&store.publishing.developer, &path).await;
    assert_eq!((&kept["complete"], &kept["stake"]["release_reason"]), (&json!(false), &json!("forfeited")), "{kept}");
    assert_eq!((&kept["stake"]["app_did"], &kept["stake"]["waiting_days"]), (&json!(path.split('/').nth(3)), &json!(30)));
    assert_eq!(store.offered().await, [404, 404]);
    let log = app.get(&owner, "/api/audit-log?operation=app.block_and_forfeit").await;
    assert_eq!(log["count"], 1, "{log}");

    // The order is not given twice, and without a deposit the app is not offered again.
    assert_eq!(app.call(&store.publishing.developer, Method::DELETE, &path, &Value::Null).await.1["code"], "APP_HAS_NO_DEPOSIT");
    assert_eq!(store.take(&admin, "1.0.0", block).await, "APP_HAS_NO_DEPOSIT");
    let unblock = json!({ "step": "unblock" });
    assert_eq!(store.take(&admin, "1.0.0", unblock.clone()).await, "PUBLISH_DEPOSIT_REQUIRED");
    assert_eq!(app.get(&owner, "/api/audit-log?operation=app.block_and_forfeit").await["count"], 1);
    assert_eq!(app.get(&owner, "/api/audit-log?operation=app.unblock").await["count"], 0);
    store.invite_developers().await;
    assert_eq!(store.take(&admin, "1.0.0", unblock).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
}

#[tokio::test]
async fn the_deposit_of_a_blocked_app_can_be_kept_for_another_reason() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let app = &store.publishing.app;
    let owner = app.owner().await;
    let token = store.require_deposits(&owner).await;
    store.place_deposit(&token).await;
    let admin = app.person(Some(Role::Admin)).await;
    let block = |reason: &str, forfeits: bool| json!({ "step": "block", "comment": reason, "forfeit_deposit": forfeits });
    assert_eq!(store.take(&admin, "1.0.0", block("It loses files", false)).await, "PUBLISHED");
    assert_eq!(store.take(&admin, "1.0.0", block("It loses files", false)).await, "REVIEW_ALREADY_BLOCKED");
    for who in [&store.rita, &store.publishing.developer] {
        assert_eq!(store.take(who, "1.0.0", block("It spies on its users", true)).await, "forbidden");
    }
    assert_eq!(store.take(&admin, "1.0.0", block(" ", true)).await, "REVIEW_REASON_REQUIRED");
    let misplaced = json!({ "step": "unblock", "forfeit_deposit": true });
    assert_eq!(store.take(&admin, "1.0.0", misplaced).await, "INVALID");
    assert_eq!(store.take(&admin, "1.0.0", block("It spies on its users", true)).await, "PUBLISHED");
    let path = format!("/api/apps/{}/deposit", store.publishing.version("hello", "1.0.0").did());
    assert_eq!(app.get(&store.publishing.developer, &path).await["stake"]["release_reason"], "forfeited");
    let mine = app.get(&store.publishing.developer, "/api/developer/apps").await;
    assert_eq!(mine["list"][0]["block_reason"], "It spies on its users");
    let shown = store.shown("1.0.0").await;
    let last = shown["thread"].as_array().and_then(|thread| thread.last()).expect("an entry");
    assert_eq!(
        (&last["kind"], &last["comment"], &last["role"]),
        (&json!("deposit_kept"), &json!("It spies on its users"), &json!("admin"))
    );
    assert_eq!(store.offered().await, [404, 404]);
    let log = app.get(&Who::Nobody, "/api/publication-log").await;
    let actions: Vec<_> = log["list"].as_array().expect("entries").iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, [json!("publish"), json!("block")], "it was blocked once");
}

#[tokio::test]
async fn an_app_that_offered_nothing_when_its_deposit_was_taken_back_is_not_offered_again_without_one() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    store.publish("1.1.0").await;
    let (app, developer) = (&store.publishing.app, &store.publishing.developer);
    let owner = app.owner().await;
    let token = store.require_deposits(&owner).await;
    store.place_deposit(&token).await;
    for version in ["1.0.0", "1.1.0"] {
        assert_eq!(store.take(developer, version, json!({ "step": "yank", "comment": "It loses files" })).await, "PUBLISHED");
    }
    let path = format!("/api/apps/{}/deposit", store.publishing.version("hello", "1.0.0").did());
    assert_eq!(app.call(developer, Method::DELETE, &path, &Value::Null).await.0, 200);
    let mine = app.get(developer, "/api/developer/apps").await;
    assert_eq!(mine["list"][0]["block_reason"], Value::Null, "it offers nothing");
    let admin = app.person(Some(Role::Admin)).await;
    let undo = json!({ "step": "undo_yank" });
    for who in [developer, &admin] {
        assert_eq!(store.take(who, "1.1.0", undo.clone()).await, "PUBLISH_DEPOSIT_REQUIRED");
    }
    assert_eq!(store.offered().await, [404, 404]);
    store.invite_developers().await;
    assert_eq!(store.take(developer, "1.1.0", undo).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.1.0", "1.1.0"]);
}

#[tokio::test]
async fn a_block_that_would_keep_a_missing_deposit_is_refused() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let admin = store.publishing.app.person(Some(Role::Admin)).await;
    let block = json!({ "step": "block", "comment": "It loses files", "forfeit_deposit": true });
    assert_eq!(store.take(&admin, "1.0.0", block).await, "APP_HAS_NO_DEPOSIT");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
}

#[tokio::test]
async fn a_developer_who_takes_a_deposit_back_withdraws_the_app() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let app = &store.publishing.app;
    let owner = app.owner().await;
    let token = store.require_deposits(&owner).await;
    store.place_deposit(&token).await;
    let path = format!("/api/apps/{}/deposit", store.publishing.version("hello", "1.0.0").did());
    assert_eq!(app.call(&store.rita, Method::DELETE, &path, &Value::Null).await.0, 404, "it is not hers");
    let (status, taken) = app.call(&store.publishing.developer, Method::DELETE, &path, &Value::Null).await;
    assert_eq!((status, &taken["stake"]["release_reason"]), (200, &json!("requested")), "{taken}");
    let mine = app.get(&store.publishing.developer, "/api/developer/apps").await;
    assert_eq!(mine["list"][0]["block_reason"], "publish stake revoked by developer");
    assert_eq!(store.offered().await, [404, 404]);
    let log = app.get(&Who::Nobody, "/api/publication-log").await;
    let actions: Vec<_> = log["list"].as_array().expect("entries").iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, [json!("publish"), json!("block")]);
}

#[tokio::test]
async fn an_app_whose_versions_are_all_yanked_stays_away_when_its_block_ends() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let admin = store.publishing.app.person(Some(Role::Admin)).await;
    let developer = &store.publishing.developer;
    for (who, step) in [(developer, "yank"), (&admin, "block"), (&admin, "unblock")] {
        assert_eq!(store.take(who, "1.0.0", json!({ "step": step, "comment": "It loses data" })).await, "PUBLISHED", "{step}");
        assert_eq!(store.offered().await, [404, 404], "{step}");
    }
    assert_eq!(store.take(developer, "1.0.0", json!({ "step": "undo_yank" })).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
}

#[tokio::test]
async fn anybody_reads_the_log_of_publications_and_checks_its_hashes() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let app = &store.publishing.app;
    let admin = app.person(Some(Role::Admin)).await;
    for step in [
        json!({ "step": "yank", "comment": "It loses files" }),
        json!({ "step": "undo_yank" }),
        json!({ "step": "block", "comment": "It loses files" }),
        json!({ "step": "unblock" }),
    ] {
        assert_eq!(store.take(&admin, "1.0.0", step).await, "PUBLISHED");
    }
    let log = app.get(&Who::Nobody, "/api/publication-log").await;
    let list = log["list"].as_array().expect("entries");
    let actions: Vec<_> = list.iter().map(|entry| entry["action"].as_str().expect("an action")).collect();
    assert_eq!(actions, ["publish", "yank", "undo_yank", "block", "unblock"]);
    let mut previous = "0".repeat(64);
    for entry in list {
        let lines = ["sequence", "created_at", "action", "app_digest", "version", "document", "previous"].map(|name| match &entry[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            number => number.to_string(),
        });
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(entry["hash"], hex::encode(Sha256::digest(text)), "{entry}");
        assert_eq!(entry["previous"], previous);
        entry["hash"].as_str().expect("a hash").clone_into(&mut previous);
    }
    assert_eq!((&log["count"], &log["head"]), (&json!(5), &json!(previous)));
    let path = format!("/api/blocklets/{}/1.0.0/blocklet.json", store.publishing.version("hello", "1.0.0").did());
    let document = app.client.get(path).send().await.0.take_body().into_vec().await.expect("a document");
    assert_eq!(list[0]["document"], hex::encode(Sha256::digest(document)));
    let page = app.get(&Who::Nobody, "/api/publication-log?after=3&limit=1").await;
    assert_eq!((page["list"].as_array().map(Vec::len), &page["list"][0]["sequence"]), (Some(1), &json!(4)));
}

impl Store {
    /// Publishes a version as the job of the store does.
    async fn publish_by_store(&self, version: &str) -> StorePublication {
        self.publishing.publish_by_store(version).await
    }

    /// Stores that all checks of a version have passed, but these.
    async fn check(&self, version: &str, failed: &[CheckName]) {
        self.publishing.check(version, failed).await;
    }

    async fn schedule(&self, version: &str, seconds: u64) -> String {
        let at = self.publishing.app.ctx.now().plus(Duration::from_secs(seconds)).to_iso();
        self.take(&self.publishing.developer, version, json!({ "step": "schedule", "publish_at": at })).await
    }

    async fn shown(&self, version: &str) -> Value {
        self.publishing.app.get(&self.publishing.developer, &self.path(version)).await
    }
}

#[tokio::test]
async fn a_scheduled_version_is_published_at_its_time_or_when_it_is_approved_if_that_is_later() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    assert_eq!(store.schedule("1.0.0", 0).await, "SCHEDULE_IN_PAST");
    assert_eq!(store.schedule("1.0.0", 366 * 86_400).await, "SCHEDULE_TOO_FAR");
    let invalid = json!({ "step": "schedule", "publish_at": "tomorrow" });
    assert_eq!(store.take(&store.publishing.developer, "1.0.0", invalid).await, "INVALID");
    assert_eq!(store.schedule("1.0.0", 60).await, "DRAFT");
    assert_eq!(store.developer("1.0.0", "unschedule").await, "DRAFT");
    assert_eq!(store.developer("1.0.0", "unschedule").await, "REVIEW_NOT_SCHEDULED");
    assert_eq!(store.schedule("1.0.0", 60).await, "DRAFT");
    store.developer("1.0.0", "request").await;
    assert!(matches!(store.publish_by_store("1.0.0").await, StorePublication::Later(_)));
    store.publishing.app.clock.advance(Duration::from_secs(61));
    assert!(matches!(store.publish_by_store("1.0.0").await, StorePublication::Later(_)), "its checks have no result yet");
    store.check("1.0.0", &[]).await;
    store.publish_by_store("1.0.0").await;
    assert_eq!(store.offered().await, [404, 404], "it waits for its review");
    store.take(&store.rita, "1.0.0", json!({ "step": "start" })).await;
    store.take(&store.rita, "1.0.0", Store::approval()).await;
    store.publish_by_store("1.0.0").await;
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
    let shown = store.shown("1.0.0").await;
    assert_eq!(shown["version"]["publish_at"], Value::Null);
    assert_eq!(shown["thread"].as_array().and_then(|thread| thread.last()).map(|last| &last["role"]), Some(&json!("system")));
}

#[tokio::test]
async fn a_scheduled_version_that_may_not_be_published_any_more_is_not_scheduled_any_more() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    store.upload("1.1.0").await;
    assert_eq!(store.schedule("1.1.0", 60).await, "DRAFT");
    let admin = store.publishing.app.person(Some(Role::Admin)).await;
    store.take(&admin, "1.1.0", json!({ "step": "block", "comment": "It loses files" })).await;
    store.publishing.app.clock.advance(Duration::from_secs(61));
    store.check("1.1.0", &[]).await;
    store.publish_by_store("1.1.0").await;
    let shown = store.shown("1.1.0").await;
    assert_eq!((&shown["version"]["status"], &shown["version"]["publish_at"]), (&json!("DRAFT"), &Value::Null));

    // One of its checks has failed.
    store.take(&admin, "1.1.0", json!({ "step": "unblock" })).await;
    assert_eq!(store.schedule("1.1.0", 60).await, "DRAFT");
    store.publishing.app.clock.advance(Duration::from_secs(61));
    store.check("1.1.0", &[CheckName::BlockedDigests]).await;
    store.publish_by_store("1.1.0").await;
    let shown = store.shown("1.1.0").await;
    assert_eq!((&shown["version"]["status"], &shown["version"]["publish_at"]), (&json!("DRAFT"), &Value::Null));
}

#[tokio::test]
async fn a_scheduled_version_whose_review_nobody_has_requested_is_not_scheduled_any_more() {
    let store = Store::open().await;
    store.upload("1.0.0").await;
    assert_eq!(store.schedule("1.0.0", 60).await, "DRAFT");
    store.publishing.app.clock.advance(Duration::from_secs(61));
    store.check("1.0.0", &[]).await;
    store.publish_by_store("1.0.0").await;
    let shown = store.shown("1.0.0").await;
    assert_eq!((&shown["version"]["status"], &shown["version"]["publish_at"]), (&json!("DRAFT"), &Value::Null));
    let last = shown["thread"].as_array().and_then(|thread| thread.last()).expect("an entry").clone();
    assert_eq!((&last["kind"], &last["role"]), (&json!("unscheduled"), &json!("system")));
}

#[tokio::test]
async fn the_store_publishes_updates_by_itself_as_long_as_the_developer_wants_that() {
    let store = Store::open().await;
    let (app, developer) = (&store.publishing.app, &store.publishing.developer);
    let path = format!("/api/developer/apps/{}/auto-publish", store.publishing.version("hello", "1.0.0").did());
    store.upload("1.0.0").await;
    assert_eq!(app.ordered(Topic::PublishVersion).await, 0, "it is off");
    let on = app.put(developer, &path, json!({ "days": 365 })).await;
    assert!(on["auto_publish_until"].is_string(), "{on}");
    store.check("1.0.0", &[]).await;
    store.publish_by_store("1.0.0").await;
    assert_eq!(store.offered().await, [404, 404], "the first version is published by its developer");
    assert_eq!(store.shown("1.0.0").await["published_by_store"], false);
    store.publish("1.0.0").await;
    let ordered = app.ordered(Topic::PublishVersion).await;
    store.upload("1.1.0").await;
    let shown = store.shown("1.1.0").await;
    assert_eq!((&shown["published_by_store"], &shown["base"]), (&json!(true), &json!("1.0.0")));
    assert_eq!(app.ordered(Topic::PublishVersion).await, ordered + 1);
    store.check("1.1.0", &[CheckName::Secrets]).await;
    let mails = app.ordered(Topic::ReviewMail).await;
    for _ in 0..2 {
        store.publish_by_store("1.1.0").await;
    }
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"], "a check has failed");
    let shown = store.shown("1.1.0").await;
    let last = shown["thread"].as_array().and_then(|thread| thread.last()).expect("an entry");
    assert_eq!((&last["kind"], &last["comment"]), (&json!("not_published"), &json!("checks_failed")));
    assert_eq!(app.ordered(Topic::ReviewMail).await, mails + 1, "its developer gets one email");
    store.check("1.1.0", &[]).await;
    store.publish_by_store("1.1.0").await;
    assert_eq!(store.offered().await, ["1.1.0", "1.1.0"]);
    for days in [0, 366] {
        let refused = app.refused(developer, Method::PUT, &path, json!({ "days": days })).await;
        assert_eq!(refused, (400, "Automatic publishing lasts 1 to 365 days".to_owned()));
    }
    assert_eq!(app.refused(&store.rita, Method::PUT, &path, json!({ "days": 1 })).await.0, 404, "only the developer of the app");
    // What was uploaded before it ends is not published after it.
    store.upload("1.2.0").await;
    store.check("1.2.0", &[]).await;
    assert_eq!(app.put(developer, &path, json!({ "days": null })).await["auto_publish_until"], Value::Null);
    store.publish_by_store("1.2.0").await;
    assert_eq!(store.offered().await, ["1.1.0", "1.1.0"]);
    app.put(developer, &path, json!({ "days": 1 })).await;
    app.clock.advance(Duration::from_secs(86_401));
    store.publish_by_store("1.2.0").await;
    assert_eq!(store.offered().await, ["1.1.0", "1.1.0"]);
    let ordered = app.ordered(Topic::PublishVersion).await;
    store.upload("1.3.0").await;
    assert_eq!(app.ordered(Topic::PublishVersion).await, ordered, "it is off");
}

#[tokio::test]
async fn the_answer_to_an_upload_says_published_only_of_what_the_store_offers() {
    let store = Store::open().await;
    let (app, developer, did) = (&store.publishing.app, &store.publishing.developer, store.publishing.version("hello", "1.0.0").did());
    let outcome = async |version: &str| upload_outcome(&app.ctx, &did, &version.parse().expect("a version")).await.expect("reads");
    store.upload("1.0.0").await;
    assert_eq!(outcome("1.0.0").await, UploadOutcome::Waiting, "its developer publishes the first version");
    store.publish("1.0.0").await;
    assert_eq!(outcome("1.0.0").await, UploadOutcome::Published);
    app.put(developer, &format!("/api/developer/apps/{did}/auto-publish"), json!({ "days": 30 })).await;
    store.upload("1.1.0").await;
    assert_eq!(outcome("1.1.0").await, UploadOutcome::BeingPublished, "its checks have no results yet");
    store.check("1.1.0", &[CheckName::Secrets]).await;
    assert_eq!(outcome("1.1.0").await, UploadOutcome::Waiting, "a check has failed");
    store.publish_by_store("1.1.0").await;
    store.check("1.1.0", &[]).await;
    assert_eq!(outcome("1.1.0").await, UploadOutcome::Waiting, "the store has told its developer that it does not publish it");
    store.upload("1.2.0").await;
    assert_eq!(store.schedule("1.2.0", 60).await, "DRAFT");
    assert_eq!(outcome("1.2.0").await, UploadOutcome::Waiting, "it is scheduled");
    assert_eq!(store.take(developer, "1.0.0", json!({ "step": "yank", "comment": "Broken" })).await, "PUBLISHED");
    assert_eq!(outcome("1.0.0").await, UploadOutcome::Waiting, "it is withdrawn");
}

#[tokio::test]
async fn an_app_is_rolled_back_until_its_next_update() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    store.publish("1.1.0").await;
    let developer = &store.publishing.developer;
    let back = json!({ "step": "roll_back" });
    assert_eq!(store.take(&store.rita, "1.0.0", back.clone()).await, "forbidden");
    assert_eq!(store.take(developer, "1.0.0", back.clone()).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
    assert_eq!(store.take(developer, "1.0.0", back.clone()).await, "REVIEW_ALREADY_CURRENT");
    store.publish("1.2.0-beta").await;
    assert_eq!(store.take(developer, "1.2.0-beta", back.clone()).await, "REVIEW_PRE_RELEASE");
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"], "a pre-release does not end a rollback");
    let bundle = format!("/api/apps/{}/1.1.0/bundle", store.publishing.version("hello", "1.1.0").did());
    assert_eq!(store.publishing.app.client.get(bundle).send().await.0.status(), StatusCode::OK, "it is still offered");
    store.publish("1.2.0").await;
    assert_eq!(store.offered().await, ["1.2.0", "1.2.0"]);
    assert_eq!(store.take(developer, "1.1.0", json!({ "step": "yank", "comment": "Broken" })).await, "PUBLISHED");
    assert_eq!(store.take(developer, "1.1.0", back.clone()).await, "REVIEW_WITHDRAWN");
    assert_eq!(store.take(developer, "1.0.0", back).await, "PUBLISHED");
    assert_eq!(store.take(developer, "1.0.0", json!({ "step": "yank", "comment": "Broken" })).await, "PUBLISHED");
    assert_eq!(store.offered().await, ["1.2.0", "1.2.0"], "a withdrawn version is no target of a rollback");
    let log = store.publishing.app.get(&Who::Nobody, "/api/publication-log").await;
    let rollbacks = log["list"].as_array().expect("entries").iter().filter(|entry| entry["action"] == "rollback");
    assert_eq!(rollbacks.map(|entry| entry["version"].clone()).collect::<Vec<_>>(), ["1.0.0", "1.0.0"]);
}

#[tokio::test]
async fn a_private_app_is_found_by_its_link_and_in_no_list() {
    let store = Store::open().await;
    store.publish("1.0.0").await;
    let (app, developer) = (&store.publishing.app, &store.publishing.developer);
    let path = format!("/api/developer/apps/{}/visibility", store.publishing.version("hello", "1.0.0").did());
    let listed = async || app.get(&Who::Nobody, "/api/apps?keyword=hello").await["count"].clone();
    assert_eq!(listed().await, 1);
    assert_eq!(app.refused(&store.rita, Method::PUT, &path, json!({ "private": true })).await.0, 404);
    assert_eq!(app.put(developer, &path, json!({ "private": true })).await["private"], true);
    assert_eq!(listed().await, 0);
    assert_eq!(store.offered().await, ["1.0.0", "1.0.0"]);
    store.publish("1.1.0").await;
    assert_eq!(listed().await, 0, "an update does not list it");
    app.put(developer, &path, json!({ "private": false })).await;
    assert_eq!(listed().await, 1);
}
