//! Sessions of developers' tools: one answer, which is gone after a minute.

use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, read, user};
use souk_adapters::identity::{Ed25519TokenKeys, SodiumToolSeals};
use souk_adapters::on_both;
use souk_adapters::testing::{SeededRandom, TestDatabase};
use souk_domain::access::{Passport, Role};
use souk_domain::context::Context;
use souk_domain::operation::VisitorNetwork;
use souk_domain::publishing::access_tokens::{
    AppPattern, CreateTokenError, NewAccessToken, TOKENS_MAX, TokenScope, create_access_token, delete_access_token, list_access_tokens,
};
use souk_domain::publishing::tools::{
    AnswerToolError, ApprovedTool, BeginToolError, NewToolSession, OfferedKey, ToolAction, ToolAnswer, ToolApproval, ToolIssuer,
    ToolSession, ToolStatus, ToolToken, approve_tool, begin_tool_session, deny_tool, find_tool_request,
};
use std::sync::Arc;

/// The key of the vector in reference/store.md 5.1.
const KEY: &str = "E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20";
const MINUTE: i64 = 60;

pub fn session() -> ToolSession {
    ToolSession {
        token: "00ff".to_owned(),
        action: ToolAction::ConnectStudio,
        status: ToolStatus::Created,
        source: "Studio".to_owned(),
        address: Some("192.0.2.7".to_owned()),
        encryption_key: Some([7; 32]),
        apps: vec!["atlas".to_owned()],
        config: None,
        error: String::new(),
        created_at: at(0),
        expires_at: at(300),
    }
}

async fn insert(db: &TestDatabase, session: &ToolSession) {
    let mut unit = begin(db).await;
    unit.tool_sessions().insert(session, &VisitorNetwork::default()).await.expect("inserts");
    unit.commit().await.expect("commits");
}

async fn developer(db: &TestDatabase) {
    let mut unit = begin(db).await;
    unit.users().upsert(&user("z1anna", "Anna", "anna@shop.example")).await.expect("inserts");
    let (holder, role) = (did("z1anna"), Role::Developer);
    let passport = Passport { id: id("pass_1"), holder, role, issued_at: at(0), revoked_at: None, stake_id: None };
    unit.users().issue_passport(&passport).await.expect("issues");
    unit.commit().await.expect("commits");
}

async fn ask(ctx: &Context, token: &str, action: ToolAction, apps: &str) -> Result<ToolSession, BeginToolError> {
    let new = NewToolSession { token: token.to_owned(), action, source: "Souk", address: None, encryption_key: KEY, apps };
    begin_tool_session(ctx, &SodiumToolSeals, new, &VisitorNetwork::default()).await
}

fn approval(name: Option<&str>, keys: Vec<OfferedKey>) -> ToolApproval {
    let apps = vec![AppPattern::parse("*").expect("a pattern")];
    let token = ToolToken { name: name.map(ToOwned::to_owned), scopes: [TokenScope::Yank].into(), apps, lifetime_days: 9 };
    ToolApproval { token, keys }
}

async fn approve(ctx: &Context, token: &str, approval: ToolApproval) -> Result<ApprovedTool, AnswerToolError> {
    let user = user("z1anna", "Anna", "anna@shop.example");
    let issuer = ToolIssuer { store: &did("zNstore"), seals: &SodiumToolSeals, token_keys: &Ed25519TokenKeys };
    approve_tool(ctx, issuer, &user, token, approval).await
}

