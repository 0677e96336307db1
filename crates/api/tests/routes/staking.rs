//! `/api/developer-program` and `/api/console/blocked-users`: becoming a developer by a deposit, leaving, and blocked users.

use crate::app::plans::SKT;
use crate::app::{Answer, Buyer, Connect, TestApp, wallet};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::{Role, issue_passport};
use souk_domain::publishing::staking::TERMS_VERSION;
use souk_domain::publishing::{PermissionMode, Preferences, StakePreference, change_preferences};
use std::time::Duration;

const PROGRAM: &str = "/api/developer-program";
const BLOCKED: &str = "/api/console/blocked-users";
/// Begins the connect session in which a wallet places the deposit.
const BEGIN: &str = "/api/did/stake-and-join/token?x=1";
const DAY: Duration = Duration::from_secs(86_400);

/// The store accepts developers by deposits of 50 tokens.
async fn accept_deposits(app: &TestApp) {
    let preferences = Preferences {
        permission_mode: PermissionMode::Staking,
        stake_currency: app.shop.token_symbol(app).await,
        passport_stake: StakePreference { amount: "50".parse().expect("a decimal"), waiting_days: 7 },
        ..Preferences::default()
    };
    change_preferences(&app.ctx, 0, preferences).await.expect("are changed");
}

async fn agree(user: &Buyer) -> Value {
    user.browser.post(&format!("{PROGRAM}/agreement"), &json!({ "version": TERMS_VERSION })).await.ok()
}

/// The user agrees to the terms, and their wallet places the deposit.
async fn join(app: &TestApp, user: &Buyer) {
    agree(user).await;
    let connect = Connect::begin(app, &user.browser, "stake-and-join", "").await;
    let (done, kinds) = connect.sign_all(&user.wallet).await;
    assert_eq!((&done["status"], kinds.last().map(String::as_str)), (&json!("ok"), Some("prepareTx")), "{done}");
    assert_eq!(connect.status().await.ok()["status"], "succeed");
}

async fn standing(user: &Buyer) -> Value {
    user.browser.get(PROGRAM).await.ok()["standing"].clone()
}

/// The subjects of the emails to somebody.
async fn subjects(app: &TestApp, to: &Buyer) -> Vec<String> {
    app.drain().await;
    let address = format!("{}@example.com", to.name);
    let mails = app.mails().into_iter().filter(|mail| mail.lines().any(|line| line.starts_with("To:") && line.contains(&address)));
    mails.filter_map(|mail| mail.lines().find_map(|line| line.strip_prefix("Subject: ").map(str::to_owned))).collect()
}

async fn delete(by: &Buyer, path: &str) -> Answer {
    by.browser.call(Method::DELETE, path).send().await
}

