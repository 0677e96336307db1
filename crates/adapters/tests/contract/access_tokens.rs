//! The access tokens of developers, and what they allow.

use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, read, user};
use souk_adapters::identity::{AppKey, Ed25519TokenKeys};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::{Did, Passport, Role};
use souk_domain::context::Context;
use souk_domain::publishing::access_tokens::{
    AccessToken, AppPattern, CreateTokenError, DeleteTokenError, NewAccessToken, RequestPurpose, SignedRequest, TOKENS_MAX, TokenError,
    TokenScope, TokenUse, authorize_token, create_access_token, delete_access_token, list_access_tokens, order_expiry_reminders,
    verify_request,
};
use souk_domain::shared::Timestamp;

const DAY: i64 = 86_400;

async fn passport(db: &TestDatabase, name: &str, role: Role) {
    let mut unit = begin(db).await;
    let user = user("z1anna", "Anna", "anna@shop.example");
    unit.users().upsert(&user).await.expect("inserts");
    let passport = Passport { id: id(name), holder: did("z1anna"), role, issued_at: at(0), revoked_at: None, stake_id: None };
    unit.users().issue_passport(&passport).await.expect("issues");
    unit.commit().await.expect("commits");
}

fn new_token(name: &str) -> NewAccessToken {
    NewAccessToken {
        name: name.to_owned(),
        scopes: [TokenScope::PublishNew].into(),
        apps: vec![AppPattern::parse("atlas-*").expect("a pattern")],
        lifetime_days: 90,
    }
}

async fn create(ctx: &Context, new: NewAccessToken) -> Result<AccessToken, CreateTokenError> {
    let created = create_access_token(ctx, &Ed25519TokenKeys, &did("z1anna"), new).await;
    created.map(|created| created.token)
}

/// Uses a token for an app.
async fn authorize(db: &TestDatabase, now: Timestamp, token: &Did, scope: TokenScope, app: &str) -> Result<AccessToken, TokenError> {
    let wanted = TokenUse { scope, app_did: &did("z8app"), app_name: app };
    authorize_token(&mut *read(db).await, now, token, &wanted).await
}

fn base58(bytes: &[u8]) -> String {
    format!("z{}", bs58::encode(bytes).into_string())
}

/// The row of a token that was never created by a key.
fn row(name: &str, remind_at: Option<Timestamp>, expires_at: Timestamp) -> AccessToken {
    AccessToken {
        id: did(&format!("z1{name}")),
        owner: did("z1anna"),
        passport_id: id("pass_1"),
        name: name.to_owned(),
        public_key: "zKey".to_owned(),
        scopes: TokenScope::ALL.iter().copied().collect(),
        apps: vec![AppPattern::parse("*").expect("a pattern"), AppPattern::parse("@a/b-*").expect("a pattern")],
        publisher: None,
        created_at: at(0),
        expires_at,
        remind_at,
        last_used_at: None,
    }
}

