//! `/api/console/apps`: all apps, for administrators.

use super::Publishing;
use crate::admin::app::Who;
use poem::http::Method;
use serde_json::{Value, json};
use souk_domain::access::{Did, Role, issue_passport};
use souk_domain::events::Topic;
use souk_domain::publishing::{PermissionMode, Preferences, change_preferences};
use souk_domain::shared::{CategoryId, Text};
use souk_domain::store::Category;

const APPS: &str = "/api/console/apps";

/// A store without reviews and with two categories, an administrator, and an app that was uploaded.
struct Store {
    publishing: Publishing,
    admin: Who,
    did: String,
}

impl Store {
    async fn open() -> Self {
        let publishing = Publishing::open().await;
        let app = &publishing.app;
        let preferences = Preferences { review_required: false, permission_mode: PermissionMode::Inviting, ..Preferences::default() };
        change_preferences(&app.ctx, 0, preferences).await.expect("are changed");
        let mut unit = app.ctx.store.begin().await.expect("begins");
        for (position, (slug, zh)) in (0_u32..).zip([("tools", "工具"), ("games", "游戏")]) {
            let id = CategoryId::parse(&format!("cat_{slug}")).expect("an id");
            let category = Category { id, slug: slug.to_owned(), name: Text::new(slug, zh), position };
            unit.apps().insert_category(&category).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let admin = app.person(Some(Role::Admin)).await;
        let version = publishing.version("hello", "1.0.0");
        assert_eq!(publishing.upload(&version.sign()).await.0, 200);
        let did = version.did().to_string();
        Self { publishing, admin, did }
    }

    async fn call(&self, who: &Who, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.publishing.app.call(who, method, path, &body).await
    }

    /// Takes a step on version 1.0.0.
    async fn take(&self, who: &Who, step: Value) {
        self.publishing.check_before(&step, &Did::from_verified(self.did.clone()), "1.0.0").await;
        let path = format!("/api/apps/{}/versions/1.0.0/review", self.did);
        let (status, answer) = self.call(who, Method::PUT, &path, step).await;
        assert_eq!(status, 200, "{answer}");
    }

    /// The app as the list has it.
    async fn listed(&self) -> Value {
        let list = self.publishing.app.get(&self.admin, APPS).await;
        assert_eq!(list["count"], 1, "{list}");
        list["list"][0].clone()
    }

    async fn set_category(&self, who: &Who, body: Value) -> (u16, Value) {
        self.call(who, Method::PUT, &format!("{APPS}/{}/category", self.did), body).await
    }
}

#[tokio::test]
async fn an_app_is_listed_from_its_upload_to_its_block() {
    let store = Store::open().await;
    let draft = store.listed().await;
    assert_eq!((&draft["name"], &draft["state"], &draft["developer_name"]), (&json!("hello"), &json!("unpublished"), &json!("Ada")));
    assert_eq!((&draft["title"], &draft["version"], &draft["category_id"]), (&Value::Null, &Value::Null, &Value::Null));
    let latest = json!({
        "version": "1.0.0", "status": "DRAFT", "changes_requested": false, "yanked_by": null, "type": "static", "source": "CLI"
    });
    assert_eq!((&draft["latest"], &draft["private"]), (&latest, &json!(false)));
    let (app, developer) = (&store.publishing.app, &store.publishing.developer);
    let own = async || app.get(developer, "/api/developer/apps").await["list"][0].clone();
    let unpublished = own().await;
    assert_eq!((&unpublished["latest_version"], &unpublished["version"]), (&latest, &Value::Null));
    assert_eq!(unpublished["published_at"], Value::Null);

    app.owner().await;
    let publish = json!({ "step": "publish", "category_id": "cat_tools" });
    store.take(developer, publish).await;
    assert_eq!(app.ordered(Topic::ReviewMail).await, 1, "the owner of the store learns of it");
    let published = own().await;
    assert_eq!((&published["latest_version"]["status"], &published["category_id"]), (&json!("PUBLISHED"), &json!("cat_tools")));
    assert_eq!((&published["version"], &published["downloads"]), (&json!("1.0.0"), &json!(0)));
    assert!(published["published_at"].is_string(), "{published}");
    let shown = store.listed().await;
    assert_eq!(
        (&shown["state"], &shown["version"], &shown["latest"]["status"]),
        (&json!("available"), &json!("1.0.0"), &json!("PUBLISHED"))
    );
    assert!(shown["title"]["en"].is_string(), "{shown}");

    store.take(&store.admin, json!({ "step": "block", "comment": "It sends passwords to strangers" })).await;
    let blocked = store.listed().await;
    assert_eq!((&blocked["state"], &blocked["block_reason"]), (&json!("blocked"), &json!("It sends passwords to strangers")));
    store.take(&store.admin, json!({ "step": "unblock" })).await;
    assert_eq!(store.listed().await["state"], "available");

    for (query, count) in [
        ("keyword=HELL", 1),
        ("keyword=other", 0),
        ("status=PUBLISHED", 1),
        ("status=DRAFT", 0),
        ("state=available", 1),
        ("state=blocked", 0),
    ] {
        assert_eq!(store.publishing.app.get(&store.admin, &format!("{APPS}?{query}")).await["count"], count, "{query}");
    }
    for query in ["status=FLYING", "state=nowhere"] {
        assert_eq!(store.call(&store.admin, Method::GET, &format!("{APPS}?{query}"), Value::Null).await.0, 400, "{query}");
    }
}

#[tokio::test]
async fn an_administrator_moves_an_app_and_chooses_which_versions_are_reviewed() {
    let store = Store::open().await;
    let (status, set) = store.set_category(&store.admin, json!({ "category_id": "cat_tools", "review_type": "FIRST" })).await;
    assert_eq!((status, &set["category_id"], &set["review_type"]), (200, &json!("cat_tools"), &json!("FIRST")), "{set}");
    // The category of the administrator needs no other one at the publication.
    store.take(&store.publishing.developer, json!({ "step": "publish" })).await;
    let (_, set) = store.set_category(&store.admin, json!({ "category_id": "cat_games" })).await;
    assert_eq!((&set["category_id"], &set["review_type"]), (&json!("cat_games"), &json!("FIRST")));
    let shown = store.publishing.app.get(&Who::Nobody, &format!("/api/apps/{}", store.did)).await;
    assert_eq!(shown["category"]["slug"], "games", "visitors find it there at once");

    for (body, status, code) in [
        (json!({}), 400, "REVIEW_CATEGORY_REQUIRED"),
        (json!({ "category_id": "cat_9" }), 400, "CATEGORY_UNKNOWN"),
        (json!({ "category_id": "tools" }), 400, "INVALID"),
        (json!({ "category_id": "cat_tools", "review_type": "NEVER" }), 400, "INVALID"),
    ] {
        let refused = store.set_category(&store.admin, body.clone()).await;
        assert_eq!((refused.0, &refused.1["code"]), (status, &json!(code)), "{body}");
    }
    let owner = store.publishing.app.owner().await;
    let log = store.publishing.app.get(&owner, "/api/audit-log?operation=app.set_category").await;
    assert_eq!(log["count"], 2, "refused calls leave no entry");
    let objects = log["list"][0]["objects"].as_array().expect("objects").clone();
    assert!(objects.contains(&json!(store.did)), "{objects:?}");
}

#[tokio::test]
async fn nobody_chooses_whether_their_own_app_is_reviewed() {
    let store = Store::open().await;
    let developer = Did::from_verified(store.listed().await["developer"].as_str().expect("a DID").to_owned());
    issue_passport(&store.publishing.app.ctx, &developer, Role::Admin).await.expect("is issued");
    let themselves = &store.publishing.developer;
    let refused = store.set_category(themselves, json!({ "category_id": "cat_tools", "review_type": "FIRST" })).await;
    assert_eq!((refused.0, &refused.1["code"]), (403, &json!("REVIEW_TYPE_OF_OWN_APP")));
    assert_eq!(store.set_category(themselves, json!({ "category_id": "cat_tools" })).await.0, 200);
}
