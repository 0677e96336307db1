use super::model::{AppCategoryInputModel, ManagedAppListModel, ManagedAppModel};
use super::names::names_of;
use crate::auth::{AdminUser, Caller, RequestContext};
use crate::problem::Problem;
use crate::routes::selling::ListedTerms;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::access::Did;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::managed_apps::{AppState, ManagedApp, ManagedAppFilter, set_app_category};
use souk_domain::publishing::review::VersionStatus;
use souk_domain::shared::{CategoryId, Mode, Page};
use souk_domain::storage::UnitOfWork;
use souk_domain::store::KEYWORD_MAX;
use std::sync::Arc;

pub struct ManagedAppsApi;

#[OpenApi(prefix_path = "/api/console/apps")]
impl ManagedAppsApi {
    /// All apps, for administrators: those that were uploaded and those of the catalogue. `status` filters by the latest version, `state`
    /// by where the app is, `category_id` by its category.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        caller: AdminUser,
        context: RequestContext,
        keyword: Query<Option<String>>,
        status: Query<Option<String>>,
        state: Query<Option<String>>,
        category_id: Query<Option<String>>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<ManagedAppListModel>, Problem> {
        let status = status.0.map(|name| VersionStatus::from_name(&name).ok_or_else(|| Problem::invalid("status")));
        let state = state.0.map(|name| AppState::from_name(&name).ok_or_else(|| Problem::invalid("state")));
        let category = category_id.0.map(|id| CategoryId::parse(&id).map_err(|_| Problem::invalid("category_id")));
        let filter = ManagedAppFilter {
            keyword: keyword.0.unwrap_or_default().chars().take(KEYWORD_MAX).collect(),
            status: status.transpose()?,
            state: state.transpose()?,
            category: category.transpose()?,
        };
        let mut unit = app.ctx.store.read().await?;
        let found = unit.managed_apps().list(&filter, &Page::new(page.0, page_size.0)).await?;
        Ok(Json(ManagedAppListModel { count: found.count, list: models(unit.as_mut(), &caller.0.0, context.mode, found.list).await? }))
    }

    /// Read an app as an administrator.
    #[oai(path = "/:did", method = "get")]
    async fn read(
        &self,
        app: Data<&Arc<App>>,
        caller: AdminUser,
        context: RequestContext,
        did: Path<String>,
    ) -> Result<Json<ManagedAppModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        show(&app, &caller.0.0, context.mode, &did).await
    }

    /// Set the category of an app, and which of its versions are reviewed, as an administrator. Fewer reviews need a recent sign-in.
    #[oai(path = "/:did/category", method = "put")]
    async fn set_category(
        &self,
        app: Data<&Arc<App>>,
        caller: AdminUser,
        context: RequestContext,
        did: Path<String>,
        category: Json<AppCategoryInputModel>,
    ) -> Result<Json<ManagedAppModel>, Problem> {
        let did = app.did_auth_tokens.parse_did(&did).ok_or_else(Problem::not_found)?;
        let (chosen, review_type) = (category.category()?, category.review_type()?);
        if review_type == Some(ReviewType::FirstVersion) {
            let found = app.ctx.store.read().await?.reviews().find_app(&did).await?;
            if found.is_some_and(|found| found.review_type != review_type) {
                caller.0.check_recent(&app)?;
            }
        }
        set_app_category(&app.ctx, &caller.0.0, &did, chosen.as_ref(), review_type).await?;
        show(&app, &caller.0.0, context.mode, &did).await
    }
}

async fn show(app: &App, caller: &Caller, mode: Mode, did: &Did) -> Result<Json<ManagedAppModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.managed_apps().find(did).await?.ok_or_else(Problem::not_found)?;
    models(unit.as_mut(), caller, mode, vec![found]).await?.pop().map(Json).ok_or_else(Problem::not_found)
}

/// The apps with the names that their developers have now, and how they are sold.
async fn models(unit: &mut dyn UnitOfWork, caller: &Caller, mode: Mode, apps: Vec<ManagedApp>) -> Result<Vec<ManagedAppModel>, Problem> {
    let dids: Vec<_> = apps.iter().map(|app| app.did.clone()).collect();
    let terms = ListedTerms::read(unit, caller, mode, &dids).await?;
    let names = names_of(unit, apps.iter().map(|app| app.developer.clone()).collect()).await?;
    let model = |app: ManagedApp| {
        let name = names.get(&app.developer).map(String::as_str);
        let terms = terms.of(&app.did);
        ManagedAppModel::new(app, name, terms)
    };
    Ok(apps.into_iter().map(model).collect())
}
