use crate::auth::{Caller, Publisher, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::TokenAct;
use souk_domain::publishing::bundle::checks::{CheckResult, Finding, find_checks, request_checks};
use souk_domain::publishing::bundle::parse_version;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "CheckFinding")]
pub struct CheckFindingModel {
    /// A code such as `secrets.private_key`, for which pages have a text.
    pub rule: String,
    /// The file of the bundle; empty: it concerns the whole version.
    pub file: String,
    /// Counts from 1.
    #[oai(nullable)]
    pub line: Option<u32>,
    /// What the rule is about: a field, a name, or what is wrong.
    pub detail: String,
    /// How to fix it.
    pub hint: String,
}

impl From<Finding> for CheckFindingModel {
    fn from(finding: Finding) -> Self {
        let Finding { rule, file, line, detail } = finding;
        Self { rule: rule.name().to_owned(), file, line, detail, hint: rule.hint().to_owned() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "VersionCheck")]
pub struct VersionCheckModel {
    /// manifest, archive, secrets, look_alike, license, pictures or blocked_digests.
    pub name: String,
    /// passed, failed, or errored: the check could not be carried out and says nothing about the version.
    pub state: String,
    pub findings: Vec<CheckFindingModel>,
    pub checked_at: String,
}

impl From<CheckResult> for VersionCheckModel {
    fn from(result: CheckResult) -> Self {
        Self {
            name: result.name.name().to_owned(),
            state: result.state.name().to_owned(),
            findings: result.findings.into_iter().map(CheckFindingModel::from).collect(),
            checked_at: result.checked_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "VersionCheckList")]
pub struct VersionCheckListModel {
    /// Empty until the checks have run.
    pub list: Vec<VersionCheckModel>,
}

pub struct VersionChecksApi;

#[OpenApi(prefix_path = "/api/apps")]
impl VersionChecksApi {
    /// The checks of an uploaded version, for its developer and for reviewers.
    #[oai(path = "/:did/versions/:version/checks", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        publisher: Publisher,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<VersionCheckListModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        let caller = publisher.act(&app, &did, TokenAct::Read).await?;
        checks(&app, &did, &version, &caller).await
    }

    /// Run the checks again, as a job, unless one is ordered already. Returns the former results, which are shown until it has ended.
    #[oai(path = "/:did/versions/:version/checks", method = "post")]
    async fn run(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<VersionCheckListModel>, Problem> {
        let Named { did, version } = named(&app, &did, &version)?;
        request_checks(&app.ctx, &did, &version, &caller.0).await?;
        checks(&app, &did, &version, &caller.0).await
    }
}

async fn checks(app: &App, did: &Did, version: &semver::Version, caller: &Caller) -> Result<Json<VersionCheckListModel>, Problem> {
    let list = find_checks(&app.ctx, did, version, caller).await?;
    Ok(Json(VersionCheckListModel { list: list.into_iter().map(VersionCheckModel::from).collect() }))
}

/// What a path names.
pub(in crate::routes) struct Named {
    pub did: Did,
    pub version: semver::Version,
}

pub(in crate::routes) fn named(app: &App, did: &str, version: &str) -> Result<Named, Problem> {
    let did = app.did_auth_tokens.parse_did(did).ok_or_else(Problem::not_found)?;
    let version = parse_version(version).ok_or_else(Problem::not_found)?;
    Ok(Named { did, version })
}
