use super::model::{ApprovedToolModel, ToolApprovalModel, ToolRequestModel, ToolSessionTokenModel};
use crate::auth::SignedIn;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, OpenApi};
use souk_domain::publishing::tools::{self, ToolIssuer};
use std::sync::Arc;

#[derive(ApiResponse)]
pub enum Denied {
    #[oai(status = 204)]
    Done,
}

pub struct ToolSessionsApi;

#[OpenApi(prefix_path = "/api/tool-sessions")]
impl ToolSessionsApi {
    /// What a developer's tool asks the signed-in user for. It is a POST so that the token of the session stands in no address.
    #[oai(path = "/preview", method = "post")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        _caller: SignedIn,
        session: Json<ToolSessionTokenModel>,
    ) -> Result<Json<ToolRequestModel>, Problem> {
        Ok(Json(tools::find_tool_request(&app.ctx, &session.token).await?.into()))
    }

    /// Approve the request of a tool, after a recent sign-in. The access token that it asks for is created, and its secret is sealed to the
    /// key of the tool; only a developer can approve that. Keys of apps are created by the browser, which sends their public halves.
    #[oai(path = "/approve", method = "post")]
    async fn approve(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        approval: Json<ToolApprovalModel>,
    ) -> Result<Json<ApprovedToolModel>, Problem> {
        caller.check_recent(&app)?;
        let read = approval.read()?;
        let issuer =
            ToolIssuer { store: app.did_auth_tokens.app_did(), seals: app.tool_seals.as_ref(), token_keys: app.token_keys.as_ref() };
        let approved = tools::approve_tool(&app.ctx, issuer, &caller.0.user, &approval.token, read).await?;
        Ok(Json(ApprovedToolModel::new(&app, approved)))
    }

    /// Deny the request of a tool, which is told so.
    #[oai(path = "/deny", method = "post")]
    async fn deny(&self, app: Data<&Arc<App>>, _caller: SignedIn, session: Json<ToolSessionTokenModel>) -> Result<Denied, Problem> {
        tools::deny_tool(&app.ctx, &session.token).await?;
        Ok(Denied::Done)
    }
}
