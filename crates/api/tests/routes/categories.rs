//! `/api/console/categories`.

use crate::app::{Answer, Browser, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;

const CATEGORIES: &str = "/api/console/categories";

fn named(en: &str, zh: &str) -> Value {
    json!({ "name": { "en": en, "zh": zh } })
}

async fn delete(browser: &Browser, id: &Value) -> Answer {
    browser.call(Method::DELETE, &format!("{CATEGORIES}/{}", id.as_str().expect("an id"))).send().await
}

on_both! {
    async fn an_administrator_creates_renames_moves_and_deletes_categories(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (owner, visitor) = (app.owner().await.browser, app.browser());
        let created = owner.post(CATEGORIES, &named(" Small  games ", "小游戏")).await.ok();
        let name = json!({ "en": "Small games", "zh": "小游戏" });
        assert_eq!((&created["slug"], &created["name"], &created["app_count"]), (&json!("small-games"), &name, &json!(0)));
        let path = format!("{CATEGORIES}/{}", created["id"].as_str().expect("an id"));
        let renamed = owner.put(&path, &named("Play", "玩")).await.ok();
        assert_eq!((&renamed["slug"], &renamed["name"]["en"]), (&json!("small-games"), &json!("Play")));
        owner.put(&path, &json!({ "position": 0 })).await.ok();
        let slugs = async || {
            let shown = visitor.get("/api/categories").await.ok();
            shown["list"].as_array().expect("a list").iter().map(|category| category["slug"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(slugs().await, ["small-games", "tools"], "the store shows the order");

        let tools = owner.get(CATEGORIES).await.ok()["list"][1].clone();
        assert_eq!(tools["slug"], "tools");
        let refused = delete(&owner, &tools["id"]).await.refused(409);
        assert_eq!((&refused["code"], &refused["params"]["count"]), (&json!("CATEGORY_IN_USE"), &json!(tools["app_count"].to_string())));
        assert_eq!(delete(&owner, &created["id"]).await.ok()["count"], 1);
        assert_eq!(slugs().await, ["tools"]);
        delete(&owner, &created["id"]).await.refused(404);

        let log = owner.get("/api/audit-log").await.ok();
        let entries = log["list"].as_array().expect("a list");
        let mut operations: Vec<_> = entries.iter().map(|entry| entry["operation"].as_str().expect("a code")).collect();
        operations.sort_unstable();
        assert_eq!(operations, ["category.create", "category.delete", "category.update", "category.update"]);
        for entry in entries {
            assert_eq!((&entry["objects"], &entry["livemode"]), (&json!([created["id"]]), &Value::Null), "{entry}");
        }
        app.finish().await;
    }
}

#[tokio::test]
async fn a_name_is_refused_with_its_language() {
    let app = TestApp::open().await;
    let owner = app.owner().await.browser;
    let long = "图".repeat(41);
    for (en, zh, status, code, language) in [
        ("", "工具二", 400, "CATEGORY_NAME_REQUIRED", "en"),
        ("More tools", " ", 400, "CATEGORY_NAME_REQUIRED", "zh"),
        ("More tools", long.as_str(), 400, "CATEGORY_NAME_TOO_LONG", "zh"),
        ("Tools & more", "工具二", 400, "CATEGORY_NAME_CHARACTERS", "en"),
        ("TOOLS", "工具二", 409, "CATEGORY_NAME_TAKEN", "en"),
        ("More tools", "工具", 409, "CATEGORY_NAME_TAKEN", "zh"),
    ] {
        let refused = owner.post(CATEGORIES, &named(en, zh)).await.refused(status);
        assert_eq!((&refused["code"], &refused["params"]["language"]), (&json!(code), &json!(language)), "{en} {zh}");
    }
    owner.post(CATEGORIES, &json!({})).await.refused(400);
    assert_eq!(owner.post(&format!("{CATEGORIES}/default"), &json!({})).await.refused(409)["code"], "CATEGORIES_EXIST");
    assert_eq!(owner.get("/api/audit-log").await.ok()["count"], 0, "a refused call leaves no entry");
    app.finish().await;
}

#[tokio::test]
async fn a_repeated_creation_returns_the_category_even_if_its_answer_was_lost() {
    let app = TestApp::open().await;
    let owner = app.owner().await.browser;
    let send = async || {
        let call = owner.call(Method::POST, CATEGORIES).header("idempotency-key", "k").json(&named("Games", "游戏"));
        call.send().await
    };
    let first = send().await.ok();
    assert_eq!(send().await.ok(), first);
    app.execute("UPDATE idempotency_keys SET status = NULL, body = NULL, lease_until = claimed_at").await;
    assert_eq!(send().await.ok(), first);
    assert_eq!(owner.get(CATEGORIES).await.ok()["count"], 2);
    app.finish().await;
}
