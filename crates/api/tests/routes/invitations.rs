//! `/api/console/invitations`, `/api/console/developers` and `/api/invitations`.

use crate::app::{Answer, Buyer, Connect, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::Role;
use std::time::Duration;

const INVITATIONS: &str = "/api/console/invitations";
const DEVELOPERS: &str = "/api/console/developers";
const DAY: Duration = Duration::from_secs(86_400);

/// Creates an invitation. Returns the secret of its link.
async fn invite(admin: &Buyer, role: &str) -> String {
    let created = admin.browser.post(INVITATIONS, &json!({ "role": role, "lifetime_days": 7 })).await;
    assert_eq!(created.header("cache-control"), Some("no-store"));
    let link = created.ok()["link"].as_str().expect("a link").to_owned();
    let (address, secret) = link.split_once('#').expect("a secret after the #");
    assert_eq!(address, "https://souk.example/invitation");
    secret.to_owned()
}

async fn accept(user: &Buyer, secret: &str) -> Answer {
    user.browser.post("/api/invitations/accept", &json!({ "token": secret })).await
}

async fn delete(by: &Buyer, path: &str) -> Answer {
    by.browser.call(Method::DELETE, path).send().await
}

on_both! {
    async fn a_user_becomes_a_developer_by_a_link_that_works_once(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (owner, alice, bob) = (app.owner().await, app.sign_in("alice").await, app.sign_in("bob").await);
        let secret = invite(&owner, "developer").await;
        let listed = owner.browser.get(INVITATIONS).await;
        assert_eq!((&listed.ok()["list"][0]["status"], listed.text().contains(&secret)), (&json!("open"), false));
        let stored = app.count("SELECT count(*) AS n FROM invitations").await;
        assert_eq!(stored, 1);
        let offer = alice.browser.post("/api/invitations/preview", &json!({ "token": secret })).await.ok();
        assert_eq!((&offer["role"], &offer["invited_by"]), (&json!("developer"), &json!("owner Example")));
        alice.browser.get("/api/developer/access-tokens").await.refused(403);
        let session = accept(&alice, &secret).await.ok();
        assert_eq!(session["user"]["role"], "developer");
        alice.browser.get("/api/developer/access-tokens").await.ok();
        assert_eq!(accept(&bob, &secret).await.refused(403)["code"], "INVITATION_USED");
        let used = &owner.browser.get(INVITATIONS).await.ok()["list"][0];
        assert_eq!((&used["status"], &used["used_by"]), (&json!("used"), &json!(alice.wallet.did().as_str())));

        let holders = owner.browser.get(DEVELOPERS).await.ok();
        assert_eq!(holders["count"], 2);
        let developer = holders["list"].as_array().expect("a list").iter().find(|one| one["role"] == "developer").expect("is listed").clone();
        let expected = (json!(alice.wallet.did().as_str()), json!("alice Example"), json!(0));
        assert_eq!((developer["did"].clone(), developer["name"].clone(), developer["apps"].clone()), expected);
        let path = format!("{DEVELOPERS}/{}", developer["id"].as_str().expect("an id"));
        assert_eq!(delete(&owner, &path).await.ok()["count"], 1);
        alice.browser.get("/api/developer/access-tokens").await.refused(403);
        let log = owner.browser.get("/api/audit-log").await.ok();
        let mut operations: Vec<_> = log["list"].as_array().expect("a list").iter().map(|entry| entry["operation"].clone()).collect();
        operations.sort_by_key(Value::to_string);
        assert_eq!(operations, [json!("invitation.accept"), json!("invitation.create"), json!("passport.revoke")]);
        app.finish().await;
    }
}

#[tokio::test]
async fn an_invitation_that_cannot_be_accepted_says_why() {
    let app = TestApp::open().await;
    let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
    assert_eq!(accept(&alice, "unknown").await.refused(403)["code"], "INVITATION_INVALID");
    let secret = invite(&owner, "reviewer").await;
    let id = owner.browser.get(INVITATIONS).await.ok()["list"][0]["id"].as_str().expect("an id").to_owned();
    let revoked = delete(&owner, &format!("{INVITATIONS}/{id}")).await.ok();
    assert_eq!(revoked["list"][0]["status"], "revoked");
    assert_eq!(accept(&alice, &secret).await.refused(403)["code"], "INVITATION_REVOKED");
    let secret = invite(&owner, "reviewer").await;
    app.advance(DAY * 7);
    assert_eq!(accept(&alice, &secret).await.refused(403)["code"], "INVITATION_EXPIRED");
    let secret = invite(&owner, "reviewer").await;
    accept(&alice, &secret).await.ok();
    let again = invite(&owner, "reviewer").await;
    assert_eq!(accept(&alice, &again).await.refused(409)["code"], "PASSPORT_EXIST");
    app.browser().post("/api/invitations/accept", &json!({ "token": again })).await.refused(401);
    app.finish().await;
}

#[tokio::test]
async fn only_an_owner_gives_and_takes_the_role_of_an_admin() {
    let app = TestApp::open().await;
    let (owner, admin) = (app.owner().await, app.holder_of(Role::Admin).await);
    admin.browser.post(INVITATIONS, &json!({ "role": "admin", "lifetime_days": 7 })).await.refused(403);
    owner.browser.post(INVITATIONS, &json!({ "role": "owner", "lifetime_days": 7 })).await.refused(403);
    invite(&owner, "admin").await;
    invite(&admin, "reviewer").await;
    let holders = owner.browser.get(DEVELOPERS).await.ok();
    let path = |role: &str| {
        let holder = holders["list"].as_array().expect("a list").iter().find(|one| one["role"] == role).expect("is listed");
        format!("{DEVELOPERS}/{}", holder["id"].as_str().expect("an id"))
    };
    delete(&admin, &path("admin")).await.refused(403);
    delete(&owner, &path("owner")).await.refused(403);
    delete(&owner, &path("admin")).await.ok();
    admin.browser.get(DEVELOPERS).await.refused(403);
    app.finish().await;
}

#[tokio::test]
async fn invitations_and_revocations_need_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let owner = app.owner().await;
    app.advance(Duration::from_secs(3_600));
    let input = json!({ "role": "developer", "lifetime_days": 7 });
    assert_eq!(owner.browser.post(INVITATIONS, &input).await.refused(403)["code"], "SIGN_IN_AGAIN");
    assert_eq!(delete(&owner, &format!("{DEVELOPERS}/pass_1")).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&app, &owner.browser, "login", "").await.sign_in(&owner.wallet, "owner").await;
    owner.browser.post(INVITATIONS, &input).await.ok();
    delete(&owner, &format!("{DEVELOPERS}/pass_1")).await.refused(404);
    app.finish().await;
}
