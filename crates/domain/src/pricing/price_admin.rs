//! Manages prices: creates, archives, restocks and deletes them.

use super::price_fields::new_price;
use super::{Price, PriceFields, PriceFieldsError};
use crate::context::Context;
use crate::shared::{FindError, InputError, Mode, PriceId, ProductId, StorageError, check_count, check_name};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The most images or features of a product, prices created with it, and currency options of a price.
pub const LIST_MAX: usize = 20;
/// The highest stock or limit.
pub const STOCK_MAX: u64 = 1_000_000_000;

#[derive(Debug, thiserror::Error)]
pub enum CreatePriceError {
    #[error("product_id does not name a product of this mode")]
    NoSuchProduct,
    #[error(transparent)]
    Fields(#[from] PriceFieldsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a product or a price is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error("It is in use and can only be archived")]
    InUse,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The stock would be unlimited, or smaller than what is sold.
#[derive(Debug, thiserror::Error)]
#[error("quantity_available must be above 0 and at least the sold quantity")]
pub struct StockTooSmall;

#[derive(Debug, thiserror::Error)]
pub enum RestockError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Stock(#[from] StockTooSmall),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[tracing::instrument(skip_all, fields(%product))]
pub async fn create_price(ctx: &Context, mode: Mode, product: &ProductId, fields: PriceFields) -> Result<PriceId, CreatePriceError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = unit.products().find(product).await?.filter(|product| product.mode == mode).ok_or(CreatePriceError::NoSuchProduct)?;
    let price = new_price(ctx, unit.as_mut(), &product, fields).await?;
    unit.commit().await?;
    Ok(price.id)
}

/// Archives a price: it is no longer sold, not even by the open sessions that a replaced price is sold by.
#[tracing::instrument(skip_all, fields(name))]
pub async fn archive_price(ctx: &Context, mode: Mode, name: &str) -> Result<PriceId, FindError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    let archived = Price { active: false, replaced_by: None, updated_at: ctx.now(), ..price };
    unit.prices().update(&archived).await?;
    unit.commit().await?;
    Ok(archived.id)
}

/// Deletes a price that no purchase, reservation, link or product refers to.
#[tracing::instrument(skip_all, fields(name))]
pub async fn delete_price(ctx: &Context, mode: Mode, name: &str) -> Result<PriceId, DeleteError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    if !unit.prices().delete(&price.id).await? {
        return Err(DeleteError::InUse);
    }
    unit.commit().await?;
    Ok(price.id)
}

/// Adds to the stock, or removes from it if `step` is negative.
#[tracing::instrument(skip_all, fields(name))]
pub async fn restock(ctx: &Context, mode: Mode, name: &str, step: i64) -> Result<PriceId, RestockError> {
    check_count("quantity", step.unsigned_abs(), STOCK_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    if !unit.prices().restock(&price.id, step, ctx.now()).await? {
        return Err(StockTooSmall.into());
    }
    unit.commit().await?;
    Ok(price.id)
}

/// Finds a price of this mode by its id or its lookup key.
pub async fn find_price(unit: &mut dyn UnitOfWork, mode: Mode, name: &str) -> Result<Price, FindError> {
    let found = match PriceId::parse(name) {
        Ok(id) => unit.prices().find(&id).await?,
        Err(_) if check_name("lookup_key", name).is_ok() => unit.prices().find_by_lookup_key(mode, name).await?,
        Err(_) => None,
    };
    found.filter(|price| price.mode == mode).ok_or(FindError::NotFound)
}
