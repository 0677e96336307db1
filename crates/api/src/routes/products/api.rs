use super::model::{ProductInputModel, ProductListModel};
use crate::auth::{Reads, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::input::{metadata_filter, page, words};
use crate::routes::prices::{PriceModel, ProductModel};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::pricing::{self, CatalogueFilter, Product};
use souk_domain::shared::{Mode, Page, ProductId, StorageError};
use std::sync::Arc;

pub struct ProductsApi;

#[OpenApi(prefix_path = "/api/products")]
impl ProductsApi {
    /// Create a product, optionally with its prices. Amounts are human decimals.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Products>,
        product: LosslessJson<ProductInputModel>,
    ) -> Result<Json<ProductModel>, Problem> {
        let input = product.0.read(&app)?;
        let id = pricing::create_product(&app.ctx, writes.mode, input.fields, input.prices).await?;
        show(&app, writes.mode, &id).await
    }

    /// The store's products, newest first. `metadata.{name}={value}` filters the list.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the call")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        reads: Reads<resources::Products>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
        active: Query<Option<bool>>,
        q: Query<Option<String>>,
    ) -> Result<Json<ProductListModel>, Problem> {
        let page = page::<ProductId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let filter = CatalogueFilter { active: active.0, query: words(q.0), product: None, metadata: metadata_filter(request)? };
        listed(&app, reads.mode, &filter, &page).await
    }

    /// Products whose name or description contains a text.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Products>,
        query: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<ProductListModel>, Problem> {
        let filter = CatalogueFilter { query: words(query.0), ..CatalogueFilter::default() };
        listed(&app, reads.mode, &filter, &Page::new(number.0, page_size.0)).await
    }

    /// Read a product with its prices.
    #[oai(path = "/:id", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, reads: Reads<resources::Products>, id: Path<String>) -> Result<Json<ProductModel>, Problem> {
        show(&app, reads.mode, &ProductId::parse(&id)?).await
    }

    /// Change a product.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Products>,
        id: Path<String>,
        product: LosslessJson<ProductInputModel>,
    ) -> Result<Json<ProductModel>, Problem> {
        let id = ProductId::parse(&id)?;
        let fields = product.0.read(&app)?.fields;
        pricing::change_product(&app.ctx, writes.mode, &id, fields).await?;
        show(&app, writes.mode, &id).await
    }

    /// Archive a product and its prices: they are no longer sold.
    #[oai(path = "/:id/archive", method = "put")]
    async fn archive(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Products>,
        id: Path<String>,
    ) -> Result<Json<ProductModel>, Problem> {
        let id = ProductId::parse(&id)?;
        pricing::archive_product(&app.ctx, writes.mode, &id).await?;
        show(&app, writes.mode, &id).await
    }

    /// Delete a product that has no prices.
    #[oai(path = "/:id", method = "delete")]
    async fn delete(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Products>,
        id: Path<String>,
    ) -> Result<Json<ProductModel>, Problem> {
        let id = ProductId::parse(&id)?;
        let product = show(&app, writes.mode, &id).await?;
        pricing::delete_product(&app.ctx, writes.mode, &id).await?;
        Ok(product)
    }
}

async fn show(app: &App, mode: Mode, id: &ProductId) -> Result<Json<ProductModel>, Problem> {
    let product = pricing::find_product(app.ctx.store.read().await?.as_mut(), mode, id).await?;
    let mut models = with_prices(app, &[product]).await?;
    models.pop().map(Json).ok_or_else(Problem::not_found)
}

async fn listed(app: &App, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Json<ProductListModel>, Problem> {
    let found = app.ctx.store.read().await?.products().list(mode, filter, page).await?;
    Ok(Json(ProductListModel { count: found.count, list: with_prices(app, &found.list).await? }))
}

async fn with_prices(app: &App, products: &[Product]) -> Result<Vec<ProductModel>, StorageError> {
    let ids: Vec<_> = products.iter().map(|product| product.id.clone()).collect();
    let prices = app.ctx.store.read().await?.prices().of_products(&ids).await?;
    let model = |product: &Product| {
        let models = prices.iter().filter(|price| price.product_id == product.id).map(PriceModel::from).collect();
        ProductModel { prices: Some(models), ..ProductModel::from(product) }
    };
    Ok(products.iter().map(model).collect())
}
