use crate::problem::Problem;
use crate::routes::access_tokens::{read_apps, read_scopes};
use poem_openapi::Object;
use souk_domain::publishing::trusted::{NewTrustedPublisher, TrustedIssuer, TrustedPublisher};
use souk_domain::shared::PassportId;

/// An issuer of CI tokens that the store accepts.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CiIssuer")]
pub struct IssuerModel {
    pub address: String,
    /// Whose claims its tokens have: `github` or `gitlab`.
    pub provider: String,
}

impl From<TrustedIssuer> for IssuerModel {
    fn from(issuer: TrustedIssuer) -> Self {
        Self { address: issuer.address, provider: issuer.provider.name().to_owned() }
    }
}

/// A repository whose CI may publish in the name of a developer.
#[derive(Debug, Clone, Object)]
#[oai(rename = "TrustedPublisher")]
pub struct TrustedPublisherModel {
    pub id: String,
    pub issuer: String,
    pub repository: String,
    /// The provider's id of the repository; `null`: the first run sets it.
    #[oai(nullable)]
    pub repository_id: Option<String>,
    /// The file of the workflow; `null`: any.
    #[oai(nullable)]
    pub workflow: Option<String>,
    /// `null`: any.
    #[oai(nullable)]
    pub environment: Option<String>,
    /// Whether only runs for protected branches and tags publish.
    pub protected_refs_only: bool,
    /// Of `publish-new`, `publish-update` and `yank`.
    pub scopes: Vec<String>,
    /// Names or DIDs of apps, in which `*` stands for any characters.
    pub apps: Vec<String>,
    /// `active`, `revoked` with the passport under which it was registered, or `not_accepted`: the store no longer accepts its issuer.
    pub status: String,
    pub created_at: String,
    #[oai(nullable)]
    pub last_used_at: Option<String>,
}

impl TrustedPublisherModel {
    /// `passport`: the owner's valid developer passport.
    pub fn new(publisher: TrustedPublisher, passport: Option<&PassportId>, issuers: &[IssuerModel]) -> Self {
        let status = match () {
            () if passport != Some(&publisher.passport_id) => "revoked",
            () if !issuers.iter().any(|issuer| issuer.address == publisher.issuer) => "not_accepted",
            () => "active",
        };
        Self {
            id: publisher.id.to_string(),
            issuer: publisher.issuer,
            repository: publisher.repository,
            repository_id: publisher.repository_id,
            workflow: publisher.workflow,
            environment: publisher.environment,
            protected_refs_only: publisher.protected_refs_only,
            scopes: publisher.scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            apps: publisher.apps.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
            status: status.to_owned(),
            created_at: publisher.created_at.to_iso(),
            last_used_at: publisher.last_used_at.map(|at| at.to_iso()),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TrustedPublisherList")]
pub struct TrustedPublisherListModel {
    pub count: u64,
    pub list: Vec<TrustedPublisherModel>,
    /// The issuers that the store accepts. None: trusted publishing is off.
    pub issuers: Vec<IssuerModel>,
    /// The audience that CI tokens for this store name.
    pub audience: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TrustedPublisherInput")]
pub struct TrustedPublisherInputModel {
    #[oai(default)]
    pub issuer: String,
    #[oai(default)]
    pub repository: String,
    /// The provider's id of the repository. Empty: the first run sets it.
    #[oai(default)]
    pub repository_id: String,
    /// Empty: any.
    #[oai(default)]
    pub workflow: String,
    /// Empty: any.
    #[oai(default)]
    pub environment: String,
    /// Whether only runs for protected branches and tags publish.
    #[oai(default = "yes")]
    pub protected_refs_only: bool,
    #[oai(validator(max_items = 10))]
    pub scopes: Vec<String>,
    #[oai(validator(max_items = 100))]
    pub apps: Vec<String>,
}

fn yes() -> bool {
    true
}

impl TrustedPublisherInputModel {
    pub fn read(&self) -> Result<NewTrustedPublisher, Problem> {
        Ok(NewTrustedPublisher {
            issuer: self.issuer.clone(),
            repository: self.repository.clone(),
            repository_id: self.repository_id.clone(),
            workflow: self.workflow.clone(),
            environment: self.environment.clone(),
            protected_refs_only: self.protected_refs_only,
            scopes: read_scopes(&self.scopes)?,
            apps: read_apps(&self.apps)?,
        })
    }
}
