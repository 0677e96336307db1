use crate::auth::{LOGIN_COOKIE, MaybeUser, SignedIn, browser_cookie, cookie, login_cookie, token_hash};
use crate::problem::Problem;
use crate::routes::payments::AddressModel;
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::payload::{Json, Response};
use poem_openapi::{ApiResponse, Object, OpenApi};
use souk_domain::access::{self, Caller, User};
use std::sync::Arc;

#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionPassport")]
pub struct PassportModel {
    pub role: String,
    pub name: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ConnectedAccount")]
pub struct AccountModel {
    pub provider: String,
    pub did: String,
    pub pk: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "DidSpace")]
pub struct SpaceModel {
    pub did: String,
    pub endpoint: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionUser", rename_all = "camelCase", skip_serializing_if_is_none)]
pub struct UserModel {
    pub did: String,
    pub full_name: String,
    pub email: String,
    pub phone: String,
    /// Its address changes with the picture.
    pub avatar: String,
    /// Whether the user has uploaded the picture; otherwise the store has drawn it.
    pub has_picture: bool,
    /// `owner`, `admin`, `developer` or empty.
    pub role: String,
    pub passports: Vec<PassportModel>,
    pub connected_accounts: Vec<AccountModel>,
    pub address: Option<AddressModel>,
    /// The space in which the user keeps their own data. No user of this store has one yet.
    pub did_space: Option<SpaceModel>,
}

impl From<&Caller> for UserModel {
    fn from(caller: &Caller) -> Self {
        let user = &caller.user;
        let passport =
            |passport: &access::Passport| PassportModel { role: passport.role.name().to_owned(), name: passport.role.name().to_owned() };
        Self {
            did: user.did.to_string(),
            full_name: user.full_name.clone(),
            email: user.email.clone(),
            phone: user.phone.clone(),
            avatar: avatar_address(user),
            has_picture: user.picture.is_some(),
            role: caller.role().map(access::Role::name).unwrap_or_default().to_owned(),
            passports: caller.passports.iter().map(passport).collect(),
            connected_accounts: vec![AccountModel {
                provider: "wallet".to_owned(),
                did: user.did.to_string(),
                pk: user.public_key.clone(),
            }],
            address: user.address.as_ref().map(AddressModel::from),
            did_space: None,
        }
    }
}

/// The address of a user's avatar. Browsers keep a picture under its address, so each upload gets another one.
fn avatar_address(user: &User) -> String {
    let path = format!("/.well-known/service/user/avatar/{}", user.did);
    match &user.picture {
        Some(picture) => format!("{path}?updateAt={}", picture.updated_at.micros()),
        None => path,
    }
}

/// `user` is null when nobody is signed in.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Session")]
pub struct SessionModel {
    #[oai(nullable)]
    pub user: Option<UserModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "OwnerClaim")]
pub struct OwnerClaimModel {
    /// The token of the one-time link.
    #[oai(validator(max_length = 128))]
    pub token: String,
}

#[derive(ApiResponse)]
pub enum Done {
    #[oai(status = 204)]
    Done,
}

pub struct SessionApi;

#[OpenApi(prefix_path = "/api/session")]
impl SessionApi {
    /// The user who is signed in with this browser.
    #[oai(path = "/", method = "get")]
    async fn session(&self, app: Data<&Arc<App>>, request: &Request, user: MaybeUser) -> Response<Json<SessionModel>> {
        let answer = Response::new(Json(SessionModel { user: user.0.as_ref().map(UserModel::from) }));
        // Every page starts with this request, so it extends the lifetime of a login in use.
        let Some(token) = cookie(request, LOGIN_COOKIE).filter(|_| user.0.is_some()) else { return answer };
        match access::extend_login(&app.ctx, &token_hash(token)).await {
            Ok(true) => answer.header("set-cookie", login_cookie(token, app.site.public_url.scheme() == "https")),
            Ok(false) => answer,
            Err(error) => {
                tracing::warn!(%error, "cannot extend a login");
                answer
            }
        }
    }

    /// End the session of this browser.
    #[oai(path = "/logout", method = "post")]
    async fn logout(&self, app: Data<&Arc<App>>, request: &Request) -> Result<Response<Done>, Problem> {
        if let Some(token) = cookie(request, LOGIN_COOKIE) {
            let mut unit = app.ctx.store.begin().await?;
            unit.browser_sessions().delete(&token_hash(token)).await?;
            unit.commit().await?;
        }
        let secure = app.site.public_url.scheme() == "https";
        Ok(Response::new(Done::Done).header("set-cookie", login_cookie("", secure)).header("set-cookie", browser_cookie("", secure)))
    }

    /// Redeem the one-time link of a new store: the first user who opens it becomes the owner.
    #[oai(path = "/claim-owner", method = "post")]
    async fn claim_owner(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        claim: Json<OwnerClaimModel>,
    ) -> Result<Json<SessionModel>, Problem> {
        let link = token_hash(&claim.token);
        access::claim_ownership(&app.ctx, &caller.0.user.did, &link).await?;
        session_of(&app, caller.0).await
    }
}

/// The session of a user whose passports have changed.
pub async fn session_of(app: &App, caller: Caller) -> Result<Json<SessionModel>, Problem> {
    let passports = app.ctx.store.read().await?.users().passports(&caller.user.did).await?;
    let caller = Caller { passports, ..caller };
    Ok(Json(SessionModel { user: Some(UserModel::from(&caller)) }))
}
