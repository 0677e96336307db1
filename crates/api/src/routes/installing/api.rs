use crate::auth::{Downloader, SignedByDevice};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::Did;
use souk_domain::publishing::installing::{self, SignedStatement};
use std::sync::Arc;

/// A text that the store has signed. docs/INSTALLING.md describes its formats.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SignedStatement")]
pub struct SignedStatementModel {
    /// The signed text: a line with the name of its format, and a line for each field.
    pub statement: String,
    /// The store's ed25519 key, multibase base58btc. Its DID is the store's, which `/api/store.json` names.
    pub public_key: String,
    /// Ed25519 over the SHA3-256 of the text, multibase base58btc.
    pub signature: String,
}

impl From<SignedStatement> for SignedStatementModel {
    fn from(signed: SignedStatement) -> Self {
        Self { statement: signed.text, public_key: signed.public_key, signature: signed.signature }
    }
}

pub struct InstallingApi;

#[OpenApi(prefix_path = "/api/apps")]
impl InstallingApi {
    /// What the store says of the version that a new install gets, signed by the store: the digests of the developer's document and of the
    /// bundle, the developer, and whether the app is sold. It is valid for an hour.
    #[oai(path = "/:did/release", method = "get")]
    async fn current(&self, app: Data<&Arc<App>>, did: Path<String>) -> Result<Json<SignedStatementModel>, Problem> {
        release(&app, &did, None, &Downloader::Visitor).await
    }

    /// What the store says of one version, signed by the store. A version that is not published exists for its developer and for reviewers
    /// only: signed in, or by a request that the key of a computer has signed on which they are. Its statement has a format of its own and
    /// names the status of its review.
    #[oai(path = "/:did/versions/:version/release", method = "get")]
    async fn named(
        &self,
        app: Data<&Arc<App>>,
        downloader: Downloader,
        did: Path<String>,
        version: Path<String>,
    ) -> Result<Json<SignedStatementModel>, Problem> {
        release(&app, &did, Some(&version), &downloader).await
    }

    /// A license for the computer whose key has signed the request, if its user has the app: for 30 days, or until a subscription ends that is
    /// set to cancel or is paused. After a refund, during a dispute, and while the app is blocked, there is none.
    #[oai(path = "/:did/license", method = "get")]
    async fn license(
        &self,
        app: Data<&Arc<App>>,
        device: SignedByDevice,
        did: Path<String>,
    ) -> Result<Json<SignedStatementModel>, Problem> {
        let did = parse(&app, &did)?;
        Ok(Json(installing::issue_license(&app.ctx, app.did_auth_tokens.as_ref(), &device.0, &did).await?.into()))
    }
}

async fn release(app: &App, did: &str, version: Option<&str>, downloader: &Downloader) -> Result<Json<SignedStatementModel>, Problem> {
    let (did, reader) = (parse(app, did)?, downloader.reader(app).await?);
    Ok(Json(installing::find_release(&app.ctx, app.did_auth_tokens.as_ref(), &did, version, reader.as_ref()).await?.into()))
}

fn parse(app: &App, did: &str) -> Result<Did, Problem> {
    app.did_auth_tokens.parse_did(did).ok_or_else(Problem::not_found)
}
