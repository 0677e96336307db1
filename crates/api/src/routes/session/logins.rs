use crate::auth::{LOGIN_COOKIE, SignedIn, cookie, token_hash};
use crate::problem::Problem;
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::access::{self, Did, TokenHash};
use souk_domain::shared::LoginId;
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Login")]
pub struct LoginModel {
    pub id: String,
    /// The browser's description of itself (its `User-Agent`).
    pub device: String,
    pub created_at: String,
    /// When the user last proved their identity in it.
    pub signed_in_at: String,
    /// The last use, to ten minutes.
    pub used_at: String,
    /// Whether it is the browser that asks.
    pub current: bool,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "LoginList")]
pub struct LoginListModel {
    pub count: u64,
    pub list: Vec<LoginModel>,
}

pub struct LoginsApi;

#[OpenApi(prefix_path = "/api/session/logins")]
impl LoginsApi {
    /// The browsers in which the user is signed in; the last used one comes first.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, request: &Request, caller: SignedIn) -> Result<Json<LoginListModel>, Problem> {
        shown(&app, &caller.0.user.did, &own_token(request)?).await
    }

    /// End all logins of the user except the one that asks. Returns the remaining ones.
    #[oai(path = "/", method = "delete")]
    async fn end_others(&self, app: Data<&Arc<App>>, request: &Request, caller: SignedIn) -> Result<Json<LoginListModel>, Problem> {
        let token = own_token(request)?;
        access::end_other_logins(&app.ctx, &caller.0.user.did, &token).await?;
        shown(&app, &caller.0.user.did, &token).await
    }

    /// End one login of the user. Returns the remaining ones.
    #[oai(path = "/:id", method = "delete")]
    async fn end(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        caller: SignedIn,
        id: Path<String>,
    ) -> Result<Json<LoginListModel>, Problem> {
        let did = &caller.0.user.did;
        match access::end_login(&app.ctx, did, &LoginId::parse(&id)?).await? {
            true => shown(&app, did, &own_token(request)?).await,
            false => Err(Problem::not_found()),
        }
    }
}

fn own_token(request: &Request) -> Result<TokenHash, Problem> {
    cookie(request, LOGIN_COOKIE).map(token_hash).ok_or_else(Problem::signed_out)
}

async fn shown(app: &App, user: &Did, token: &TokenHash) -> Result<Json<LoginListModel>, Problem> {
    let logins = access::list_logins(&app.ctx, user, token).await?;
    let model = |login: access::Login| LoginModel {
        current: logins.current.as_ref() == Some(&login.id),
        id: login.id.to_string(),
        device: login.device,
        created_at: login.created_at.to_iso(),
        signed_in_at: login.signed_in_at.to_iso(),
        used_at: login.used_at.to_iso(),
    };
    let list: Vec<_> = logins.list.clone().into_iter().map(model).collect();
    Ok(Json(LoginListModel { count: list.len() as u64, list }))
}
