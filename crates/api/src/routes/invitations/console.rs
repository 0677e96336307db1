use super::model::{CreatedInvitationModel, HolderListModel, HolderModel, InvitationInputModel, InvitationListModel, InvitationModel};
use crate::auth::{AdminUser, token_hash};
use crate::problem::Problem;
use crate::routes::input::page;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Json, Response};
use souk_domain::access::{Did, Role};
use souk_domain::publishing::invitations;
use souk_domain::shared::{InvitationId, Page, PassportId};
use std::collections::HashMap;
use std::sync::Arc;

/// The most invitations of the list: the newest.
const LISTED_MAX: u32 = 200;

pub struct ConsoleInvitationsApi;

#[OpenApi(prefix_path = "/api/console/invitations")]
impl ConsoleInvitationsApi {
    /// The newest invitations, for administrators. Their links cannot be shown again.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, _caller: AdminUser) -> Result<Json<InvitationListModel>, Problem> {
        list(&app).await
    }

    /// Create an invitation, after a recent sign-in. Administrators invite developers and reviewers, owners administrators as well. The link
    /// is in this answer only.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        caller: AdminUser,
        invitation: Json<InvitationInputModel>,
    ) -> Result<Response<Json<CreatedInvitationModel>>, Problem> {
        caller.0.check_recent(&app)?;
        let role = Role::from_name(&invitation.role).ok_or_else(|| Problem::invalid("role"))?;
        let secret = hex::encode(app.ctx.random.bytes::<32>());
        let created = invitations::invite(&app.ctx, &caller.0.0, role, invitation.lifetime_days, &token_hash(&secret)).await?;
        // After the `#`, which browsers send to no server, so that the secret is in no log.
        let link = app.site.address(&format!("/invitation#{secret}"));
        let created = CreatedInvitationModel { invitation: InvitationModel::new(created, app.ctx.now()), link };
        Ok(Response::new(Json(created)).header("cache-control", "no-store"))
    }

    /// Revoke an open invitation. Returns the list.
    #[oai(path = "/:id", method = "delete")]
    async fn revoke(&self, app: Data<&Arc<App>>, caller: AdminUser, id: Path<String>) -> Result<Json<InvitationListModel>, Problem> {
        invitations::revoke_invitation(&app.ctx, &caller.0.0, &InvitationId::parse(&id)?).await?;
        list(&app).await
    }
}

async fn list(app: &App) -> Result<Json<InvitationListModel>, Problem> {
    let found = app.ctx.store.read().await?.invitations().list(LISTED_MAX).await?;
    let list: Vec<_> = found.into_iter().map(|invitation| InvitationModel::new(invitation, app.ctx.now())).collect();
    Ok(Json(InvitationListModel { count: list.len() as u64, list }))
}

pub struct DevelopersApi;

#[OpenApi(prefix_path = "/api/console/developers")]
impl DevelopersApi {
    /// Everybody who holds a valid passport, the newest passport first, for administrators.
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<HolderListModel>, Problem> {
        let page = page::<PassportId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        holders(&app, &page).await
    }

    /// Revoke a passport, after a recent sign-in. Its access tokens end with it; published apps stay. Administrators revoke those of
    /// developers and reviewers, owners those of administrators as well.
    #[oai(path = "/:id", method = "delete")]
    async fn revoke(&self, app: Data<&Arc<App>>, caller: AdminUser, id: Path<String>) -> Result<Json<HolderListModel>, Problem> {
        caller.0.check_recent(&app)?;
        invitations::withdraw_passport(&app.ctx, &caller.0.0, &PassportId::parse(&id)?).await?;
        holders(&app, &Page::new(None, None)).await
    }
}

async fn holders(app: &App, page: &Page) -> Result<Json<HolderListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.users().list_valid_passports(page).await?;
    let mut dids: Vec<Did> = found.list.iter().map(|passport| passport.holder.clone()).collect();
    dids.sort();
    dids.dedup();
    let users: HashMap<_, _> = unit.users().find_all(&dids).await?.into_iter().map(|user| (user.did.clone(), user)).collect();
    let apps = unit.apps().count_of_developers(&dids).await?;
    let model = |passport: souk_domain::access::Passport| {
        let (user, published) = (users.get(&passport.holder), apps.get(&passport.holder).copied().unwrap_or_default());
        HolderModel::new(passport, user, published)
    };
    Ok(Json(HolderListModel { count: found.count, list: found.list.into_iter().map(model).collect() }))
}
