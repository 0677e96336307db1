use super::model::{AgreementModel, DeveloperModel, DeveloperProgramModel};
use crate::auth::{MaybeUser, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::access::Did;
use souk_domain::publishing::staking::{agree_to_terms, developer_since, find_program, leave_developers};
use souk_domain::shared::Timestamp;
use std::sync::Arc;

pub struct DeveloperProgramApi;

#[OpenApi(prefix_path = "/api/developer-program")]
impl DeveloperProgramApi {
    /// How the store accepts developers, what it costs, and where the signed-in user stands.
    #[oai(path = "/", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, user: MaybeUser) -> Result<Json<DeveloperProgramModel>, Problem> {
        program(&app, user.0.as_ref().map(|caller| &caller.user.did)).await
    }

    /// Since when somebody is a developer, if they are one.
    #[oai(path = "/developers/:did", method = "get")]
    async fn developer(&self, app: Data<&Arc<App>>, did: Path<String>) -> Result<Json<DeveloperModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let since = developer_since(&app.ctx, &did).await?;
        Ok(Json(DeveloperModel { did: did.to_string(), since: since.map(Timestamp::to_iso) }))
    }

    /// Agree to the terms for developers. The first agreement to a version counts.
    #[oai(path = "/agreement", method = "post")]
    async fn agree(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        agreement: Json<AgreementModel>,
    ) -> Result<Json<DeveloperProgramModel>, Problem> {
        agree_to_terms(&app.ctx, &caller.0, agreement.version).await?;
        program(&app, Some(&caller.0.user.did)).await
    }

    /// Leave: the passport of the signed-in developer is withdrawn, and the deposit is returned after its waiting time. Apps stay.
    #[oai(path = "/membership", method = "delete")]
    async fn leave(&self, app: Data<&Arc<App>>, caller: SignedIn) -> Result<Json<DeveloperProgramModel>, Problem> {
        leave_developers(&app.ctx, &caller.0).await?;
        program(&app, Some(&caller.0.user.did)).await
    }
}

async fn program(app: &App, user: Option<&Did>) -> Result<Json<DeveloperProgramModel>, Problem> {
    let found = find_program(&app.ctx, user).await?;
    Ok(Json(DeveloperProgramModel::new(app.ctx.store.read().await?.as_mut(), found).await?))
}
