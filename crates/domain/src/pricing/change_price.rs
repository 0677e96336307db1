//! Changes and archives a price.

use super::manage::{find_price, with_price_fields};
use super::{CatalogueError, Price, PriceFields, fixed_field_changed};
use crate::context::Context;
use crate::shared::{Mode, PriceId, Timestamp};
use crate::storage::{MANAGEMENT, UnitOfWork};

#[tracing::instrument(skip_all, fields(name))]
pub async fn change_price(ctx: &Context, mode: Mode, name: &str, fields: PriceFields) -> Result<PriceId, CatalogueError> {
    let now = ctx.now();
    loop {
        let mut unit = ctx.store.begin().await?;
        unit.lock(MANAGEMENT).await?;
        let before = find_price(unit.as_mut(), mode, name).await?;
        let stock = fields.quantity_available;
        let price = with_price_fields(unit.as_mut(), Price { updated_at: now, ..before.clone() }, fields.clone()).await?;
        if before.locked
            && let Some(field) = fixed_field_changed(&before, &price)
        {
            return Err(CatalogueError::Locked(field));
        }
        // A first reference may have locked the price since it was read; what may change is then decided again.
        if !price.has_amounts_of(&before) && !unit.prices().set_amounts(&price).await? {
            unit.rollback().await?;
            continue;
        }
        unit.prices().update(&price).await?;
        write_stock(unit.as_mut(), &price.id, stock, now).await?;
        // The upsell of a locked price is locked too. Read after the update, which waits for a unit of work that is locking the price.
        if price.upsells_to != before.upsells_to && unit.prices().find(&price.id).await?.is_some_and(|price| price.locked) {
            unit.prices().lock(std::slice::from_ref(&price.id)).await?;
        }
        unit.commit().await?;
        return Ok(price.id);
    }
}

/// Archives a price: it is no longer sold, not even by the open sessions that a replaced price is sold by.
#[tracing::instrument(skip_all, fields(name))]
pub async fn archive_price(ctx: &Context, mode: Mode, name: &str) -> Result<PriceId, CatalogueError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    let archived = Price { active: false, replaced_by: None, updated_at: ctx.now(), ..price };
    unit.prices().update(&archived).await?;
    unit.commit().await?;
    Ok(archived.id)
}

/// Sets the available quantity, if there is a new one.
pub(super) async fn write_stock(
    unit: &mut dyn UnitOfWork,
    id: &PriceId,
    available: Option<u64>,
    now: Timestamp,
) -> Result<(), CatalogueError> {
    match available {
        Some(available) if !unit.prices().set_stock(id, available, now).await? => Err(CatalogueError::Stock),
        _ => Ok(()),
    }
}
