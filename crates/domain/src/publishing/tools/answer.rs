//! Shows the request of a tool to the signed-in user, and answers it.

use super::session::{
    CustomerCredentials, OfferedKey, SealError, TOOL_ANSWER_LIFETIME, ToolAction, ToolAnswer, ToolConfig, ToolCredentials, ToolSeals,
    ToolSession, ToolStatus,
};
use crate::access::{ConnectExpired, DEVICE_LIFETIME_DAYS, DEVICES_MAX, Device, Did, User};
use crate::context::Context;
use crate::publishing::access_tokens::{
    AccessToken, AppPattern, CreateTokenError, CreatedToken, NewAccessToken, TOKEN_NAME_MAX, TOKENS_MAX, TokenKeys, TokenScope,
    create_token_in,
};
use crate::shared::StorageError;
use crate::storage::{MANAGEMENT, UnitOfWork};
use std::collections::BTreeSet;
use std::time::Duration;

/// The store as it answers tools.
#[derive(Clone, Copy)]
pub struct ToolIssuer<'a> {
    pub store: &'a Did,
    pub seals: &'a dyn ToolSeals,
    pub token_keys: &'a dyn TokenKeys,
}

/// The access token that a developer gives to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolToken {
    /// `None`: one that the developer has not used yet.
    pub name: Option<String>,
    pub scopes: BTreeSet<TokenScope>,
    pub apps: Vec<AppPattern>,
    pub lifetime_days: u32,
}

/// What a user approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolApproval {
    /// Ignored if the tool asks for no token.
    pub token: ToolToken,
    /// One for each app of the request.
    pub keys: Vec<OfferedKey>,
}

