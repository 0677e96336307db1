use super::model::{AccessTokenInputModel, AccessTokenListModel, AccessTokenModel, CreatedTokenModel};
use crate::auth::{DeveloperUser, SignedByToken, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Json, Response};
use souk_domain::access::{Did, Role};
use souk_domain::publishing::access_tokens;
use std::sync::Arc;

pub struct AccessTokensApi;

#[OpenApi(prefix_path = "/api/developer/access-tokens")]
impl AccessTokensApi {
    /// The access tokens of the signed-in developer, newest first, without their secrets.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, caller: DeveloperUser) -> Result<Json<AccessTokenListModel>, Problem> {
        list(&app, &caller.0).await
    }

    /// Create an access token, after a recent sign-in. The secret key is in this answer only.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        caller: DeveloperUser,
        token: Json<AccessTokenInputModel>,
    ) -> Result<Response<Json<CreatedTokenModel>>, Problem> {
        caller.0.check_recent(&app)?;
        let new = token.read()?;
        let created = access_tokens::create_access_token(&app.ctx, app.token_keys.as_ref(), &caller.0.0.user.did, new).await?;
        Ok(Response::new(Json(CreatedTokenModel::new(created, app.ctx.now()))).header("cache-control", "no-store"))
    }

    /// The token that has signed the request, so that a tool can see what it may do and until when.
    #[oai(path = "/current", method = "get")]
    async fn current(&self, app: Data<&Arc<App>>, signed: SignedByToken) -> Json<AccessTokenModel> {
        let passport = signed.0.passport_id.clone();
        Json(AccessTokenModel::new(signed.0, Some(&passport), app.ctx.now()))
    }

    /// Delete an access token of the signed-in developer, whose name must be given. Returns the remaining ones. What the token has signed
    /// stays.
    #[oai(path = "/:id", method = "delete")]
    async fn delete(
        &self,
        app: Data<&Arc<App>>,
        caller: DeveloperUser,
        id: Path<String>,
        name: Query<Option<String>>,
    ) -> Result<Json<AccessTokenListModel>, Problem> {
        let id = Did::from_verified(id.0);
        let name = name.0.unwrap_or_default();
        access_tokens::delete_access_token(&app.ctx, &caller.0.0.user.did, &id, &name).await?;
        list(&app, &caller.0).await
    }
}

async fn list(app: &App, caller: &SignedIn) -> Result<Json<AccessTokenListModel>, Problem> {
    let tokens = access_tokens::list_access_tokens(&app.ctx, &caller.0.user.did).await?;
    let passport = caller.0.passports.iter().find(|passport| passport.role == Role::Developer).map(|passport| &passport.id);
    let list: Vec<_> = tokens.into_iter().map(|token| AccessTokenModel::new(token, passport, app.ctx.now())).collect();
    Ok(Json(AccessTokenListModel { count: list.len() as u64, list }))
}
