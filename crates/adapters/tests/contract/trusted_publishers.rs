//! Trusted publishers, and the exchange of CI tokens.

use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, read, user};
use async_trait::async_trait;
use souk_adapters::identity::Ed25519TokenKeys;
use souk_adapters::on_both;
use souk_adapters::testing::{FixedClock, TestDatabase};
use souk_domain::access::{Did, Passport, Role};
use souk_domain::context::Context;
use souk_domain::publishing::Preferences;
use souk_domain::publishing::access_tokens::{AppPattern, CreatedToken, TokenScope, TokenUse, authorize_token};
use souk_domain::publishing::trusted::{
    CI_ACCESS_LIFETIME, CI_TOKENS_MAX, CiClaims, CiTokenError, CiTokens, ExchangeError, ExchangeRequest, GITHUB_ISSUER,
    NewTrustedPublisher, PUBLISHERS_MAX, RegisterPublisherError, TrustedIssuer, TrustedPublisher, issue_ci_token, register_publisher,
    remove_publisher, verify_ci_token,
};
use souk_domain::shared::{Timestamp, TrustedPublisherId};
use std::sync::Arc;

const STORE: &str = "https://store.example";

async fn passport(db: &TestDatabase, holder: &str, name: &str) {
    let mut unit = begin(db).await;
    unit.users().upsert(&user(holder, "Anna", "anna@shop.example")).await.expect("inserts");
    let (id, holder) = (id(name), did(holder));
    let passport = Passport { id, holder, role: Role::Developer, issued_at: at(0), revoked_at: None, stake_id: None };
    unit.users().issue_passport(&passport).await.expect("issues");
    unit.commit().await.expect("commits");
}

fn new_publisher(repository: &str) -> NewTrustedPublisher {
    NewTrustedPublisher {
        issuer: GITHUB_ISSUER.to_owned(),
        repository: repository.to_owned(),
        repository_id: String::new(),
        workflow: String::new(),
        environment: String::new(),
        protected_refs_only: true,
        scopes: [TokenScope::PublishNew, TokenScope::PublishUpdate].into(),
        apps: vec![AppPattern::parse("atlas*").expect("a pattern")],
    }
}

async fn register(db: &TestDatabase, owner: &str, repository: &str) -> Result<TrustedPublisher, RegisterPublisherError> {
    register_publisher(&context(db, at(0)), &did(owner), new_publisher(repository)).await
}

/// The row of a publisher that was never registered.
fn row(name: &str) -> TrustedPublisher {
    TrustedPublisher {
        id: id(name),
        owner: did("z1anna"),
        passport_id: id("pass_1"),
        issuer: GITHUB_ISSUER.to_owned(),
        repository: "Octo/Atlas".to_owned(),
        repository_id: None,
        workflow: Some("release.yml".to_owned()),
        environment: Some("production".to_owned()),
        protected_refs_only: false,
        scopes: TokenScope::ALL.iter().copied().collect(),
        apps: vec![AppPattern::parse("*").expect("a pattern"), AppPattern::parse("@a/b-*").expect("a pattern")],
        created_at: at(0),
        last_used_at: None,
    }
}

/// CI tokens whose text is their id.
struct Verified(Timestamp);

#[async_trait]
impl CiTokens for Verified {
    fn issuer_of(&self, _: &str) -> Result<String, CiTokenError> {
        Ok(GITHUB_ISSUER.to_owned())
    }

    async fn verify(&self, token: &str, issuer: &TrustedIssuer, _: Timestamp) -> Result<CiClaims, CiTokenError> {
        Ok(CiClaims {
            issuer: issuer.address.clone(),
            audience: vec![STORE.to_owned()],
            issued_at: self.0,
            not_before: None,
            expires_at: Timestamp::from_seconds(self.0.seconds() + 300),
            token_id: token.to_owned(),
            repository: "octo/atlas".to_owned(),
            repository_id: "42".to_owned(),
            workflow: None,
            environment: None,
            event: "push".to_owned(),
            is_ref_protected: true,
        })
    }
}

