use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::publishing::access_tokens::{AccessToken, AppPattern, CreatedToken, NewAccessToken, TokenScope};
use souk_domain::shared::{PassportId, Timestamp};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Object)]
#[oai(rename = "AccessToken")]
pub struct AccessTokenModel {
    /// The DID of its key, by which signatures name it.
    pub id: String,
    pub name: String,
    /// Of `publish-new`, `publish-update` and `yank`.
    pub scopes: Vec<String>,
    /// Names or DIDs of apps, in which `*` stands for any characters.
    pub apps: Vec<String>,
    /// `active`, `expired`, or `revoked` with the passport under which it was created.
    pub status: String,
    pub created_at: String,
    pub expires_at: String,
    /// To a minute.
    #[oai(nullable)]
    pub last_used_at: Option<String>,
}

impl AccessTokenModel {
    /// `passport`: the owner's valid developer passport.
    pub fn new(token: AccessToken, passport: Option<&PassportId>, now: Timestamp) -> Self {
        let status = match () {
            () if passport != Some(&token.passport_id) => "revoked",
            () if now >= token.expires_at => "expired",
            () => "active",
        };
        Self {
            id: token.id.to_string(),
            name: token.name,
            scopes: token.scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            apps: token.apps.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
            status: status.to_owned(),
            created_at: token.created_at.to_iso(),
            expires_at: token.expires_at.to_iso(),
            last_used_at: token.last_used_at.map(|at| at.to_iso()),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AccessTokenList")]
pub struct AccessTokenListModel {
    pub count: u64,
    pub list: Vec<AccessTokenModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AccessTokenInput")]
pub struct AccessTokenInputModel {
    #[oai(default)]
    pub name: String,
    #[oai(validator(max_items = 10))]
    pub scopes: Vec<String>,
    #[oai(validator(max_items = 100))]
    pub apps: Vec<String>,
    pub lifetime_days: u32,
}

impl AccessTokenInputModel {
    pub fn read(&self) -> Result<NewAccessToken, Problem> {
        Ok(NewAccessToken {
            name: self.name.clone(),
            scopes: read_scopes(&self.scopes)?,
            apps: read_apps(&self.apps)?,
            lifetime_days: self.lifetime_days,
        })
    }
}

pub fn read_scopes(names: &[String]) -> Result<BTreeSet<TokenScope>, Problem> {
    let scopes = names.iter().map(|name| TokenScope::from_name(name)).collect::<Option<_>>();
    scopes.ok_or_else(|| Problem::invalid("scopes"))
}

pub fn read_apps(texts: &[String]) -> Result<Vec<AppPattern>, Problem> {
    let apps = texts.iter().map(|text| AppPattern::parse(text.trim())).collect::<Option<_>>();
    apps.ok_or_else(|| Problem::invalid("apps"))
}

/// A new token.
#[derive(Clone, Object)]
#[oai(rename = "CreatedAccessToken")]
pub struct CreatedTokenModel {
    pub token: AccessTokenModel,
    /// The secret key: 64 bytes of ed25519, multibase base58btc. It cannot be shown again.
    pub secret_key: String,
}

impl CreatedTokenModel {
    pub fn new(created: CreatedToken, now: Timestamp) -> Self {
        let passport = created.token.passport_id.clone();
        Self { token: AccessTokenModel::new(created.token, Some(&passport), now), secret_key: created.secret }
    }
}
