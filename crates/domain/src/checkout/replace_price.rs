//! Replaces a price in the catalogue and in the links that sell it.

use super::{LineItem, PaymentLink};
use crate::context::Context;
use crate::pricing::{self, EditPriceError, PriceFields};
use crate::shared::{FindError, Mode, PriceId, StorageError};
use crate::storage::MANAGEMENT;

#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// It was archived, or replaced already.
    #[error("The price is archived and can't be replaced")]
    Archived,
    #[error("A payment link sells this price in a currency that the new price does not have")]
    LinkCurrency,
    #[error(transparent)]
    Edit(#[from] EditPriceError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Creates a new price with the fields that differ, archives the old one, and moves everything that new buyers use: lookup key, upsells,
/// links, the product's default and the stock. Sessions that are open keep the old price, and subscriptions keep it until they change
/// their plan. Returns the new price.
#[tracing::instrument(skip_all, fields(name))]
pub async fn replace_price(ctx: &Context, mode: Mode, name: &str, fields: PriceFields) -> Result<PriceId, ReplaceError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let old = pricing::find_price(unit.as_mut(), mode, name).await?;
    if !old.active {
        return Err(ReplaceError::Archived);
    }
    let links = unit.links().of_price(&old.id).await?;
    let old_id = old.id.clone();
    let new = pricing::replace(ctx, unit.as_mut(), old, fields).await?;
    for link in &links {
        if new.pricing_in(&link.currency_id).is_none() {
            return Err(ReplaceError::LinkCurrency);
        }
        let replaced = |item: &LineItem| match item.price_id == old_id {
            true => LineItem { price_id: new.id.clone(), ..item.clone() },
            false => item.clone(),
        };
        let items = link.items.iter().map(replaced).collect();
        unit.links().update(&PaymentLink { items, updated_at: now, ..link.clone() }).await?;
    }
    if !links.is_empty() {
        unit.prices().lock(std::slice::from_ref(&new.id)).await?;
    }
    unit.commit().await?;
    Ok(new.id)
}
