//! Changes a price.

use super::price_fields::with_price_fields;
use super::{Price, PriceFields, PriceFieldsError, StockTooSmall, find_price, fixed_field_changed};
use crate::context::Context;
use crate::shared::{FindError, Mode, PriceId, StorageError, Timestamp};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// Why the new fields of an existing price are rejected.
#[derive(Debug, thiserror::Error)]
pub enum EditPriceError {
    #[error("recurring can't be changed; create another price")]
    RecurringFixed,
    #[error(transparent)]
    Fields(#[from] PriceFieldsError),
    #[error(transparent)]
    Stock(#[from] StockTooSmall),
}

impl From<StorageError> for EditPriceError {
    fn from(error: StorageError) -> Self {
        Self::Fields(error.into())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChangePriceError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// The field of a price that something refers to.
    #[error("{0} can't be changed because the price is in use; replace the price instead")]
    Locked(&'static str),
    #[error(transparent)]
    Edit(#[from] EditPriceError),
}

impl From<StorageError> for ChangePriceError {
    fn from(error: StorageError) -> Self {
        Self::Edit(error.into())
    }
}

#[tracing::instrument(skip_all, fields(name))]
pub async fn change_price(ctx: &Context, mode: Mode, name: &str, fields: PriceFields) -> Result<PriceId, ChangePriceError> {
    let now = ctx.now();
    loop {
        let mut unit = ctx.store.begin().await?;
        unit.lock(MANAGEMENT).await?;
        let before = find_price(unit.as_mut(), mode, name).await?;
        let stock = fields.quantity_available;
        let price = edited(unit.as_mut(), Price { updated_at: now, ..before.clone() }, fields.clone()).await?;
        if before.locked
            && let Some(field) = fixed_field_changed(&before, &price)
        {
            return Err(ChangePriceError::Locked(field));
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

/// Applies new fields to an existing price.
pub(super) async fn edited(unit: &mut dyn UnitOfWork, price: Price, fields: PriceFields) -> Result<Price, EditPriceError> {
    if fields.recurring.is_some() && fields.recurring != price.recurring {
        return Err(EditPriceError::RecurringFixed);
    }
    Ok(with_price_fields(unit, price, fields).await?)
}

/// Sets the available quantity, if there is a new one.
pub(super) async fn write_stock(
    unit: &mut dyn UnitOfWork,
    id: &PriceId,
    available: Option<u64>,
    now: Timestamp,
) -> Result<(), EditPriceError> {
    match available {
        Some(available) if !unit.prices().set_stock(id, available, now).await? => Err(StockTooSmall.into()),
        _ => Ok(()),
    }
}