/// An approved request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedTool {
    /// The token that was created, if the tool asked for one.
    pub token: Option<AccessToken>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnswerToolError {
    #[error(transparent)]
    Expired(#[from] ConnectExpired),
    #[error("This request was answered already")]
    Answered,
    #[error("You need a developer passport. Register as a developer first.")]
    DeveloperRequired,
    #[error("The approval needs one key for each of the {0} apps")]
    KeyCount(usize),
    #[error("{0} is not the DID of the public key in the role of apps")]
    ForeignKey(Did),
    #[error("You are signed in on {DEVICES_MAX} computers. Sign out on one that you no longer use.")]
    TooManyDevices,
    #[error(transparent)]
    Token(CreateTokenError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CreateTokenError> for AnswerToolError {
    fn from(error: CreateTokenError) -> Self {
        match error {
            CreateTokenError::NotDeveloper => Self::DeveloperRequired,
            CreateTokenError::Storage(error) => Self::Storage(error),
            error => Self::Token(error),
        }
    }
}

/// The request of a session, for a signed-in user who decides about it. The tool learns that somebody sees it.
#[tracing::instrument(skip_all)]
pub async fn find_tool_request(ctx: &Context, token: &str) -> Result<ToolSession, AnswerToolError> {
    let session = open_session(ctx.store.read().await?.as_mut(), ctx, token).await?;
    if session.status == ToolStatus::Created {
        let mut unit = ctx.store.begin().await?;
        unit.tool_sessions().scan(token).await?;
        unit.commit().await?;
    }
    Ok(session)
}

async fn open_session(unit: &mut dyn UnitOfWork, ctx: &Context, token: &str) -> Result<ToolSession, AnswerToolError> {
    let session = unit.tool_sessions().find(token, ctx.now()).await?.ok_or(ConnectExpired)?;
    if session.status.is_final() { Err(AnswerToolError::Answered) } else { Ok(session) }
}

/// Approves a request. What it asks for is created and sealed in one unit of work, so that a tool that is answered twice gets nothing
/// twice. The secret of a token is sealed at once and stored nowhere else.
#[tracing::instrument(skip_all)]
pub async fn approve_tool(
    ctx: &Context,
    issuer: ToolIssuer<'_>,
    user: &User,
    token: &str,
    approval: ToolApproval,
) -> Result<ApprovedTool, AnswerToolError> {
    let mut unit = ctx.store.begin().await?;
    let session = open_session(unit.as_mut(), ctx, token).await?;
    let keys = check_keys(issuer.seals, &session, approval.keys)?;
    let mut created = Created::default();
    if session.action.needs_token() {
        // The names of tokens are compared with those of concurrent calls.
        unit.lock(MANAGEMENT).await?;
        let new = new_token(unit.as_mut(), &session, &user.did, approval.token).await?;
        created.token = Some(create_token_in(ctx, unit.as_mut(), issuer.token_keys, &user.did, new).await?);
    }
    if session.action == ToolAction::LoginCli {
        created.device_secret = Some(create_device_in(ctx, unit.as_mut(), issuer.token_keys, &user.did, &session).await?);
    }
    let config = config_of(issuer, &session, user, &created, &keys)?;
    answer(ctx, unit.as_mut(), token, &ToolAnswer::Approved { config: &config }).await?;
    unit.commit().await?;
    Ok(ApprovedTool { token: created.token.map(|created| created.token) })
}

/// What an approval creates, with the secrets, which are stored nowhere.
#[derive(Default)]
struct Created {
    token: Option<CreatedToken>,
    /// The secret key of the computer on which the user is signed in from now on.
    device_secret: Option<String>,
}

/// Signs the user in on the computer of a session. Returns the secret key of the computer.
async fn create_device_in(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    keys: &dyn TokenKeys,
    user: &Did,
    session: &ToolSession,
) -> Result<String, AnswerToolError> {
    let now = ctx.now();
    // The number of computers is compared with that of concurrent calls.
    unit.devices().lock_user(user).await?;
    if unit.devices().list(user, now, DEVICES_MAX).await?.len() >= DEVICES_MAX as usize {
        return Err(AnswerToolError::TooManyDevices);
    }
    let key = keys.create(&ctx.random.bytes());
    let device = Device {
        id: key.id,
        user: user.clone(),
        name: name_of(session).to_owned(),
        public_key: key.public_key,
        created_at: now,
        used_at: now,
        expires_at: now.plus(Duration::from_secs(DEVICE_LIFETIME_DAYS * 86_400)),
    };
    unit.devices().insert(&device).await?;
    Ok(key.secret)
}

/// Denies a request. The tool is told so.
#[tracing::instrument(skip_all)]
pub async fn deny_tool(ctx: &Context, token: &str) -> Result<(), AnswerToolError> {
    let mut unit = ctx.store.begin().await?;
    open_session(unit.as_mut(), ctx, token).await?;
    answer(ctx, unit.as_mut(), token, &ToolAnswer::Denied { reason: "The request was denied in the browser" }).await?;
    unit.commit().await?;
    Ok(())
}

async fn answer(ctx: &Context, unit: &mut dyn UnitOfWork, token: &str, answer: &ToolAnswer<'_>) -> Result<(), AnswerToolError> {
    let now = ctx.now();
    match unit.tool_sessions().answer(token, answer, now, now.plus(TOOL_ANSWER_LIFETIME)).await? {
        true => Ok(()),
        false => Err(AnswerToolError::Answered),
    }
}

/// One key for each app, each of another DID that belongs to it.
fn check_keys(seals: &dyn ToolSeals, session: &ToolSession, keys: Vec<OfferedKey>) -> Result<Vec<OfferedKey>, AnswerToolError> {
    let dids: BTreeSet<_> = keys.iter().map(|key| &key.did).collect();
    if keys.len() != session.apps.len() || dids.len() != keys.len() {
        return Err(AnswerToolError::KeyCount(session.apps.len()));
    }
    match keys.iter().find(|key| seals.app_did(&key.public_key).as_ref() != Some(&key.did)) {
        Some(foreign) => Err(AnswerToolError::ForeignKey(foreign.did.clone())),
        None => Ok(keys),
    }
}

async fn new_token(
    unit: &mut dyn UnitOfWork,
    session: &ToolSession,
    owner: &Did,
    token: ToolToken,
) -> Result<NewAccessToken, StorageError> {
    let ToolToken { name, scopes, apps, lifetime_days } = token;
    let name = match name {
        Some(name) => name,
        None => {
            let held = unit.access_tokens().list(owner, TOKENS_MAX).await?;
            unused_name(session, held.iter().map(|token| token.name.as_str()).collect())
        }
    };
    Ok(NewAccessToken { name, scopes, apps, lifetime_days })
}

/// What the tool calls itself, or else its action.
fn name_of(session: &ToolSession) -> &str {
    match session.source.as_str() {
        "" => session.action.name(),
        source => source,
    }
}

/// The name of the tool, with a number if the developer has a token of this name.
fn unused_name(session: &ToolSession, used: BTreeSet<&str>) -> String {
    let name = name_of(session);
    // One of these is unused: there is one more than a developer can have tokens.
    let mut numbered = (2..=TOKENS_MAX + 1).map(|number| {
        let suffix = format!(" {number}");
        let kept = TOKEN_NAME_MAX - suffix.len();
        format!("{}{suffix}", name.chars().take(kept).collect::<String>())
    });
    if used.contains(name) { numbered.find(|name| !used.contains(name.as_str())).unwrap_or_default() } else { name.to_owned() }
}

/// The answer as the tool reads it.
fn config_of(
    issuer: ToolIssuer<'_>,
    session: &ToolSession,
    user: &User,
    created: &Created,
    keys: &[OfferedKey],
) -> Result<String, SealError> {
    let credentials = created.token.as_ref().map(|created| ToolCredentials {
        developer: &user.did,
        secret: &created.secret,
        email: &user.email,
        name: &user.full_name,
    });
    let config = match (session.action, credentials, keys.first(), &created.device_secret) {
        (ToolAction::ConnectCli, Some(credentials), ..) => ToolConfig::CommandLine(credentials),
        (ToolAction::ConnectStudio, Some(credentials), Some(key), _) => ToolConfig::Studio { credentials, store: issuer.store, key },
        (ToolAction::LoginCli, .., Some(secret)) => {
            ToolConfig::Customer(CustomerCredentials { customer: &user.did, secret, name: &user.full_name })
        }
        _ => return Ok(issuer.seals.keys(keys)),
    };
    match &session.encryption_key {
        Some(key) => issuer.seals.seal(key, &config),
        None => Err(SealError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publishing::access_tokens::NewTokenKey;
    use crate::shared::{Language, PassportId, Timestamp};

    /// Keys belong to the DID that repeats them. An answer is readable only in these tests.
    struct FakeSeals;

    impl ToolSeals for FakeSeals {
        fn read_key(&self, _: &str) -> Option<[u8; 32]> {
            Some([7; 32])
        }

        fn seal(&self, key: &[u8; 32], config: &ToolConfig<'_>) -> Result<String, SealError> {
            let text = |credentials: &ToolCredentials<'_>| {
                let ToolCredentials { developer, secret, email, name } = credentials;
                format!("{} {developer} {secret} {email} {name}", key[0])
            };
            Ok(match config {
                ToolConfig::CommandLine(credentials) => text(credentials),
                ToolConfig::Customer(CustomerCredentials { customer, secret, name }) => format!("{} {customer} {secret} {name}", key[0]),
                ToolConfig::Studio { credentials, store, key } => format!("{} {store} {}", text(credentials), key.did),
            })
        }

        fn keys(&self, keys: &[OfferedKey]) -> String {
            keys.iter().map(|key| key.did.to_string()).collect::<Vec<_>>().join(",")
        }

        fn app_did(&self, public_key: &str) -> Option<Did> {
            Some(Did::from_verified(format!("did of {public_key}")))
        }
    }

    /// No token is created in these tests.
    struct NoKeys;

    impl TokenKeys for NoKeys {
        fn create(&self, _: &[u8; 32]) -> NewTokenKey {
            NewTokenKey { id: Did::from_verified(""), public_key: String::new(), secret: String::new() }
        }

        fn digest(&self, _: &[u8]) -> [u8; 32] {
            [0; 32]
        }

        fn is_valid(&self, _: &str, _: &[u8; 32], _: &str) -> bool {
            false
        }
    }

    fn session(action: ToolAction, source: &str, apps: &[&str]) -> ToolSession {
        ToolSession {
            token: "00ff".to_owned(),
            action,
            status: ToolStatus::Scanned,
            source: source.to_owned(),
            address: None,
            encryption_key: action.is_sealed().then_some([7; 32]),
            apps: apps.iter().map(|app| (*app).to_owned()).collect(),
            config: None,
            error: String::new(),
            created_at: Timestamp::from_seconds(0),
            expires_at: Timestamp::from_seconds(60),
        }
    }

    fn key(did: &str, public_key: &str) -> OfferedKey {
        OfferedKey { did: Did::from_verified(did), public_key: public_key.to_owned() }
    }

    #[test]
    fn each_app_needs_a_key_of_its_own_that_belongs_to_its_did() {
        let asked = session(ToolAction::GenerateKeys, "", &["atlas", "orbit"]);
        let (one, two) = (key("did of a", "a"), key("did of b", "b"));
        let check = |keys: Vec<OfferedKey>| check_keys(&FakeSeals, &asked, keys);
        assert_eq!(check(vec![one.clone(), two.clone()]).expect("are valid"), [one.clone(), two.clone()]);
        for keys in [vec![], vec![one.clone()], vec![one.clone(), one.clone()], vec![one.clone(), two.clone(), key("did of c", "c")]] {
            assert!(matches!(check(keys), Err(AnswerToolError::KeyCount(2))));
        }
        assert!(matches!(check(vec![one, key("did of b", "c")]), Err(AnswerToolError::ForeignKey(did)) if did.as_str() == "did of b"));
        let cli = session(ToolAction::ConnectCli, "", &[]);
        assert!(matches!(check_keys(&FakeSeals, &cli, vec![two]), Err(AnswerToolError::KeyCount(0))));
    }

    #[test]
    fn a_token_without_a_name_is_named_after_its_tool_and_numbered() {
        let name = |source: &str, used: &[&str]| unused_name(&session(ToolAction::ConnectCli, source, &[]), used.iter().copied().collect());
        assert_eq!(name("", &["Souk"]), "connect-cli");
        assert_eq!(name("Souk", &["other"]), "Souk");
        assert_eq!(name("Souk", &["Souk", "Souk 3"]), "Souk 2");
        assert_eq!(name("Souk", &["Souk", "Souk 2", "Souk 3"]), "Souk 4");
        let long = "ü".repeat(TOKEN_NAME_MAX);
        let shortened = name(&long, &[&long]);
        assert_eq!((shortened.chars().count(), shortened.ends_with("ü 2")), (TOKEN_NAME_MAX, true), "{shortened}");
        let many: Vec<_> = (2..=TOKENS_MAX).map(|number| format!("Souk {number}")).collect();
        let used: Vec<_> = many.iter().map(String::as_str).chain(["Souk"]).collect();
        assert_eq!(name("Souk", &used), format!("Souk {}", TOKENS_MAX + 1));
    }

    #[test]
    fn each_tool_is_answered_what_it_asks_for() {
        let (did, store) = (Did::from_verified("z1anna"), Did::from_verified("zNstore"));
        let user = User {
            did: did.clone(),
            public_key: String::new(),
            full_name: "Anna".to_owned(),
            email: "anna@shop.example".to_owned(),
            phone: String::new(),
            address: None,
            language: Language::English,
            picture: None,
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        };
        let token = AccessToken {
            id: Did::from_verified("z1token"),
            owner: did,
            passport_id: PassportId::parse("pass_1").expect("an id"),
            name: "Souk".to_owned(),
            public_key: "zPublic".to_owned(),
            scopes: [TokenScope::Yank].into(),
            apps: Vec::new(),
            publisher: None,
            created_at: Timestamp::from_seconds(0),
            expires_at: Timestamp::from_seconds(9),
            remind_at: None,
            last_used_at: None,
        };
        let created = Created { token: Some(CreatedToken { token, secret: "zSecret".to_owned() }), device_secret: None };
        let issuer = ToolIssuer { store: &store, seals: &FakeSeals, token_keys: &NoKeys };
        let keys = [key("did of a", "a")];
        let config = |action, created: &Created, keys: &[OfferedKey]| {
            config_of(issuer, &session(action, "", &["atlas"]), &user, created, keys).expect("is sealed")
        };
        assert_eq!(config(ToolAction::ConnectCli, &created, &[]), "7 z1anna zSecret anna@shop.example Anna");
        assert_eq!(config(ToolAction::ConnectStudio, &created, &keys), "7 z1anna zSecret anna@shop.example Anna zNstore did of a");
        assert_eq!(config(ToolAction::GenerateKeys, &Created::default(), &keys), "did of a");
        let signed_in = Created { token: None, device_secret: Some("zKey".to_owned()) };
        assert_eq!(config(ToolAction::LoginCli, &signed_in, &[]), "7 z1anna zKey Anna");
        for (action, created) in [(ToolAction::ConnectCli, &created), (ToolAction::LoginCli, &signed_in)] {
            let without_key = ToolSession { encryption_key: None, ..session(action, "", &[]) };
            let unsealed = config_of(issuer, &without_key, &user, created, &[]);
            assert_eq!(unsealed, Err(SealError), "a secret is never answered unsealed");
        }
    }
}
