use super::model::{CategoryChangeModel, CategoryInputModel, ManagedCategoryListModel, ManagedCategoryModel};
use crate::auth::AdminUser;
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use souk_domain::shared::CategoryId;
use souk_domain::store::{change_category, create_category, create_default_categories, delete_category};
use std::sync::Arc;

pub struct ConsoleCategoriesApi;

#[OpenApi(prefix_path = "/api/console/categories")]
impl ConsoleCategoriesApi {
    /// The categories in their order, for administrators.
    #[oai(path = "/", method = "get")]
    async fn list(&self, app: Data<&Arc<App>>, _caller: AdminUser) -> Result<Json<ManagedCategoryListModel>, Problem> {
        listed(&app).await
    }

    /// Create a category as an administrator, the last one in the order. Its slug comes from its English name and stays.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        category: Json<CategoryInputModel>,
    ) -> Result<Json<ManagedCategoryModel>, Problem> {
        let created = create_category(&app.ctx, &category.0.name.into()).await?;
        show(&app, &created.id).await
    }

    /// Create the default categories as an administrator, in a store that has none.
    #[oai(path = "/default", method = "post")]
    async fn create_default(&self, app: Data<&Arc<App>>, _caller: AdminUser) -> Result<Json<ManagedCategoryListModel>, Problem> {
        create_default_categories(&app.ctx).await?;
        listed(&app).await
    }

    /// Read a category as an administrator.
    #[oai(path = "/:id", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, _caller: AdminUser, id: Path<String>) -> Result<Json<ManagedCategoryModel>, Problem> {
        show(&app, &CategoryId::parse(&id)?).await
    }

    /// Rename a category or move it in the order, as an administrator.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        _caller: AdminUser,
        id: Path<String>,
        change: Json<CategoryChangeModel>,
    ) -> Result<Json<ManagedCategoryModel>, Problem> {
        let id = CategoryId::parse(&id)?;
        change_category(&app.ctx, &id, change.0.into()).await?;
        show(&app, &id).await
    }

    /// Delete a category without apps, as an administrator. Returns the remaining ones.
    #[oai(path = "/:id", method = "delete")]
    async fn delete(&self, app: Data<&Arc<App>>, _caller: AdminUser, id: Path<String>) -> Result<Json<ManagedCategoryListModel>, Problem> {
        delete_category(&app.ctx, &CategoryId::parse(&id)?).await?;
        listed(&app).await
    }
}

async fn listed(app: &App) -> Result<Json<ManagedCategoryListModel>, Problem> {
    Ok(Json(app.ctx.store.read().await?.apps().categories_with_all_apps().await?.into()))
}

async fn show(app: &App, id: &CategoryId) -> Result<Json<ManagedCategoryModel>, Problem> {
    let categories = app.ctx.store.read().await?.apps().categories_with_all_apps().await?;
    let found = categories.into_iter().find(|counted| counted.category.id == *id);
    found.map(|counted| Json(counted.into())).ok_or_else(Problem::not_found)
}
