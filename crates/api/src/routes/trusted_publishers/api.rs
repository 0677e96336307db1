use super::model::{IssuerModel, TrustedPublisherInputModel, TrustedPublisherListModel, TrustedPublisherModel};
use crate::auth::{DeveloperUser, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::access::Role;
use souk_domain::publishing::{find_preferences, trusted};
use souk_domain::shared::TrustedPublisherId;
use std::sync::Arc;

pub struct TrustedPublishersApi;

#[OpenApi(prefix_path = "/api/developer/trusted-publishers")]
impl TrustedPublishersApi {
    /// The trusted publishers of the signed-in developer, newest first, and the issuers that the store accepts.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, caller: DeveloperUser) -> Result<Json<TrustedPublisherListModel>, Problem> {
        list(&app, &caller.0).await
    }

    /// Register a repository whose CI may publish in the name of the signed-in developer, after a recent sign-in. Returns all.
    #[oai(path = "/", method = "post")]
    async fn register(
        &self,
        app: Data<&Arc<App>>,
        caller: DeveloperUser,
        publisher: Json<TrustedPublisherInputModel>,
    ) -> Result<Json<TrustedPublisherListModel>, Problem> {
        caller.0.check_recent(&app)?;
        trusted::register_publisher(&app.ctx, &caller.0.0.user.did, publisher.read()?).await?;
        list(&app, &caller.0).await
    }

    /// Remove a trusted publisher of the signed-in developer. Its access tokens end at once. Returns the remaining ones.
    #[oai(path = "/:id", method = "delete")]
    async fn remove(
        &self,
        app: Data<&Arc<App>>,
        caller: DeveloperUser,
        id: Path<String>,
    ) -> Result<Json<TrustedPublisherListModel>, Problem> {
        trusted::remove_publisher(&app.ctx, &caller.0.0.user.did, &TrustedPublisherId::parse(&id)?).await?;
        list(&app, &caller.0).await
    }
}

async fn list(app: &App, caller: &SignedIn) -> Result<Json<TrustedPublisherListModel>, Problem> {
    let publishers = trusted::list_trusted_publishers(&app.ctx, &caller.0.user.did).await?;
    let preferences = find_preferences(&app.ctx).await?.preferences;
    let issuers: Vec<_> = trusted::trusted_issuers(&preferences).map(IssuerModel::from).collect();
    let passport = caller.0.passports.iter().find(|passport| passport.role == Role::Developer).map(|passport| &passport.id);
    let list: Vec<_> = publishers.into_iter().map(|one| TrustedPublisherModel::new(one, passport, &issuers)).collect();
    let audience = app.site.address("").trim_end_matches('/').to_owned();
    Ok(Json(TrustedPublisherListModel { count: list.len() as u64, list, issuers, audience }))
}
