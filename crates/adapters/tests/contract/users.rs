//! Users, passports, browser sessions and API keys.

use crate::checkout_fixtures::{address, all_at_once, at, begin, did, id, read};
use souk_adapters::on_both;
use souk_domain::access::{ApiKey, Login, Passport, ProfilePicture, Role, Scope, TokenHash, User};
use souk_domain::publishing::staking::Agreement;
use souk_domain::shared::{Language, Mode, PictureFormat, StorageError};

fn user(name: &str) -> User {
    User {
        did: did("z1anna"),
        public_key: "zKey1".to_owned(),
        full_name: name.to_owned(),
        email: String::new(),
        phone: String::new(),
        address: None,
        language: Language::English,
        picture: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn passport(name: &str, role: Role) -> Passport {
    Passport { id: id(name), holder: did("z1anna"), role, issued_at: at(0), revoked_at: None, stake_id: None }
}

/// A login whose id is named after its token.
fn login(token: TokenHash, from: i64, until: i64) -> Login {
    Login {
        id: id(&format!("lgn_{}", token[0])),
        user: did("z1anna"),
        device: "A browser".to_owned(),
        created_at: at(from),
        signed_in_at: at(from),
        used_at: at(from),
        expires_at: at(until),
    }
}

fn key() -> ApiKey {
    ApiKey {
        id: id("key_1"),
        name: "build".to_owned(),
        mode: Mode::Live,
        scopes: vec![Scope::parse("products:write").expect("a scope"), Scope::parse("*").expect("a scope")],
        created_at: at(0),
        last_used_at: None,
        revoked_at: None,
    }
}

on_both! {
    async fn signing_in_again_updates_the_key_and_keeps_the_profile(db: &TestDatabase) {
        let mut unit = begin(db).await;
        assert_eq!(unit.users().find(&did("z1anna")).await.expect("reads"), None);
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        let profiled = User { email: "anna@shop.example".to_owned(), address: Some(address()), language: Language::Chinese, ..user("Anna") };
        unit.users().update_profile(&profiled).await.expect("updates");
        let again = User { public_key: "zKey2".to_owned(), email: "other@shop.example".to_owned(), updated_at: at(9), ..user("Ann") };
        unit.users().upsert(&again).await.expect("upserts");
        unit.commit().await.expect("commits");
        let found = read(db).await.users().find(&did("z1anna")).await.expect("reads").expect("is there");
        assert_eq!(found, User { public_key: "zKey2".to_owned(), updated_at: at(9), ..profiled });
    }

    async fn a_picture_is_replaced_and_removed_and_survives_a_sign_in(db: &TestDatabase) {
        let picture = |digit: &str, format, seconds| ProfilePicture { sha256: digit.repeat(64), format, updated_at: at(seconds) };
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        unit.users().upsert(&User { did: did("z1bob"), ..user("Bob") }).await.expect("inserts");
        unit.browser_sessions().insert(&[1; 32], &login([1; 32], 0, 99)).await.expect("inserts");
        for (seconds, format) in [(1, PictureFormat::Png), (2, PictureFormat::Jpeg), (3, PictureFormat::Webp)] {
            let uploaded = picture("a", format, seconds);
            assert!(unit.users().set_picture(&did("z1anna"), Some(&uploaded), at(seconds)).await.expect("sets"));
            let found = unit.users().find(&did("z1anna")).await.expect("reads").expect("is there");
            assert_eq!((found.picture, found.updated_at), (Some(uploaded), at(seconds)));
        }
        assert!(!unit.users().set_picture(&did("z1carol"), Some(&picture("a", PictureFormat::Png, 1)), at(1)).await.expect("answers"));
        // Neither a sign-in nor a change of the profile takes it away.
        unit.users().upsert(&User { updated_at: at(4), ..user("Anna") }).await.expect("updates");
        unit.users().update_profile(&User { updated_at: at(5), ..user("Anna B.") }).await.expect("updates");
        unit.commit().await.expect("commits");
        let kept = Some(picture("a", PictureFormat::Webp, 3));
        let caller = read(db).await.users().find_by_login(&[1; 32], at(5)).await.expect("reads").expect("is signed in");
        assert_eq!(caller.user.picture, kept);
        let found = read(db).await.users().find_all(&[did("z1anna"), did("z1bob")]).await.expect("reads");
        assert_eq!(found.into_iter().map(|user| user.picture).collect::<Vec<_>>(), [kept, None], "others have none");
        let mut unit = begin(db).await;
        assert!(unit.users().set_picture(&did("z1anna"), None, at(6)).await.expect("removes"));
        assert!(unit.users().set_picture(&did("z1anna"), None, at(7)).await.expect("has none any more"));
        let found = unit.users().find(&did("z1anna")).await.expect("reads").expect("is there");
        assert_eq!((found.picture, found.full_name.as_str()), (None, "Anna B."));
    }

    async fn the_most_powerful_passport_comes_first_and_revoked_ones_are_excluded(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        assert!(!unit.users().owner_exists().await.expect("reads"));
        unit.users().issue_passport(&passport("pass_1", Role::Developer)).await.expect("issues");
        unit.users().issue_passport(&passport("pass_2", Role::Owner)).await.expect("issues");
        let revoked = Passport { revoked_at: Some(at(1)), ..passport("pass_3", Role::Admin) };
        unit.users().issue_passport(&revoked).await.expect("issues");
        let found = unit.users().passports(&did("z1anna")).await.expect("reads");
        assert_eq!(found, [passport("pass_2", Role::Owner), passport("pass_1", Role::Developer)]);
        for (roles, limit, count) in [(&[Role::Owner, Role::Developer][..], 9, 1), (&[Role::Admin], 9, 0), (&[Role::Owner], 0, 0)] {
            let holders = unit.users().holders(roles, limit).await.expect("reads");
            assert_eq!(holders, vec![did("z1anna"); count], "{roles:?}, at most {limit}");
        }
        assert!(unit.users().owner_exists().await.expect("reads"));
    }

    async fn a_revoked_passport_is_invalid_but_stays_listed(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        unit.users().issue_passport(&passport("pass_1", Role::Owner)).await.expect("issues");
        assert!(unit.users().revoke_passport(&id("pass_1"), at(5)).await.expect("revokes"));
        assert!(!unit.users().revoke_passport(&id("pass_1"), at(6)).await.expect("answers"));
        assert!(!unit.users().revoke_passport(&id("pass_2"), at(6)).await.expect("answers"));
        assert_eq!(unit.users().passports(&did("z1anna")).await.expect("reads"), []);
        assert!(!unit.users().owner_exists().await.expect("reads"));
        unit.users().issue_passport(&passport("pass_3", Role::Developer)).await.expect("issues");
        for (seconds, count) in [(4, 1), (5, 1), (6, 0)] {
            let ended = unit.users().revoked_since(&did("z1anna"), at(seconds)).await.expect("reads");
            assert_eq!(ended, vec![Passport { revoked_at: Some(at(5)), ..passport("pass_1", Role::Owner) }; count], "{seconds}");
        }
        let listed = unit.users().list_passports().await.expect("lists");
        assert_eq!(listed, [Passport { revoked_at: Some(at(5)), ..passport("pass_1", Role::Owner) }, passport("pass_3", Role::Developer)]);
    }

    async fn a_deposit_grants_one_valid_passport(db: &TestDatabase) {
        let by_deposit = |name: &str| Passport { stake_id: Some(id("stk_1")), ..passport(name, Role::Developer) };
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        unit.users().issue_passport(&by_deposit("pass_1")).await.expect("issues");
        assert_eq!(unit.users().find_passport(&id("pass_1")).await.expect("reads"), Some(by_deposit("pass_1")));
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        assert!(unit.users().issue_passport(&by_deposit("pass_2")).await.is_err());
        drop(unit);
        let mut unit = begin(db).await;
        assert!(unit.users().revoke_passport(&id("pass_1"), at(5)).await.expect("revokes"));
        unit.users().issue_passport(&by_deposit("pass_2")).await.expect("issues");
        unit.commit().await.expect("commits");
    }

    async fn blocked_users_are_listed_by_the_time_of_their_block(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for name in ["z1anna", "z1bob", "z1eve"] {
            unit.users().upsert(&User { did: did(name), ..user("Somebody") }).await.expect("inserts");
        }
        assert_eq!(unit.users().blocked_at(&did("z1anna")).await.expect("reads"), None);
        assert_eq!(unit.users().blocked_at(&did("z1nobody")).await.expect("reads"), None);
        assert!(unit.users().set_blocked(&did("z1anna"), Some(at(5))).await.expect("blocks"));
        assert!(unit.users().set_blocked(&did("z1bob"), Some(at(9))).await.expect("blocks"));
        assert!(!unit.users().set_blocked(&did("z1nobody"), Some(at(9))).await.expect("answers"));
        assert_eq!(unit.users().blocked_at(&did("z1anna")).await.expect("reads"), Some(at(5)));
        let listed = unit.users().blocked(9).await.expect("lists");
        let listed: Vec<_> = listed.into_iter().map(|blocked| (blocked.user.did, blocked.blocked_at)).collect();
        assert_eq!(listed, [(did("z1bob"), at(9)), (did("z1anna"), at(5))]);
        assert_eq!(unit.users().blocked(1).await.expect("lists").len(), 1);
        // A login keeps the block.
        unit.users().upsert(&User { updated_at: at(20), ..user("Anna") }).await.expect("updates");
        assert_eq!(unit.users().blocked_at(&did("z1anna")).await.expect("reads"), Some(at(5)));
        assert!(unit.users().set_blocked(&did("z1anna"), None).await.expect("ends"));
        assert_eq!(unit.users().blocked_at(&did("z1anna")).await.expect("reads"), None);
    }

    async fn the_first_agreement_to_each_version_of_the_terms_stays(db: &TestDatabase) {
        let agreement = |version, seconds| Agreement { version, agreed_at: at(seconds) };
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        for agreed in [agreement(1, 5), agreement(1, 9), agreement(2, 12)] {
            unit.agreements().record(&did("z1anna"), &agreed).await.expect("records");
        }
        assert_eq!(unit.agreements().find(&did("z1anna"), 1).await.expect("reads"), Some(agreement(1, 5)));
        assert_eq!(unit.agreements().find(&did("z1anna"), 2).await.expect("reads"), Some(agreement(2, 12)));
        assert_eq!(unit.agreements().find(&did("z1anna"), 3).await.expect("reads"), None);
        assert_eq!(unit.agreements().find(&did("z1bob"), 1).await.expect("reads"), None);
    }

    async fn a_login_ends_when_it_expires_or_is_deleted(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        unit.browser_sessions().insert(&[1; 32], &login([1; 32], 0, 60)).await.expect("inserts");
        unit.browser_sessions().insert(&[2; 32], &login([2; 32], 0, 90)).await.expect("inserts");
        assert_eq!(unit.browser_sessions().find(&[1; 32], at(59)).await.expect("reads"), Some(did("z1anna")));
        assert_eq!(unit.browser_sessions().find(&[1; 32], at(60)).await.expect("reads"), None);
        assert_eq!(unit.browser_sessions().find(&[3; 32], at(0)).await.expect("reads"), None);
        assert_eq!(unit.users().find_by_login(&[1; 32], at(59)).await.expect("reads").map(|caller| caller.user), Some(user("Anna")));
        assert_eq!(unit.users().find_by_login(&[1; 32], at(60)).await.expect("reads"), None);
        assert_eq!(unit.users().find_by_login(&[3; 32], at(0)).await.expect("reads"), None);
        assert!(!unit.browser_sessions().extend(&[1; 32], at(60), at(99)).await.expect("answers"), "it is over");
        assert!(!unit.browser_sessions().extend(&[2; 32], at(60), at(90)).await.expect("answers"), "it lasts that long");
        assert!(unit.browser_sessions().extend(&[2; 32], at(60), at(99)).await.expect("extends"));
        assert_eq!(unit.browser_sessions().find(&[2; 32], at(98)).await.expect("reads"), Some(did("z1anna")));
        assert_eq!(unit.browser_sessions().prune(at(60), 10).await.expect("prunes"), 1);
        unit.browser_sessions().delete(&[2; 32]).await.expect("deletes");
        assert_eq!(unit.browser_sessions().find(&[2; 32], at(0)).await.expect("reads"), None);
    }

    async fn logins_are_listed_by_their_last_use_and_ended_by_their_own_user_only(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        unit.users().upsert(&User { did: did("z1bob"), ..user("Bob") }).await.expect("inserts");
        for number in 1..=3 {
            unit.browser_sessions().insert(&[number; 32], &login([number; 32], 0, 90)).await.expect("inserts");
        }
        let of_bob = Login { user: did("z1bob"), ..login([4; 32], 0, 90) };
        unit.browser_sessions().insert(&[4; 32], &of_bob).await.expect("inserts");
        unit.browser_sessions().insert(&[5; 32], &login([5; 32], 0, 20)).await.expect("inserts");
        unit.browser_sessions().touch(&[2; 32], at(20)).await.expect("touches");
        unit.browser_sessions().touch(&[2; 32], at(10)).await.expect("does nothing");
        unit.browser_sessions().sign_in_again(&[1; 32], at(30)).await.expect("signs in");
        unit.commit().await.expect("commits");
        let again = Login { signed_in_at: at(30), used_at: at(30), ..login([1; 32], 0, 90) };
        let used = Login { used_at: at(20), ..login([2; 32], 0, 90) };
        let mut unit = begin(db).await;
        assert_eq!(unit.browser_sessions().find_login(&[1; 32], at(30)).await.expect("reads"), Some(again.clone()));
        assert_eq!(unit.browser_sessions().find_login(&[5; 32], at(30)).await.expect("reads"), None, "it is over");
        let caller = unit.users().find_by_login(&[1; 32], at(30)).await.expect("reads").expect("is signed in");
        assert_eq!(caller.signed_in_at, at(30));
        let anna = did("z1anna");
        let listed = unit.browser_sessions().list(&anna, at(30), 10).await.expect("lists");
        assert_eq!(listed, [again, used.clone(), login([3; 32], 0, 90)]);
        assert_eq!(unit.browser_sessions().list(&anna, at(30), 1).await.expect("lists").len(), 1);
        assert!(!unit.browser_sessions().end(&anna, &id("lgn_4")).await.expect("answers"), "it is Bob's");
        assert!(unit.browser_sessions().end(&anna, &id("lgn_3")).await.expect("ends"));
        assert_eq!(unit.browser_sessions().end_others(&anna, Some(&[2; 32])).await.expect("ends"), 2);
        assert_eq!(unit.browser_sessions().list(&anna, at(30), 10).await.expect("lists"), [used]);
        assert_eq!(unit.browser_sessions().end_others(&anna, None).await.expect("ends"), 1);
        assert_eq!(unit.browser_sessions().find(&[4; 32], at(30)).await.expect("reads"), Some(did("z1bob")));
    }

    async fn users_are_found_by_several_dids(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        let found = unit.users().find_all(&[did("z1anna"), did("z1nobody")]).await.expect("reads");
        assert_eq!(found, [user("Anna")]);
    }

    async fn pruning_removes_no_more_than_its_limit(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.users().upsert(&user("Anna")).await.expect("inserts");
        for number in 0..5 {
            unit.browser_sessions().insert(&[number; 32], &login([number; 32], 0, 1)).await.expect("inserts");
        }
        assert_eq!(unit.browser_sessions().prune(at(2), 3).await.expect("prunes"), 3);
        assert_eq!(unit.browser_sessions().prune(at(2), 3).await.expect("prunes"), 2);
    }

    async fn of_concurrent_uses_of_the_owner_link_one_succeeds(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.browser_sessions().insert_owner_link(&[9; 32], at(0)).await.expect("inserts");
        unit.commit().await.expect("commits");
        let used = all_at_once(db, 12, |db, _| async move {
            let mut unit = begin(&db).await;
            let used = unit.browser_sessions().use_owner_link(&[9; 32], at(1)).await.expect("uses");
            unit.commit().await.expect("commits");
            used
        });
        assert_eq!(used.await.into_iter().filter(|used| *used).count(), 1);
        assert!(!begin(db).await.browser_sessions().use_owner_link(&[8; 32], at(1)).await.expect("reads"));
    }

    async fn an_api_key_is_found_by_its_hash_until_it_is_revoked(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.api_keys().insert(&key(), &[5; 32]).await.expect("inserts");
        assert_eq!(unit.api_keys().find(&[5; 32]).await.expect("reads"), Some(key()));
        assert_eq!(unit.api_keys().find(&[6; 32]).await.expect("reads"), None);
        unit.api_keys().touch(&key().id, at(10)).await.expect("touches");
        unit.api_keys().touch(&key().id, at(69)).await.expect("touches");
        assert_eq!(unit.api_keys().list().await.expect("lists")[0].last_used_at, Some(at(10)));
        unit.api_keys().touch(&key().id, at(70)).await.expect("touches");
        assert_eq!(unit.api_keys().list().await.expect("lists")[0].last_used_at, Some(at(70)));
        assert!(unit.api_keys().revoke(&key().id, at(80)).await.expect("revokes"));
        assert!(!unit.api_keys().revoke(&key().id, at(81)).await.expect("revokes"));
        assert_eq!(unit.api_keys().find(&[5; 32]).await.expect("reads"), None);
        assert_eq!(unit.api_keys().list().await.expect("lists")[0].revoked_at, Some(at(80)));
    }

    async fn two_keys_never_share_a_hash(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.api_keys().insert(&key(), &[5; 32]).await.expect("inserts");
        let second = unit.api_keys().insert(&ApiKey { id: id("key_2"), ..key() }, &[5; 32]).await;
        assert!(matches!(second, Err(StorageError::Duplicate(_))), "{second:?}");
    }
}
