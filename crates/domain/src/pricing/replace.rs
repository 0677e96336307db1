//! Replaces a price whose amounts are fixed by a new one.

use super::change_price::{edited, write_stock};
use super::{EditPriceError, Price, PriceFields, PriceShare, Product};
use crate::context::Context;
use crate::shared::PriceId;
use crate::storage::UnitOfWork;

/// Creates the replacement of a price, with the fields that differ, and archives the price. The replacement takes over its lookup key,
/// its place as an upsell and as its product's default, and shares its stock: both sell from the same quantity, so that neither a session
/// that reserved stock at the old price nor a refund can oversell the new one. The caller holds the management lock and moves the links.
/// `shares`: those of the replacement; `None`: those of the old price.
pub async fn replace(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    old: Price,
    fields: PriceFields,
    shares: Option<&[PriceShare]>,
) -> Result<Price, EditPriceError> {
    let now = ctx.now();
    let shares = match shares {
        Some(shares) => shares.to_vec(),
        None => unit.prices().shares_of(std::slice::from_ref(&old.id)).await?.remove(&old.id).unwrap_or_default(),
    };
    let stock = fields.quantity_available;
    let blank = Price {
        id: PriceId::new(now, ctx.random.as_ref()),
        locked: false,
        stock_of: Some(old.stock_id().clone()),
        created_at: now,
        updated_at: now,
        ..old.clone()
    };
    let new = Price { active: true, ..edited(unit, blank, fields).await? };
    // The lookup key is unique, so that the old price gives it up first.
    let archived = Price { active: false, replaced_by: Some(new.id.clone()), lookup_key: None, updated_at: now, ..old };
    unit.prices().update(&archived).await?;
    unit.prices().insert(&new).await?;
    unit.prices().insert_shares(&new.id, &shares).await?;
    write_stock(unit, &new.id, stock, now).await?;
    let of_product = unit.prices().of_products(std::slice::from_ref(&new.product_id)).await?;
    for source in of_product.into_iter().filter(|source| source.upsells_to.as_ref() == Some(&archived.id)) {
        unit.prices().update(&Price { upsells_to: Some(new.id.clone()), updated_at: now, ..source }).await?;
    }
    // Read after the update, which waits for a unit of work that is locking one of them.
    let of_product = unit.prices().of_products(std::slice::from_ref(&new.product_id)).await?;
    if of_product.iter().any(|source| source.locked && source.upsells_to.as_ref() == Some(&new.id)) {
        unit.prices().lock(std::slice::from_ref(&new.id)).await?;
    }
    let product = unit.products().find(&new.product_id).await?;
    if let Some(product) = product.filter(|product| product.default_price_id.as_ref() == Some(&archived.id)) {
        unit.products().update(&Product { default_price_id: Some(new.id.clone()), updated_at: now, ..product }).await?;
    }
    Ok(new)
}