on_both! {
    async fn a_user_agrees_places_the_deposit_and_is_a_developer(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
        accept_deposits(&app).await;
        let shown = app.browser().get(PROGRAM).await.ok();
        assert_eq!((&shown["permission_mode"], &shown["standing"]), (&json!("staking"), &Value::Null));
        assert_eq!(shown["terms_version"], TERMS_VERSION);
        let amount = json!((50 * SKT).to_string());
        assert_eq!((&shown["membership"]["amount"], &shown["membership"]["waiting_days"]), (&amount, &json!(7)));
        assert_eq!(alice.browser.get(BEGIN).await.refused(400)["code"], "TERMS_REQUIRED");
        let outdated = json!({ "version": TERMS_VERSION + 1 });
        assert_eq!(alice.browser.post(&format!("{PROGRAM}/agreement"), &outdated).await.refused(409)["code"], "TERMS_OUTDATED");
        let agreed_at = agree(&alice).await["standing"]["agreed_at"].clone();
        app.advance(DAY);
        assert_eq!(agree(&alice).await["standing"]["agreed_at"], agreed_at, "the first agreement counts");
        join(&app, &alice).await;

        let found = standing(&alice).await;
        assert_eq!((&found["by_deposit"], &found["agreed_at"]), (&json!(true), &agreed_at));
        let deposit = &found["deposit"];
        assert_eq!((&deposit["amount"], &deposit["status"]), (&amount, &json!("held")));
        assert_eq!(deposit["developer_did"], alice.wallet.did().as_str());
        alice.browser.get("/api/developer/access-tokens").await.ok();
        let public = app.browser().get(&format!("{PROGRAM}/developers/{}", alice.wallet.did())).await.ok();
        assert_eq!(public["since"], found["developer_since"]);
        assert_eq!(app.browser().get(&format!("{PROGRAM}/developers/{}", owner.wallet.did())).await.ok()["since"], Value::Null);
        assert_eq!(alice.browser.get(BEGIN).await.refused(409)["code"], "PASSPORT_EXIST");
        let listed = owner.browser.get("/api/console/developers").await.ok();
        assert_eq!(listed["count"], 2);
        assert_eq!(subjects(&app, &owner).await, ["alice Example has become a developer of Souk"]);
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn a_developer_who_leaves_gets_the_deposit_back(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        accept_deposits(&app).await;
        join(&app, &alice).await;
        let left = delete(&alice, &format!("{PROGRAM}/membership")).await.ok();
        assert_eq!((&left["standing"]["developer_since"], &left["standing"]["deposit"]["status"]), (&Value::Null, &json!("releasing")));
        assert_eq!(left["standing"]["deposit"]["release_reason"], "requested");
        alice.browser.get("/api/developer/access-tokens").await.refused(403);
        assert_eq!(delete(&alice, &format!("{PROGRAM}/membership")).await.refused(403)["code"], "PASSPORT_NOT_FOUND");
        assert_eq!(alice.browser.get(BEGIN).await.refused(409)["code"], "DEPOSIT_RETURNING");
        app.advance(DAY * 7);
        app.move_stakes().await;
        assert_eq!(standing(&alice).await["deposit"], Value::Null);
        join(&app, &alice).await;
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn a_blocked_user_is_told_and_gets_no_passport_until_the_block_ends(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
        accept_deposits(&app).await;
        join(&app, &alice).await;
        let path = format!("{BLOCKED}/{}", alice.wallet.did());
        let blocked = owner.browser.put(&path, &json!({})).await.ok();
        assert_eq!((&blocked["count"], &blocked["list"][0]["name"]), (&json!(1), &json!("alice Example")));
        let found = standing(&alice).await;
        assert_eq!((&found["blocked"], &found["developer_since"]), (&json!(true), &Value::Null));
        assert_eq!(found["deposit"]["status"], "releasing");
        assert_eq!(alice.browser.get(BEGIN).await.refused(403)["code"], "USER_BLOCKED");
        let created = owner.browser.post("/api/console/invitations", &json!({ "role": "developer", "lifetime_days": 7 })).await.ok();
        let (_, secret) = created["link"].as_str().expect("a link").split_once('#').expect("a secret after the #");
        let refused = alice.browser.post("/api/invitations/accept", &json!({ "token": secret })).await.refused(403);
        assert_eq!(refused["code"], "USER_BLOCKED");
        assert_eq!(delete(&owner, &path).await.ok()["count"], 0);
        alice.browser.post("/api/invitations/accept", &json!({ "token": secret })).await.ok();
        let log = owner.browser.get("/api/audit-log").await.ok();
        let operations: Vec<_> = log["list"].as_array().expect("a list").iter().map(|entry| entry["operation"].clone()).collect();
        assert!(operations.contains(&json!("user.block")) && operations.contains(&json!("user.unblock")), "{operations:?}");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_store_that_invites_developers_takes_no_deposits() {
    let app = TestApp::open().await;
    let alice = app.sign_in("alice").await;
    let shown = alice.browser.get(PROGRAM).await.ok();
    assert_eq!((&shown["permission_mode"], &shown["membership"]), (&json!("inviting"), &Value::Null));
    let agreement = json!({ "version": TERMS_VERSION });
    assert_eq!(alice.browser.post(&format!("{PROGRAM}/agreement"), &agreement).await.refused(409)["code"], "JOIN_NOT_OFFERED");
    assert_eq!(alice.browser.get(BEGIN).await.refused(409)["code"], "JOIN_NOT_OFFERED");
    app.browser().get(BEGIN).await.refused(401);
    app.finish().await;
}

#[tokio::test]
async fn a_method_that_was_switched_off_takes_no_deposits() {
    let app = TestApp::open().await;
    let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
    accept_deposits(&app).await;
    agree(&alice).await;
    owner.browser.put(&format!("/api/payment-methods/{}", app.shop.wallet), &json!({ "active": false })).await.ok();
    assert_eq!(alice.browser.get(PROGRAM).await.ok()["membership"], Value::Null);
    assert_eq!(alice.browser.get(BEGIN).await.refused(409)["code"], "NO_DEPOSIT_CURRENCY");
    app.finish().await;
}

#[tokio::test]
async fn an_administrator_blocks_neither_an_owner_nor_another_administrator_nor_themselves() {
    let app = TestApp::open().await;
    let (owner, admin, alice) = (app.owner().await, app.holder_of(Role::Admin).await, app.sign_in("alice").await);
    for did in [owner.wallet.did(), admin.wallet.did()] {
        admin.browser.put(&format!("{BLOCKED}/{did}"), &json!({})).await.refused(403);
    }
    owner.browser.put(&format!("{BLOCKED}/{}", owner.wallet.did()), &json!({})).await.refused(403);
    let stranger = wallet("stranger");
    admin.browser.put(&format!("{BLOCKED}/{}", stranger.did()), &json!({})).await.refused(404);
    admin.browser.put(&format!("{BLOCKED}/{}", alice.wallet.did()), &json!({})).await.ok();
    owner.browser.put(&format!("{BLOCKED}/{}", admin.wallet.did()), &json!({})).await.ok();
    admin.browser.get("/api/console/developers").await.refused(403);
    // Whoever may not block somebody does not end their block either.
    let other = app.sign_in("other").await;
    issue_passport(&app.ctx, other.wallet.did(), Role::Admin).await.expect("issues");
    delete(&other, &format!("{BLOCKED}/{}", admin.wallet.did())).await.refused(403);
    delete(&other, &format!("{BLOCKED}/{}", alice.wallet.did())).await.ok();
    assert_eq!(delete(&owner, &format!("{BLOCKED}/{}", admin.wallet.did())).await.ok()["count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn users_are_blocked_after_a_recent_sign_in_only() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let (owner, alice) = (app.owner().await, app.sign_in("alice").await);
    app.advance(Duration::from_secs(3_600));
    let path = format!("{BLOCKED}/{}", alice.wallet.did());
    assert_eq!(owner.browser.put(&path, &json!({})).await.refused(403)["code"], "SIGN_IN_AGAIN");
    assert_eq!(delete(&owner, &path).await.refused(403)["code"], "SIGN_IN_AGAIN");
    Connect::begin(&app, &owner.browser, "login", "").await.sign_in(&owner.wallet, "owner").await;
    owner.browser.put(&path, &json!({})).await.ok();
    app.finish().await;
}
