use super::{InventoryAction, InventoryModel, PriceInputModel, PriceListModel, PriceModel};
use crate::auth::{Reads, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::input::{metadata_filter, page, words};
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::checkout;
use souk_domain::pricing::{self, CatalogueFilter, Price};
use souk_domain::shared::{Mode, Page, PriceId, ProductId, StorageError};
use std::sync::Arc;

pub struct PricesApi;

#[OpenApi(prefix_path = "/api/prices")]
impl PricesApi {
    /// Add a price to a product. Amounts are human decimals.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Prices>,
        price: LosslessJson<PriceInputModel>,
    ) -> Result<Json<PriceModel>, Problem> {
        let product = price.0.product_id.as_deref().ok_or_else(|| Problem::required("product_id"))?;
        let product =
            ProductId::parse(product).map_err(|_| Problem::invalid_value("product_id", "product_id is not the id of a product"))?;
        let id = pricing::create_price(&app.ctx, writes.mode, &product, price.0.read(true)?).await?;
        show(&app, writes.mode, id.as_str()).await
    }

    /// The store's prices, newest first. `metadata.{name}={value}` filters the list.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the call")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        reads: Reads<resources::Prices>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
        active: Query<Option<bool>>,
        product_id: Query<Option<String>>,
        q: Query<Option<String>>,
    ) -> Result<Json<PriceListModel>, Problem> {
        let page = page::<PriceId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let product = product_id.0.map(|id| ProductId::parse(&id)).transpose();
        let product = product.map_err(|_| Problem::invalid_value("product_id", "product_id is not the id of a product"))?;
        let filter = CatalogueFilter { active: active.0, query: words(q.0), product, metadata: metadata_filter(request)? };
        listed(&app, reads.mode, &filter, &page).await
    }

    /// Prices whose nickname or lookup key contains a text.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::Prices>,
        query: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<PriceListModel>, Problem> {
        let filter = CatalogueFilter { query: words(query.0), ..CatalogueFilter::default() };
        listed(&app, reads.mode, &filter, &Page::new(number.0, page_size.0)).await
    }

    /// Read a price by its id or its lookup key.
    #[oai(path = "/:id", method = "get")]
    async fn read(&self, app: Data<&Arc<App>>, reads: Reads<resources::Prices>, id: Path<String>) -> Result<Json<PriceModel>, Problem> {
        show(&app, reads.mode, &id).await
    }

    /// Change a price. Once something refers to it (`locked`), its currency, amounts and existing currency options are fixed; a currency
    /// can be added, and the bounds of a custom amount can change. Everything else needs a replacement.
    #[oai(path = "/:id", method = "put")]
    async fn update(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Prices>,
        id: Path<String>,
        price: LosslessJson<PriceInputModel>,
    ) -> Result<Json<PriceModel>, Problem> {
        let id = pricing::change_price(&app.ctx, writes.mode, &id, price.0.read(false)?).await?;
        show(&app, writes.mode, id.as_str()).await
    }

    /// Replace a price: create one with the fields that differ, and archive the old one. The new price takes over the lookup key, upsells,
    /// payment links, the product's default and the stock with its sold quantity. Open sessions and subscriptions keep the old price.
    #[oai(path = "/:id/replace", method = "post")]
    async fn replace(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Prices>,
        id: Path<String>,
        price: LosslessJson<PriceInputModel>,
    ) -> Result<Json<PriceModel>, Problem> {
        let id = checkout::replace_price(&app.ctx, writes.mode, &id, price.0.read(false)?).await?;
        show(&app, writes.mode, id.as_str()).await
    }

    /// Archive a price: it is no longer sold, and a replaced price no longer in open sessions either.
    #[oai(path = "/:id/archive", method = "put")]
    async fn archive(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Prices>,
        id: Path<String>,
    ) -> Result<Json<PriceModel>, Problem> {
        let id = pricing::archive_price(&app.ctx, writes.mode, &id).await?;
        show(&app, writes.mode, id.as_str()).await
    }

    /// Increase or decrease the stock of a price. It cannot fall below the sold quantity.
    #[oai(path = "/:id/inventory", method = "put")]
    async fn inventory(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Prices>,
        id: Path<String>,
        change: Json<InventoryModel>,
    ) -> Result<Json<PriceModel>, Problem> {
        let step = i64::try_from(change.quantity).map_err(|_| Problem::invalid_value("quantity", "quantity is out of range"))?;
        let step = if change.action == InventoryAction::Increment { step } else { -step };
        let id = pricing::restock(&app.ctx, writes.mode, &id, step).await?;
        show(&app, writes.mode, id.as_str()).await
    }

    /// Delete a price that nothing refers to.
    #[oai(path = "/:id", method = "delete")]
    async fn delete(&self, app: Data<&Arc<App>>, writes: Writes<resources::Prices>, id: Path<String>) -> Result<Json<PriceModel>, Problem> {
        let price = show(&app, writes.mode, &id).await?;
        pricing::delete_price(&app.ctx, writes.mode, &price.id).await?;
        Ok(price)
    }
}

async fn show(app: &App, mode: Mode, name: &str) -> Result<Json<PriceModel>, Problem> {
    let price = pricing::find_price(app.ctx.store.read().await?.as_mut(), mode, name).await?;
    let mut models = with_products(app, &[price]).await?;
    models.pop().map(Json).ok_or_else(Problem::not_found)
}

async fn listed(app: &App, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Json<PriceListModel>, Problem> {
    let found = app.ctx.store.read().await?.prices().list(mode, filter, page).await?;
    Ok(Json(PriceListModel { count: found.count, list: with_products(app, &found.list).await? }))
}

/// The models with their products and upsell prices.
async fn with_products(app: &App, prices: &[Price]) -> Result<Vec<PriceModel>, StorageError> {
    let products: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
    let upsells: Vec<_> = prices.iter().filter_map(|price| price.upsells_to.clone()).collect();
    let mut unit = app.ctx.store.read().await?;
    let products = unit.products().find_all(&products).await?;
    let upsells = unit.prices().find_all(&upsells).await?;
    let model = |price: &Price| {
        let product = products.iter().find(|product| product.id == price.product_id);
        let target = upsells.iter().find(|target| price.upsells_to.as_ref() == Some(&target.id));
        PriceModel::from(price).with_product(product).with_upsell(target.map(PriceModel::from))
    };
    Ok(prices.iter().map(model).collect())
}
