//! Replaces a price in the catalogue and in the links that sell it.

use super::{LineItem, PaymentLink};
use crate::context::Context;
use crate::pricing::{self, EditPriceError, Price, PriceFields, PriceShare};
use crate::shared::{CurrencyId, FindError, Mode, PriceId, StorageError};
use crate::storage::{MANAGEMENT, UnitOfWork};

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
/// links, the product's default, the shares and the stock. Sessions that are open keep the old price, and subscriptions keep it until they
/// change their plan. Returns the new price.
#[tracing::instrument(skip_all, fields(name))]
pub async fn replace_price(ctx: &Context, mode: Mode, name: &str, fields: PriceFields) -> Result<PriceId, ReplaceError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let old = pricing::find_price(unit.as_mut(), mode, name).await?;
    if !old.active {
        return Err(ReplaceError::Archived);
    }
    let new = replace_in(ctx, unit.as_mut(), old, &Replacement { fields, shares: None }).await?;
    unit.commit().await?;
    Ok(new.id)
}

/// What differs in the price that replaces another one.
pub struct Replacement<'r> {
    pub fields: PriceFields,
    /// The shares of the new price. A link whose currency it does not have gets its own currency then. If other items of the link do not have
    /// that one, nobody could pay the link: it is archived as it is, because the old price is not sold any more. `None`: the shares of the
    /// old price, and the new one must have the currencies of all links.
    pub shares: Option<&'r [PriceShare]>,
}

/// As [`replace_price`], of an active price, in a unit of work that holds the management lock.
///
/// # Errors
/// The fields are not valid, or a link sells the price in another currency.
pub async fn replace_in(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    old: Price,
    replacement: &Replacement<'_>,
) -> Result<Price, ReplaceError> {
    let now = ctx.now();
    let links = unit.links().of_price(&old.id).await?;
    let old_id = old.id.clone();
    let new = pricing::replace(ctx, unit, old, replacement.fields.clone(), replacement.shares).await?;
    for link in &links {
        let currency_id = if new.pricing_in(&link.currency_id).is_some() {
            link.currency_id.clone()
        } else if replacement.shares.is_none() {
            return Err(ReplaceError::LinkCurrency);
        } else if others_have(unit, link, &old_id, &new.currency_id).await? {
            new.currency_id.clone()
        } else {
            tracing::warn!(link = %link.id, "a link is archived: its items have no currency in common any more");
            unit.links().update(&PaymentLink { active: false, updated_at: now, ..link.clone() }).await?;
            continue;
        };
        let replaced = |item: &LineItem| match item.price_id == old_id {
            true => LineItem { price_id: new.id.clone(), ..item.clone() },
            false => item.clone(),
        };
        let items = link.items.iter().map(replaced).collect();
        unit.links().update(&PaymentLink { items, currency_id, updated_at: now, ..link.clone() }).await?;
    }
    if !links.is_empty() {
        unit.prices().lock(std::slice::from_ref(&new.id)).await?;
    }
    Ok(new)
}

/// Whether all other items of a link have a currency.
async fn others_have(
    unit: &mut dyn UnitOfWork,
    link: &PaymentLink,
    replaced: &PriceId,
    currency: &CurrencyId,
) -> Result<bool, StorageError> {
    let others: Vec<_> = link.items.iter().map(|item| item.price_id.clone()).filter(|price| price != replaced).collect();
    let others = if others.is_empty() { Vec::new() } else { unit.prices().find_all(&others).await? };
    Ok(others.iter().all(|price| price.pricing_in(currency).is_some()))
}