async fn exchange(ctx: &Context, token: &str, app: &Did) -> Result<CreatedToken, ExchangeError> {
    let request = ExchangeRequest { token, app, app_name: "atlas", publisher: None };
    let run = verify_ci_token(ctx, &Verified(ctx.now()), STORE, &request).await?;
    issue_ci_token(ctx, &Ed25519TokenKeys, run).await
}

on_both! {
    async fn a_publisher_is_stored_with_all_its_values_and_found_by_its_repository(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        let first = row("tp_1");
        let second = TrustedPublisher { repository_id: Some("7".to_owned()), workflow: None, protected_refs_only: true, ..row("tp_2") };
        let mut unit = begin(db).await;
        for one in [&first, &second] {
            unit.trusted_publishers().insert(one).await.expect("inserts");
        }
        assert_eq!(unit.trusted_publishers().list(&did("z1anna"), 10).await.expect("lists"), [second.clone(), first.clone()]);
        assert_eq!(unit.trusted_publishers().list(&did("z1bob"), 10).await.expect("lists"), []);
        for name in ["octo/atlas", "OCTO/Atlas"] {
            let found = unit.trusted_publishers().of_repository(GITHUB_ISSUER, name, 10).await.expect("reads");
            assert_eq!(found, [first.clone(), second.clone()], "{name}");
        }
        for (issuer, name) in [(GITHUB_ISSUER, "octo/atla"), ("https://gitlab.com", "octo/atlas")] {
            assert_eq!(unit.trusted_publishers().of_repository(issuer, name, 10).await.expect("reads"), []);
        }
        assert_eq!(unit.trusted_publishers().find(&second.id).await.expect("reads"), Some(second.clone()));
        assert_eq!(unit.trusted_publishers().find(&id("tp_9")).await.expect("reads"), None);
        assert!(!unit.trusted_publishers().delete(&did("z1bob"), &first.id).await.expect("answers"));
        assert!(unit.trusted_publishers().delete(&did("z1anna"), &first.id).await.expect("deletes"));
        assert!(!unit.trusted_publishers().delete(&did("z1anna"), &first.id).await.expect("answers"));
    }

    async fn the_first_use_decides_which_repository_a_publisher_means(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        let publisher = row("tp_1");
        let mut unit = begin(db).await;
        unit.trusted_publishers().insert(&publisher).await.expect("inserts");
        for (repository, used, stored) in [("42", 5, true), ("43", 6, false), ("42", 7, true)] {
            assert_eq!(unit.trusted_publishers().note_use(&publisher.id, repository, at(used)).await.expect("writes"), stored);
        }
        let found = unit.trusted_publishers().list(&did("z1anna"), 1).await.expect("lists").remove(0);
        assert_eq!((found.repository_id.as_deref(), found.last_used_at), (Some("42"), Some(at(7))));
        let unknown: TrustedPublisherId = id("tp_9");
        assert!(!unit.trusted_publishers().note_use(&unknown, "42", at(8)).await.expect("answers"));
    }

    async fn a_ci_token_is_used_once_until_it_is_pruned(db: &TestDatabase) {
        let used = all_at_once(db, 4, |db, _| async move {
            let mut unit = begin(&db).await;
            let used = unit.trusted_publishers().use_ci_token(GITHUB_ISSUER, "j1", at(60)).await.expect("uses");
            unit.commit().await.expect("commits");
            used
        });
        assert_eq!(used.await.into_iter().filter(|used| *used).count(), 1);
        let mut unit = begin(db).await;
        assert!(unit.trusted_publishers().use_ci_token("https://gitlab.com", "j1", at(60)).await.expect("uses"), "of another issuer");
        assert_eq!(unit.trusted_publishers().prune_used(at(59), 10).await.expect("prunes"), 0);
        assert_eq!(unit.trusted_publishers().prune_used(at(60), 10).await.expect("prunes"), 2);
    }

    async fn a_new_publisher_is_checked_and_bounded(db: &TestDatabase) {
        let ctx = context(db, at(0));
        let refused = async |new: NewTrustedPublisher| {
            register_publisher(&ctx, &did("z1anna"), new).await.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(new_publisher("octo/atlas")).await, "Your developer passport not found or has been revoked");
        passport(db, "z1anna", "pass_1").await;
        let new = || new_publisher("octo/atlas");
        for (changed, message) in [
            (NewTrustedPublisher { issuer: "https://ci.example".to_owned(), ..new() }, "does not accept CI tokens of https://ci.example"),
            (NewTrustedPublisher { repository: "atlas".to_owned(), ..new() }, "Enter the repository with its owner"),
            (NewTrustedPublisher { repository_id: "R_1".to_owned(), ..new() }, "The id of a repository is a number"),
            (NewTrustedPublisher { workflow: "release".to_owned(), ..new() }, "Enter the file of the workflow"),
            (NewTrustedPublisher { environment: "a\nb".to_owned(), ..new() }, "without line breaks"),
            (NewTrustedPublisher { scopes: [].into(), ..new() }, "at least one scope"),
            (NewTrustedPublisher { apps: Vec::new(), ..new() }, "app patterns"),
        ] {
            let found = refused(changed.clone()).await;
            assert!(found.contains(message), "{changed:?} {found}");
        }
        let registered = register(db, "z1anna", " octo/atlas ").await.expect("registers");
        assert_eq!((registered.repository.as_str(), registered.passport_id.as_str()), ("octo/atlas", "pass_1"));
        assert!(refused(new_publisher("Octo/Atlas")).await.contains("the same trusted publisher"));
        let mut unit = begin(db).await;
        for number in 1..PUBLISHERS_MAX {
            unit.trusted_publishers().insert(&row(&format!("tp_filler{number}"))).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert!(refused(new_publisher("octo/orbit")).await.contains("You have 50 trusted publishers"));
    }

    async fn a_ci_token_is_exchanged_once_for_a_token_of_15_minutes_for_one_app(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        let publisher = register(db, "z1anna", "octo/atlas").await.expect("registers");
        let (ctx, app) = (context(db, at(0)), did("z8app"));
        let created = exchange(&ctx, "j1", &app).await.expect("is exchanged").token;
        assert_eq!((created.expires_at, created.remind_at), (at(0).plus(CI_ACCESS_LIFETIME), None));
        assert_eq!((&created.publisher, &created.scopes), (&Some(publisher.id.clone()), &publisher.scopes));
        let mut unit = read(db).await;
        assert_eq!(unit.access_tokens().find(&created.id).await.expect("reads"), Some(created.clone()));
        assert_eq!(unit.access_tokens().list(&did("z1anna"), 10).await.expect("lists"), [], "the developer has created none");
        drop(unit);
        let authorize = async |app: &Did, name: &str, seconds| {
            let wanted = TokenUse { scope: TokenScope::PublishNew, app_did: app, app_name: name };
            authorize_token(&mut *read(db).await, at(seconds), &created.id, &wanted).await.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(authorize(&app, "atlas", 899).await, Ok(()));
        assert_eq!(authorize(&app, "orbit", 0).await, Err("This access token is not valid for the app orbit".to_owned()));
        assert_eq!(authorize(&did("z8other"), "atlas", 0).await, Err("This access token is not valid for the app atlas".to_owned()));
        assert_eq!(authorize(&app, "atlas", 900).await, Err("This access token has expired".to_owned()));
        let again = exchange(&ctx, "j1", &app).await.err().expect("is refused");
        assert_eq!(again.to_string(), "This CI token was exchanged before");
        let mut unit = begin(db).await;
        assert!(unit.access_tokens().use_nonce(&created.id, "n1", at(60)).await.expect("uses"));
        assert_eq!(unit.access_tokens().prune_of_ci(at(899), 10).await.expect("prunes"), 0);
        assert_eq!(unit.access_tokens().prune_of_ci(at(900), 10).await.expect("prunes"), 1);
        assert_eq!(unit.access_tokens().find(&created.id).await.expect("reads"), None);
    }

    async fn exchanges_of_a_publisher_are_bounded_and_end_with_it(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        let publisher = register(db, "z1anna", "octo/atlas").await.expect("registers");
        let (ctx, app) = (context(db, at(0)), did("z8app"));
        let mut created = None;
        for number in 0..CI_TOKENS_MAX {
            created = Some(exchange(&ctx, &format!("j{number}"), &app).await.expect("is exchanged").token);
        }
        assert!(matches!(exchange(&ctx, "more", &app).await, Err(ExchangeError::TooMany)));
        let later = Context { clock: Arc::new(FixedClock::at(at(900))), ..ctx.clone() };
        exchange(&later, "later", &app).await.expect("the first ones have expired");
        let token = created.expect("a token");
        let mut unit = begin(db).await;
        assert!(unit.access_tokens().use_nonce(&token.id, "n1", at(60)).await.expect("uses"));
        unit.commit().await.expect("commits");
        remove_publisher(&ctx, &did("z1anna"), &publisher.id).await.expect("removes");
        assert_eq!(read(db).await.access_tokens().find(&token.id).await.expect("reads"), None);
        assert!(remove_publisher(&ctx, &did("z1anna"), &publisher.id).await.is_err());
        let refused = exchange(&ctx, "after", &app).await.err().expect("is refused").to_string();
        assert_eq!(refused, "No developer has registered the repository octo/atlas as a trusted publisher");
    }

    async fn a_revoked_passport_and_an_issuer_that_is_no_longer_allowed_end_trust(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        register(db, "z1anna", "octo/atlas").await.expect("registers");
        let (ctx, app) = (context(db, at(5)), did("z8app"));
        let mut unit = begin(db).await;
        assert!(unit.users().revoke_passport(&id("pass_1"), at(1)).await.expect("revokes"));
        unit.commit().await.expect("commits");
        passport(db, "z1anna", "pass_2").await;
        let refused = exchange(&ctx, "j1", &app).await.err().expect("is refused").to_string();
        assert_eq!(refused, "No developer has registered the repository octo/atlas as a trusted publisher");
        let renewed = register_publisher(&ctx, &did("z1anna"), new_publisher("octo/atlas")).await.expect("registers again");
        let created = exchange(&ctx, "j1", &app).await.expect("is exchanged").token;
        assert_eq!((created.publisher, created.passport_id), (Some(renewed.id), id("pass_2")));
        let mut record = read(db).await.preferences().find().await.expect("reads");
        record.preferences = Preferences { github_issuers: Vec::new(), ..record.preferences };
        (record.version, record.changed_at) = (record.version + 1, Some(at(5)));
        let mut unit = begin(db).await;
        assert!(unit.preferences().replace(&record).await.expect("writes"));
        unit.commit().await.expect("commits");
        let refused = exchange(&ctx, "j2", &app).await.err().expect("is refused").to_string();
        assert_eq!(refused, format!("This store does not accept CI tokens of {GITHUB_ISSUER}"));
    }

    async fn a_repository_that_got_the_name_of_another_one_is_refused_and_uses_up_nothing(db: &TestDatabase) {
        passport(db, "z1anna", "pass_1").await;
        let publisher = register(db, "z1anna", "octo/atlas").await.expect("registers");
        let (ctx, app) = (context(db, at(0)), did("z8app"));
        let request = ExchangeRequest { token: "j1", app: &app, app_name: "atlas", publisher: None };
        let run = verify_ci_token(&ctx, &Verified(at(0)), STORE, &request).await.expect("is verified");
        // Meanwhile, the publisher was used by the first repository.
        let mut unit = begin(db).await;
        assert!(unit.trusted_publishers().note_use(&publisher.id, "41", at(0)).await.expect("writes"));
        unit.commit().await.expect("commits");
        let refused = issue_ci_token(&ctx, &Ed25519TokenKeys, run).await.err().expect("is refused").to_string();
        assert!(refused.contains("not the one that was registered"), "{refused}");
        let refused = exchange(&ctx, "j1", &app).await.err().expect("is refused").to_string();
        assert!(refused.contains("not the one that was registered"), "{refused}");
        let mut unit = begin(db).await;
        assert!(unit.trusted_publishers().use_ci_token(GITHUB_ISSUER, "j1", at(60)).await.expect("uses"), "the token was not used");
    }
}
