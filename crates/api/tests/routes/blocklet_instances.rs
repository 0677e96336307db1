//! `/api/blocklet-instances` and `/api/blocklets/{did}/instances`.

use crate::app::TestApp;
use poem::http::Method;
use serde_json::{Map, Value, json};
use souk_adapters::identity::AppKey;
use souk_adapters::on_both;
use souk_adapters::testing::{SiteAnswer, site};
use std::time::Duration;

const PATH: &str = "/api/blocklet-instances";

/// An instance that answers at an address.
struct Instance {
    key: AppKey,
    url: String,
    app: String,
}

impl Instance {
    async fn of(store: &TestApp) -> Self {
        let key = AppKey::from_seed(&[21; 32]);
        let answer = format!("window.blocklet = {{\"appId\":\"{}\"}};", key.did());
        let url = site(move |path| match path.starts_with("/.well-known/service/__blocklet__.js") {
            true => SiteAnswer::ok(answer.clone()),
            false => SiteAnswer { status: 404, ..SiteAnswer::ok("a secret of the target") },
        })
        .await;
        Self { key, url, app: store.shop.atlas.app.to_string() }
    }

    fn path(&self) -> String {
        format!("{PATH}/{}", self.key.did())
    }

    fn body(&self, store: &TestApp) -> Value {
        json!({
            "appPK": self.key.public_key_base58(), "appId": self.key.did().as_str(),
            "appToken": self.key.sign_envelope(Map::new(), store.ctx.now()), "appUrl": self.url, "blockletDid": self.app,
            "ownerDid": AppKey::from_seed(&[22; 32]).did().as_str(),
        })
    }
}

on_both! {
    async fn an_instance_lists_itself_renews_itself_and_leaves(db: &TestDatabase) {
        let store = TestApp::on(db).await;
        let (instance, server) = (Instance::of(&store).await, store.browser());
        let shown = format!("/api/blocklets/{}/instances", instance.app);
        assert_eq!(server.get(&instance.path()).await.ok(), Value::Null);
        assert_eq!(server.get(&shown).await.ok(), json!([]));
        let listed = server.put(&instance.path(), &instance.body(&store)).await.ok();
        let facts = (&listed["appId"], &listed["blockletDid"], &listed["appUrl"]);
        assert_eq!(facts, (&json!(instance.key.did().as_str()), &json!(instance.app), &json!(instance.url)));
        assert_eq!(server.get(&instance.path()).await.ok(), listed);
        assert_eq!(server.get(&shown).await.ok(), json!([listed]));
        store.advance(Duration::from_secs(60));
        let renewed = server.put(&instance.path(), &instance.body(&store)).await.ok();
        assert_eq!(renewed["createdAt"], listed["createdAt"]);
        assert_ne!(renewed["updatedAt"], listed["updatedAt"]);
        let leave = async || server.call(Method::DELETE, &instance.path()).json(&instance.body(&store)).send().await;
        assert_eq!(leave().await.refused(400)["code"], "INSTANCE_TOKEN_USED", "the proof of the renewal");
        for was_listed in [1, 0] {
            store.advance(Duration::from_secs(1));
            assert_eq!(leave().await.ok(), json!(was_listed));
        }
        assert_eq!(server.get(&shown).await.ok(), json!([]));
        store.finish().await;
    }
}

#[tokio::test]
async fn an_instance_that_proves_nothing_is_refused_without_what_its_address_answers() {
    let store = TestApp::open().await;
    let (instance, server) = (Instance::of(&store).await, store.browser());
    let with = |name: &str, value: Value| {
        let mut body = instance.body(&store);
        body[name] = value;
        body
    };
    for (body, code, message) in [
        (json!({}), "INSTANCE_PARAMETER_REQUIRED", "The parameter appPK is required"),
        (with("appId", json!(instance.app)), "INSTANCE_NOT_APPLICATION", "The parameter appId is not application id"),
        (with("appToken", json!("a.b.c")), "INSTANCE_PARAMETER_INVALID", "The parameter appToken is invalid"),
        (with("blockletDid", json!(instance.key.did().as_str())), "INSTANCE_APP_UNKNOWN", "The blocklet does not exist"),
        (with("appUrl", json!(format!("{}/elsewhere", instance.url))), "INSTANCE_UNKNOWN", "The blocklet instance does not exist"),
        (with("appUrl", json!("http://127.0.0.1:1")), "INSTANCE_UNKNOWN", "The blocklet instance does not exist"),
    ] {
        let refused = server.put(&instance.path(), &body).await.refused(400);
        assert_eq!((&refused["code"], &refused["error"]), (&json!(code), &json!(message)), "{body}");
        assert!(!refused.to_string().contains("secret of the target"), "{refused}");
    }
    let other = format!("{PATH}/{}", AppKey::from_seed(&[22; 32]).did());
    let refused = server.put(&other, &instance.body(&store)).await.refused(400);
    assert_eq!(refused["error"], "The parameter appId is invalid");
    let old = instance.body(&store);
    store.advance(Duration::from_secs(600));
    assert_eq!(server.put(&instance.path(), &old).await.refused(400)["error"], "The parameter appToken is invalid");
    assert_eq!(server.get(&format!("{PATH}/nonsense")).await.ok(), Value::Null);
    assert_eq!(server.get("/api/blocklets/nonsense/instances").await.ok(), json!([]));
    store.finish().await;
}

#[tokio::test]
async fn one_address_lists_instances_at_a_limited_rate() {
    let store = TestApp::open().await;
    let (instance, server) = (Instance::of(&store).await, store.browser().connecting_from("192.0.2.7:1000"));
    let mut answers = 0;
    let refused = loop {
        let answer = server.put(&instance.path(), &json!({})).await;
        answers += 1;
        assert!(answers < 200, "no call is refused");
        if answer.status != 400 {
            break answer;
        }
    };
    assert!(answers > 10, "the burst is {answers}");
    assert_eq!(refused.refused(429)["code"], "TOO_MANY_REQUESTS");
    store.finish().await;
}