on_both! {
    async fn a_session_is_stored_with_all_its_values_and_read_until_it_expires(db: &TestDatabase) {
        insert(db, &session()).await;
        let other = ToolSession {
            token: "11ff".to_owned(),
            action: ToolAction::GenerateKeys,
            status: ToolStatus::Error,
            address: None,
            encryption_key: None,
            config: Some("[]".to_owned()),
            error: "No".to_owned(),
            ..session()
        };
        insert(db, &other).await;
        let mut unit = begin(db).await;
        assert_eq!(unit.tool_sessions().find("00ff", at(299)).await.expect("reads"), Some(session()));
        assert_eq!(unit.tool_sessions().find("11ff", at(0)).await.expect("reads"), Some(other));
        assert_eq!(unit.tool_sessions().find("00ff", at(300)).await.expect("reads"), None);
        assert_eq!(unit.tool_sessions().prune(at(299), 10).await.expect("prunes"), 0);
        assert_eq!(unit.tool_sessions().prune(at(300), 1).await.expect("prunes"), 1);
        assert_eq!(unit.tool_sessions().prune(at(300), 10).await.expect("prunes"), 1);
        assert_eq!(unit.tool_sessions().prune(at(300), 10).await.expect("prunes"), 0);
    }

    async fn a_session_is_deleted_by_its_own_action_only(db: &TestDatabase) {
        insert(db, &session()).await;
        for (action, is_left) in [(ToolAction::ConnectCli, true), (ToolAction::GenerateKeys, true), (ToolAction::ConnectStudio, false)] {
            let mut unit = begin(db).await;
            unit.tool_sessions().delete(action, "00ff").await.expect("deletes");
            assert_eq!(unit.tool_sessions().find("00ff", at(0)).await.expect("reads").is_some(), is_left, "{action:?}");
            unit.commit().await.expect("commits");
        }
    }

    async fn a_session_is_scanned_and_then_answered_once_as_long_as_it_lives(db: &TestDatabase) {
        insert(db, &session()).await;
        let mut unit = begin(db).await;
        let approved = ToolAnswer::Approved { config: "sealed" };
        assert!(!unit.tool_sessions().answer("00ff", &approved, at(300), at(360)).await.expect("answers"), "it has expired");
        unit.tool_sessions().scan("00ff").await.expect("scans");
        assert_eq!(unit.tool_sessions().find("00ff", at(0)).await.expect("reads").map(|session| session.status), Some(ToolStatus::Scanned));
        assert!(unit.tool_sessions().answer("00ff", &approved, at(299), at(359)).await.expect("answers"));
        assert!(!unit.tool_sessions().answer("00ff", &ToolAnswer::Denied { reason: "No" }, at(299), at(359)).await.expect("answers"));
        unit.tool_sessions().scan("00ff").await.expect("scans");
        let answered = ToolSession { status: ToolStatus::Succeed, config: Some("sealed".to_owned()), expires_at: at(359), ..session() };
        assert_eq!(unit.tool_sessions().find("00ff", at(358)).await.expect("reads"), Some(answered));
        assert_eq!(unit.tool_sessions().find("00ff", at(359)).await.expect("reads"), None);
    }

    async fn an_approval_creates_the_token_and_its_answer_is_gone_after_a_minute(db: &TestDatabase) {
        developer(db).await;
        ask(&context(db, at(0)), "00ff", ToolAction::ConnectCli, "").await.expect("begins");
        find_tool_request(&context(db, at(1)), "00ff").await.expect("is open");
        let approved = approve(&context(db, at(2)), "00ff", approval(None, Vec::new())).await.expect("approves");
        let token = approved.token.expect("a token");
        assert_eq!((token.name.as_str(), token.expires_at), ("Souk", at(2 + 9 * 86_400)));
        let found = read(db).await.tool_sessions().find("00ff", at(2 + MINUTE - 1)).await.expect("reads").expect("is readable");
        assert_eq!((found.status, found.config.is_some()), (ToolStatus::Succeed, true));
        assert!(read(db).await.tool_sessions().find("00ff", at(2 + MINUTE)).await.expect("reads").is_none());
        for answered in [find_tool_request(&context(db, at(3)), "00ff").await.map(drop), deny_tool(&context(db, at(3)), "00ff").await] {
            assert!(matches!(answered, Err(AnswerToolError::Answered)), "{answered:?}");
        }
    }

    async fn of_several_approvals_at_once_one_creates_a_token(db: &TestDatabase) {
        developer(db).await;
        ask(&context(db, at(0)), "00ff", ToolAction::ConnectCli, "").await.expect("begins");
        let approvals = all_at_once(db, 4, |db, number| async move {
            // Each creates another key, as in a store.
            let ctx = Context { random: Arc::new(SeededRandom::new(u64::from(number))), ..context(&db, at(1)) };
            approve(&ctx, "00ff", approval(Some(&format!("token {number}")), Vec::new())).await
        });
        let approvals = approvals.await;
        assert_eq!(approvals.iter().filter(|result| result.is_ok()).count(), 1, "{approvals:?}");
        assert!(approvals.iter().all(|result| matches!(result, Ok(_) | Err(AnswerToolError::Answered))), "{approvals:?}");
        assert_eq!(list_access_tokens(&context(db, at(1)), &did("z1anna")).await.expect("lists").len(), 1);
    }

    async fn an_approval_that_is_refused_leaves_the_request_open(db: &TestDatabase) {
        let ctx = context(db, at(1));
        ask(&context(db, at(0)), "00ff", ToolAction::ConnectCli, "").await.expect("begins");
        assert!(matches!(approve(&ctx, "00ff", approval(None, Vec::new())).await, Err(AnswerToolError::DeveloperRequired)));
        developer(db).await;
        let nameless = approve(&ctx, "00ff", approval(Some(" "), Vec::new())).await;
        assert!(matches!(nameless, Err(AnswerToolError::Token(CreateTokenError::NameRequired))), "{nameless:?}");
        assert!(matches!(approve(&ctx, "11ff", approval(None, Vec::new())).await, Err(AnswerToolError::Expired(_))));
        let late = context(db, at(75 * MINUTE));
        assert!(matches!(approve(&late, "00ff", approval(None, Vec::new())).await, Err(AnswerToolError::Expired(_))));
        let create = async |number: u32| {
            let apps = vec![AppPattern::parse("*").expect("a pattern")];
            let new = NewAccessToken { name: format!("token {number}"), scopes: [TokenScope::Yank].into(), apps, lifetime_days: 9 };
            create_access_token(&ctx, &Ed25519TokenKeys, &did("z1anna"), new).await.expect("creates").token.id
        };
        let first = create(1).await;
        let taken = approve(&ctx, "00ff", approval(Some("token 1"), Vec::new())).await;
        assert!(matches!(taken, Err(AnswerToolError::Token(CreateTokenError::NameTaken(_)))), "{taken:?}");
        for number in 2..=TOKENS_MAX {
            create(number).await;
        }
        let full = approve(&ctx, "00ff", approval(None, Vec::new())).await;
        assert!(matches!(full, Err(AnswerToolError::Token(CreateTokenError::TooMany))), "{full:?}");
        delete_access_token(&ctx, &did("z1anna"), &first, "token 1").await.expect("deletes");
        approve(&ctx, "00ff", approval(None, Vec::new())).await.expect("approves");
    }

    async fn keys_of_apps_need_no_developer_and_a_denial_tells_the_tool(db: &TestDatabase) {
        let ctx = context(db, at(1));
        ask(&ctx, "00ff", ToolAction::GenerateKeys, "atlas").await.expect("begins");
        let key = OfferedKey {
            did: did("z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA"),
            public_key: "zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9".to_owned(),
        };
        let foreign = OfferedKey { did: did("z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM"), ..key.clone() };
        let refused = approve(&ctx, "00ff", approval(None, vec![foreign])).await;
        assert!(matches!(refused, Err(AnswerToolError::ForeignKey(_))), "the role of accounts: {refused:?}");
        assert_eq!(approve(&ctx, "00ff", approval(None, vec![key])).await.expect("approves"), ApprovedTool { token: None });
        ask(&ctx, "11ff", ToolAction::GenerateKeys, "atlas").await.expect("begins");
        deny_tool(&ctx, "11ff").await.expect("denies");
        let denied = read(db).await.tool_sessions().find("11ff", at(1)).await.expect("reads").expect("is readable");
        assert_eq!((denied.status, denied.error.as_str()), (ToolStatus::Error, "The request was denied in the browser"));
    }
}
