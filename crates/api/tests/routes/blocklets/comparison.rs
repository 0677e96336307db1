//! What differs between a version and the published one.

use super::{Publishing, enroll_developer};
use crate::admin::app::Who;
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::testing::upload::{TestUpload, png};
use souk_domain::access::{Did, Role};
use souk_domain::shared::{CategoryId, Text};
use souk_domain::store::Category;

/// A store without reviews, and a reviewer.
struct Store {
    publishing: Publishing,
    rita: Who,
}

impl Store {
    async fn open() -> Self {
        let publishing = Publishing::open().await;
        let category = Category {
            id: CategoryId::parse("cat_1").expect("an id"),
            slug: "tools".to_owned(),
            name: Text::new("Tools", "工具"),
            position: 1,
        };
        let mut unit = publishing.app.ctx.store.begin().await.expect("begins");
        unit.apps().insert_category(&category).await.expect("inserts");
        unit.commit().await.expect("commits");
        let rita = publishing.app.enroll(Did::from_verified("z1rita".to_owned()), Some(Role::Reviewer)).await;
        Self { publishing, rita }
    }

    async fn upload(&self, upload: &TestUpload) {
        let (status, answer) = self.publishing.upload(&upload.sign()).await;
        assert_eq!(status, 200, "{answer}");
    }

    fn path(&self, version: &str, end: &str) -> String {
        format!("/api/apps/{}/versions/{version}/{end}", self.publishing.version("hello", version).did())
    }

    async fn compare(&self, version: &str) -> Value {
        self.publishing.app.get(&self.rita, &self.path(version, "comparison")).await
    }

    /// Runs the checks of a version, which list its files.
    async fn check(&self, version: &str) {
        self.publishing.run_checks(&self.publishing.version("hello", version).did(), version).await.expect("run");
    }
}

fn replace(upload: &mut TestUpload, path: &str, content: &[u8]) {
    upload.files.retain(|(name, _)| name != path);
    upload.files.push((path.to_owned(), content.to_vec()));
}

/// An update that changes something of every kind.
fn update(store: &Store) -> TestUpload {
    let component = json!({ "name": "other", "required": true, "source": { "url": "https://other.example/blocklet.json" } });
    let members = json!({
        "description": "Says hello\nto everybody",
        "license": "Apache-2.0",
        "scripts": { "preInstall": "node install.js" },
        "components": [component],
    });
    let mut upload = TestUpload { members, ..store.publishing.version("hello", "1.1.0") };
    replace(&mut upload, "blocklet.md", b"# Hello\n\nto everybody\n");
    replace(&mut upload, "index.js", b"console.log('hello, everybody');\n");
    replace(&mut upload, "install.js", b"1\n");
    replace(&mut upload, "screenshots/2.png", &png(1_280, 720, 9));
    upload.files.retain(|(path, _)| path != "LICENSE");
    upload
}

