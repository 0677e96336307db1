use crate::problem::Problem;
use crate::routes::access_tokens::{AccessTokenModel, read_apps, read_scopes};
use crate::state::App;
use poem_openapi::Object;
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{AccessToken, AppPattern, TokenScope};
use souk_domain::publishing::tools::{ApprovedTool, OfferedKey, ToolApproval, ToolSession, ToolToken};

/// How long a token is valid for which the user has chosen no time.
const DEFAULT_LIFETIME_DAYS: u32 = 90;

#[derive(Clone, Object)]
#[oai(rename = "ToolSessionToken")]
pub struct ToolSessionTokenModel {
    /// The token of the session, which the tool has put into the page's address.
    #[oai(validator(max_length = 128))]
    pub token: String,
}

/// What a tool asks for.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ToolRequest")]
pub struct ToolRequestModel {
    /// `connect-cli`, `connect-studio`, `gen-key-pair` or `login-cli`.
    pub action: String,
    /// What the tool calls itself; empty if it does not say. Nobody has verified it.
    pub source: String,
    /// The network address of the request.
    #[oai(nullable)]
    pub address: Option<String>,
    /// The code to compare with the one in the terminal. Null: the tool gets nothing secret.
    #[oai(nullable)]
    pub code: Option<String>,
    /// The names of the apps that get a key.
    pub apps: Vec<String>,
    pub created_at: String,
    pub expires_at: String,
}

impl From<ToolSession> for ToolRequestModel {
    fn from(session: ToolSession) -> Self {
        Self {
            action: session.action.name().to_owned(),
            code: session.code(),
            source: session.source,
            address: session.address,
            apps: session.apps,
            created_at: session.created_at.to_iso(),
            expires_at: session.expires_at.to_iso(),
        }
    }
}

/// The key of an app that the browser has created. Its secret never leaves the browser.
#[derive(Debug, Clone, Object)]
#[oai(rename = "OfferedKey")]
pub struct OfferedKeyModel {
    /// The DID of the key in the role of apps.
    #[oai(validator(max_length = 64))]
    pub address: String,
    /// Ed25519, multibase base58btc.
    #[oai(validator(max_length = 64))]
    pub public_key: String,
}

#[derive(Clone, Object)]
#[oai(rename = "ToolApproval")]
pub struct ToolApprovalModel {
    #[oai(validator(max_length = 128))]
    pub token: String,
    /// The name of the access token. By default the one of the tool.
    pub name: Option<String>,
    /// By default `publish-new` and `publish-update`.
    #[oai(validator(max_items = 10))]
    pub scopes: Option<Vec<String>>,
    /// By default all of the developer's.
    #[oai(validator(max_items = 100))]
    pub apps: Option<Vec<String>>,
    /// By default 90.
    pub lifetime_days: Option<u32>,
    /// One for each app of the request.
    #[oai(default, validator(max_items = 10))]
    pub keys: Vec<OfferedKeyModel>,
}

impl ToolApprovalModel {
    pub fn read(&self) -> Result<ToolApproval, Problem> {
        let scopes = match &self.scopes {
            Some(names) => read_scopes(names)?,
            None => [TokenScope::PublishNew, TokenScope::PublishUpdate].into(),
        };
        let all = || AppPattern::parse("*").into_iter().collect();
        let apps = self.apps.as_deref().map_or_else(|| Ok(all()), read_apps)?;
        let token = ToolToken { name: self.name.clone(), scopes, apps, lifetime_days: self.lifetime_days.unwrap_or(DEFAULT_LIFETIME_DAYS) };
        let key = |key: &OfferedKeyModel| OfferedKey { did: Did::from_verified(key.address.clone()), public_key: key.public_key.clone() };
        Ok(ToolApproval { token, keys: self.keys.iter().map(key).collect() })
    }
}

/// An approved request.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ApprovedTool")]
pub struct ApprovedToolModel {
    /// The access token that was created for the tool, without its secret. Null: the tool asked for none.
    #[oai(nullable)]
    pub access_token: Option<AccessTokenModel>,
}

impl ApprovedToolModel {
    pub fn new(app: &App, approved: ApprovedTool) -> Self {
        let model = |token: AccessToken| {
            let passport = token.passport_id.clone();
            AccessTokenModel::new(token, Some(&passport), app.ctx.now())
        };
        Self { access_token: approved.token.map(model) }
    }
}