on_both! {
    async fn a_token_is_stored_with_all_its_values_and_deleted_by_its_owner_only(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let token = row("first", Some(at(5)), at(9));
        let mut unit = begin(db).await;
        unit.access_tokens().insert(&token).await.expect("inserts");
        assert_eq!(unit.access_tokens().find(&token.id).await.expect("reads"), Some(token.clone()));
        assert_eq!(unit.access_tokens().list(&did("z1anna"), 10).await.expect("lists"), std::slice::from_ref(&token));
        assert_eq!(unit.access_tokens().list(&did("z1bob"), 10).await.expect("lists"), []);
        assert!(unit.access_tokens().use_nonce(&token.id, "n1", at(9)).await.expect("uses"));
        assert!(!unit.access_tokens().delete(&did("z1bob"), &token.id).await.expect("answers"));
        assert!(!unit.access_tokens().use_nonce(&token.id, "n1", at(9)).await.expect("answers"), "it keeps its nonces");
        assert!(unit.access_tokens().delete(&did("z1anna"), &token.id).await.expect("deletes"));
        assert_eq!(unit.access_tokens().find(&token.id).await.expect("reads"), None);
    }

    async fn the_last_use_of_a_token_is_stored_once_a_minute(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let token = row("first", None, at(999));
        let mut unit = begin(db).await;
        unit.access_tokens().insert(&token).await.expect("inserts");
        for (used, stored) in [(10, 10), (30, 10), (70, 70)] {
            unit.access_tokens().touch(&token.id, at(used)).await.expect("touches");
            let found = unit.access_tokens().find(&token.id).await.expect("reads").expect("exists");
            assert_eq!(found.last_used_at, Some(at(stored)), "{used}");
        }
    }

    async fn a_nonce_is_used_once_until_it_is_pruned(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let token = row("first", None, at(999));
        let mut unit = begin(db).await;
        unit.access_tokens().insert(&token).await.expect("inserts");
        unit.commit().await.expect("commits");
        let used = all_at_once(db, 4, move |db, _| async move {
            let mut unit = begin(&db).await;
            let used = unit.access_tokens().use_nonce(&did("z1first"), "n1", at(60)).await.expect("uses");
            unit.commit().await.expect("commits");
            used
        });
        assert_eq!(used.await.into_iter().filter(|used| *used).count(), 1);
        let mut unit = begin(db).await;
        assert_eq!(unit.access_tokens().prune_nonces(at(59), 10).await.expect("prunes"), 0);
        assert_eq!(unit.access_tokens().prune_nonces(at(60), 10).await.expect("prunes"), 1);
        assert!(unit.access_tokens().use_nonce(&token.id, "n1", at(99)).await.expect("uses"));
    }

    async fn each_due_reminder_is_ordered_once_and_none_for_an_expired_token(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let mut unit = begin(db).await;
        for token in [row("due", Some(at(10)), at(99)), row("later", Some(at(50)), at(99)), row("expired", Some(at(1)), at(5))] {
            unit.access_tokens().insert(&token).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let ordered = all_at_once(db, 3, |db, _| async move { order_expiry_reminders(&context(&db, at(10)), 10).await.expect("orders") });
        assert_eq!(ordered.await.into_iter().sum::<u64>(), 1);
        assert_eq!(order_expiry_reminders(&context(db, at(60)), 10).await.expect("orders"), 1);
        let mut connection = db.read().await.expect("reads");
        let ordered = connection.query("SELECT count(*) AS n FROM outbox WHERE topic = 'token_mail'").one().await.expect("counts");
        assert_eq!(ordered.get::<u64>("n").expect("n"), 2);
    }

    async fn a_new_token_is_checked_and_bounded(db: &TestDatabase) {
        let ctx = context(db, at(0));
        assert!(matches!(create(&ctx, new_token("ci")).await, Err(CreateTokenError::NotDeveloper)));
        passport(db, "pass_1", Role::Owner).await;
        assert!(matches!(create(&ctx, new_token("ci")).await, Err(CreateTokenError::NotDeveloper)), "an owner is no developer");
        passport(db, "pass_2", Role::Developer).await;
        let error = create(&ctx, new_token(" ")).await.expect_err("is refused");
        assert_eq!(error.to_string(), "Access Token Name is required");
        assert!(matches!(create(&ctx, new_token(&"n".repeat(65))).await, Err(CreateTokenError::NameTooLong)));
        assert!(matches!(create(&ctx, NewAccessToken { scopes: [].into(), ..new_token("ci") }).await, Err(CreateTokenError::NoScope)));
        assert!(matches!(create(&ctx, NewAccessToken { apps: Vec::new(), ..new_token("ci") }).await, Err(CreateTokenError::AppPatterns)));
        for days in [0, 366] {
            let refused = create(&ctx, NewAccessToken { lifetime_days: days, ..new_token("ci") }).await;
            assert!(matches!(refused, Err(CreateTokenError::Lifetime)), "{days}");
        }
        let token = create(&ctx, new_token("  ci ")).await.expect("creates");
        assert_eq!((token.name.as_str(), token.passport_id.as_str()), ("ci", "pass_2"));
        assert_eq!((token.expires_at, token.remind_at), (at(90 * DAY), Some(at(83 * DAY))));
        let short = create(&ctx, NewAccessToken { lifetime_days: 1, ..new_token("short") }).await.expect("creates");
        assert_eq!(short.remind_at, Some(at(DAY * 3 / 4)));
        assert!(matches!(create(&ctx, new_token("ci")).await, Err(CreateTokenError::NameTaken(name)) if name == "ci"));
        let mut unit = begin(db).await;
        for number in 2..TOKENS_MAX {
            let filler = AccessToken { passport_id: id("pass_2"), ..row(&format!("filler{number}"), None, at(9)) };
            unit.access_tokens().insert(&filler).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert!(matches!(create(&ctx, new_token("one-more")).await, Err(CreateTokenError::TooMany)));
    }

    async fn a_token_is_deleted_by_typing_its_name(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let ctx = context(db, at(0));
        let token = create(&ctx, new_token("ci")).await.expect("creates");
        let delete = async |owner: Did, typed: &str| delete_access_token(&ctx, &owner, &token.id, typed).await;
        assert!(matches!(delete(did("z1anna"), "CI").await, Err(DeleteTokenError::NameDiffers)));
        assert!(matches!(delete(did("z1bob"), "ci").await, Err(DeleteTokenError::NotFound)));
        delete(did("z1anna"), "ci ").await.expect("deletes");
        assert!(matches!(delete(did("z1anna"), "ci").await, Err(DeleteTokenError::NotFound)));
        assert_eq!(list_access_tokens(&ctx, &did("z1anna")).await.expect("lists"), []);
    }

    async fn a_token_is_valid_for_its_scopes_and_apps_until_it_expires(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let token = create(&context(db, at(0)), new_token("ci")).await.expect("creates").id;
        let (publish, yank, last) = (TokenScope::PublishNew, TokenScope::Yank, at(90 * DAY - 1));
        let stranger = did("z1stranger");
        authorize(db, last, &token, publish, "atlas-pro").await.expect("is accepted");
        let refused = [
            (at(20), &stranger, publish, "atlas-pro", "AccessToken does not exist, make sure you have set a right AccessToken"),
            (at(90 * DAY), &token, publish, "atlas-pro", "This access token has expired"),
            (at(20), &token, yank, "atlas-pro", "This access token does not allow yank"),
            (at(20), &token, publish, "orbit", "This access token is not valid for the app orbit"),
        ];
        for (now, token, scope, app, message) in refused {
            let error = authorize(db, now, token, scope, app).await.expect_err("is refused");
            assert_eq!(error.to_string(), message);
        }
    }

    async fn a_signed_write_is_accepted_once_and_for_nothing_else(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let key = AppKey::from_seed(&[4; 32]);
        let token = AccessToken { id: did("z1signer"), public_key: key.public_key_base58(), ..row("signer", None, at(999)) };
        let mut unit = begin(db).await;
        unit.access_tokens().insert(&token).await.expect("inserts");
        unit.commit().await.expect("commits");
        let (store, other, now) = (did("zNKstore"), did("zNKother"), at(0));
        let unsigned = SignedRequest {
            store: &store,
            purpose: RequestPurpose::Write,
            method: "POST",
            path: "/api/apps/z8app/yank",
            body_digest: "abcd",
            token: &token.id,
            signed_at: now.seconds(),
            nonce: "0123456789abcdef",
            signature: "",
        };
        let signature = base58(&key.sign(unsigned.text().as_bytes()));
        let signed = SignedRequest { signature: &signature, ..unsigned };
        let verify = async |request: SignedRequest<'_>| {
            let result = verify_request(&context(db, now), &Ed25519TokenKeys, &request).await;
            result.map(drop).map_err(|error| error.to_string())
        };
        let invalid = Err("invalid signature".to_owned());
        for changed in [
            SignedRequest { store: &other, ..signed },
            SignedRequest { purpose: RequestPurpose::Read, ..signed },
            SignedRequest { method: "PUT", ..signed },
            SignedRequest { path: "/api/apps/z8app/yank?all", ..signed },
            SignedRequest { body_digest: "abce", ..signed },
            SignedRequest { signed_at: signed.signed_at + 1, ..signed },
            SignedRequest { nonce: "0123456789abcdeg", ..signed },
        ] {
            assert_eq!(verify(changed).await, invalid, "{changed:?}");
        }
        for malformed in [SignedRequest { nonce: "short", ..signed }, SignedRequest { path: "/a\nPOST", ..signed }] {
            assert_eq!(verify(malformed).await, Err("The signed request is not well-formed".to_owned()));
        }
        assert_eq!(verify(signed).await, Ok(()));
        assert_eq!(verify(signed).await, Err("This signed request was received before".to_owned()));
    }

    async fn a_passport_that_is_issued_again_does_not_revive_the_tokens_of_the_revoked_one(db: &TestDatabase) {
        passport(db, "pass_1", Role::Developer).await;
        let ctx = context(db, at(0));
        let token = create(&ctx, new_token("ci")).await.expect("creates").id;
        let mut unit = begin(db).await;
        assert!(unit.users().revoke_passport(&id("pass_1"), at(1)).await.expect("revokes"));
        unit.commit().await.expect("commits");
        let scope = TokenScope::PublishNew;
        let refused = authorize(db, at(2), &token, scope, "atlas-pro").await;
        assert!(matches!(refused, Err(TokenError::NotDeveloper)), "{refused:?}");
        passport(db, "pass_2", Role::Developer).await;
        let refused = authorize(db, at(3), &token, scope, "atlas-pro").await;
        assert!(matches!(refused, Err(TokenError::NotDeveloper)), "{refused:?}");
        create(&ctx, new_token("new")).await.expect("a new one is valid under the new passport");
    }
}