#[tokio::test]
async fn a_reviewer_sees_everything_that_an_update_changes() {
    let store = Store::open().await;
    store.upload(&store.publishing.version("hello", "1.0.0")).await;
    store.check("1.0.0").await;
    let publish = json!({ "step": "publish", "category_id": "cat_1" });
    let (status, answer) =
        store.publishing.app.call(&store.publishing.developer, Method::PUT, &store.path("1.0.0", "review"), &publish).await;
    assert_eq!((status, &answer["version"]["status"]), (200, &json!("PUBLISHED")), "{answer}");
    store.upload(&update(&store)).await;
    let comparison = store.compare("1.1.0").await;
    assert_eq!((&comparison["version"], &comparison["base"]), (&json!("1.1.0"), &json!("1.0.0")));
    assert_eq!(comparison["files"], Value::Null, "the checks have not run yet");
    assert_eq!(comparison["scripts"], json!([{ "name": "preInstall", "before": null, "after": "node install.js" }]));
    assert_eq!(comparison["dependencies"][0]["after"]["required"], json!(true), "{comparison}");
    let license = json!({ "name": "license", "before": "MIT", "after": "Apache-2.0" });
    assert_eq!(comparison["fields"], json!([license]), "{comparison}");
    let texts: Vec<_> =
        comparison["texts"].as_array().expect("texts").iter().map(|text| (text["kind"].clone(), text["path"].clone())).collect();
    let expected = [("description", ""), ("readme", "blocklet.md"), ("changelog", "CHANGELOG.md")];
    assert_eq!(texts, expected.map(|(kind, path)| (json!(kind), json!(path))));
    let lines = comparison["texts"][1]["hunks"][0]["lines"].as_array().expect("lines").clone();
    let line = |change: &str, text: &str| json!({ "change": change, "text": text });
    assert_eq!(lines, [line("same", "# Hello"), line("added", ""), line("added", "to everybody")]);
    let pictures = comparison["pictures"].as_array().expect("pictures");
    let changed: Vec<_> = pictures.iter().filter(|picture| picture["changed"] == json!(true)).map(|picture| &picture["number"]).collect();
    assert_eq!((pictures.len(), changed), (4, vec![&json!(2)]));

    store.check("1.1.0").await;
    let files = store.compare("1.1.0").await["files"].clone();
    let file = |path: &str, before: Value, after: Value| json!({ "path": path, "before": before, "after": after });
    let list = files["list"].as_array().expect("files");
    assert!(list.contains(&file("install.js", Value::Null, json!(2))), "{files}");
    assert!(list.contains(&file("LICENSE", json!(29), Value::Null)), "{files}");
    assert!(list.contains(&file("index.js", json!(22), json!(33))), "{files}");
    assert!(!list.iter().any(|file| file["path"] == "README.zh.md"), "it has not changed");
    assert_eq!((&files["count"], &files["cut"]), (&json!(list.len()), &json!(false)));
}

#[tokio::test]
async fn everything_of_a_first_version_is_new() {
    let store = Store::open().await;
    store.upload(&store.publishing.version("hello", "1.0.0")).await;
    store.check("1.0.0").await;
    let comparison = store.compare("1.0.0").await;
    assert_eq!(comparison["base"], Value::Null);
    let files = comparison["files"]["list"].as_array().expect("files");
    assert!(files.len() == 10 && files.iter().all(|file| file["before"].is_null()), "{comparison}");
    assert!(comparison["pictures"].as_array().expect("pictures").iter().all(|picture| picture["before"].is_null()));
}

/// The status of a read whose answer may be no text.
async fn status_of(store: &Store, who: &Who, path: &str) -> u16 {
    let request = store.publishing.app.client.get(path);
    let request = match who {
        Who::Cookie(token) => request.header("cookie", format!("login_token={token}")),
        Who::Nobody | Who::Key(_) => request,
    };
    request.send().await.0.status().as_u16()
}

#[tokio::test]
async fn comparisons_and_pictures_of_versions_exist_for_their_developer_and_for_reviewers_only() {
    let store = Store::open().await;
    store.upload(&store.publishing.version("hello", "1.0.0")).await;
    let comparison = store.compare("1.0.0").await;
    let sha256 = comparison["pictures"][0]["after"]["sha256"].as_str().expect("a digest");
    let app = &store.publishing.app;
    let other = TestUpload::new(2, "any", "1.0.0", app.ctx.now()).key;
    let (other, guest) = (enroll_developer(app, &other).await, app.person(None).await);
    for end in ["comparison".to_owned(), format!("pictures/{sha256}")] {
        let path = store.path("1.0.0", &end);
        for (who, status) in [(&Who::Nobody, 401), (&guest, 404), (&other, 404), (&store.rita, 200), (&store.publishing.developer, 200)] {
            assert_eq!(status_of(&store, who, &path).await, status, "{path} {who:?}");
        }
    }
    // A file of the bundle that is no picture, by whatever digest.
    for sha256 in ["0".repeat(64), "..%2f..%2fetc".to_owned()] {
        let path = store.path("1.0.0", &format!("pictures/{sha256}"));
        assert_eq!(status_of(&store, &store.rita, &path).await, 404);
    }
}
