//! The exchange of a CI token. Nobody is signed in: the token says for whom it acts.

use crate::problem::Problem;
use crate::routes::access_tokens::{AccessTokenModel, CreatedTokenModel};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{Object, OpenApi};
use souk_domain::access::{AuditActor, AuditEntry, Operation};
use souk_domain::context::Context;
use souk_domain::publishing::trusted::{ExchangeRequest, issue_ci_token, verify_ci_token};
use souk_domain::shared::{AuditEntryId, TrustedPublisherId};
use std::sync::Arc;

#[derive(Clone, Object)]
#[oai(rename = "CiTokenExchange")]
pub struct ExchangeModel {
    /// The OIDC token of the CI, whose audience is the address of the store.
    pub token: String,
    /// The DID of the app that is about to be published.
    pub did: String,
    /// Its name.
    #[oai(validator(max_length = 100))]
    pub name: String,
    /// The id of the trusted publisher, if several developers have registered the repository.
    #[oai(nullable)]
    pub publisher: Option<String>,
}

/// An access token of a CI, and for whom it publishes.
#[derive(Clone, Object)]
#[oai(rename = "CiAccessToken")]
pub struct CiTokenModel {
    pub token: AccessTokenModel,
    /// The secret key: 64 bytes of ed25519, multibase base58btc. It cannot be shown again.
    pub secret_key: String,
    /// The id of the trusted publisher.
    pub publisher: String,
    /// The DID of the developer.
    pub developer: String,
    /// Their name, which can be empty.
    pub developer_name: String,
    /// Whether this is the first version of the app, which will belong to the developer.
    pub new_app: bool,
}

pub struct TrustedPublishingApi;

#[OpenApi(prefix_path = "/api/trusted-publishing")]
impl TrustedPublishingApi {
    /// Exchange the OIDC token of a CI for an access token of 15 minutes for one app. Each CI token is exchanged once. The secret key is in
    /// this answer only.
    #[oai(path = "/token", method = "post")]
    async fn exchange(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        exchange: Json<ExchangeModel>,
    ) -> Result<Response<Json<CiTokenModel>>, Problem> {
        app.limits.admit_exchange(request)?;
        let did = app.did_auth_tokens.parse_did(&exchange.did).ok_or_else(|| Problem::invalid("did"))?;
        let named = exchange.publisher.as_deref().filter(|id| !id.is_empty()).map(TrustedPublisherId::parse).transpose()?;
        let asked = ExchangeRequest { token: exchange.token.trim(), app: &did, app_name: &exchange.name, publisher: named.as_ref() };
        let run = verify_ci_token(&app.ctx, app.ci_tokens.as_ref(), app.site.public_url.as_str(), &asked).await?;
        let now = app.ctx.now();
        let entry = AuditEntry {
            id: AuditEntryId::new(now, app.ctx.random.as_ref()),
            at: now,
            actor: AuditActor::User(run.publisher.owner.clone()),
            operation: Operation::ExchangeCiToken,
            mode: None,
            objects: vec![run.publisher.id.to_string(), did.to_string()],
            address: app.limits.caller_address(request).map(|address| address.to_string()),
        };
        let ctx = Context { store: app.ctx.store.audited(entry), ..app.ctx.clone() };
        let (publisher, developer) = (run.publisher.id.to_string(), run.publisher.owner.to_string());
        let (developer_name, new_app) = (run.developer_name.clone(), run.is_new_app);
        let created = issue_ci_token(&ctx, app.token_keys.as_ref(), run).await?;
        let CreatedTokenModel { token, secret_key } = CreatedTokenModel::new(created, app.ctx.now());
        let issued = CiTokenModel { token, secret_key, publisher, developer, developer_name, new_app };
        Ok(Response::new(Json(issued)).header("cache-control", "no-store"))
    }
}
