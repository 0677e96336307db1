use super::model::AppDepositModel;
use crate::auth::{Caller, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::access::Did;
use souk_domain::publishing::staking::{find_app_deposit, return_app_deposit};
use std::sync::Arc;

pub struct AppDepositsApi;

#[OpenApi(prefix_path = "/api/apps")]
impl AppDepositsApi {
    /// The deposit for an app, for its developer and for those who moderate it.
    #[oai(path = "/:did/deposit", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, caller: SignedIn, did: Path<String>) -> Result<Json<AppDepositModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        deposit(&app, &caller.0, &did).await
    }

    /// Take back the deposit for one's own app: it is returned after its waiting time. An app that is published is blocked for it while the
    /// store requires deposits.
    #[oai(path = "/:did/deposit", method = "delete")]
    async fn take_back(&self, app: Data<&Arc<App>>, caller: SignedIn, did: Path<String>) -> Result<Json<AppDepositModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        return_app_deposit(&app.ctx, &caller.0, &did).await?;
        deposit(&app, &caller.0, &did).await
    }
}

async fn deposit(app: &App, caller: &Caller, did: &Did) -> Result<Json<AppDepositModel>, Problem> {
    let found = find_app_deposit(&app.ctx, caller, did).await?;
    Ok(Json(AppDepositModel::new(app.ctx.store.read().await?.as_mut(), found).await?))
}
