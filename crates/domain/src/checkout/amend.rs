//! Changing a session before it is paid.

use super::{Session, SessionStatus};
use crate::context::Context;
use crate::pricing::{QUANTITY_MAX, QuantityError, check_quantity};
use crate::shared::{PriceId, SessionId, StorageError};

#[derive(Debug, thiserror::Error)]
pub enum AmendError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("This link has expired...")]
    Expired,
    /// Complete, or a payment for it is on its way.
    #[error("This order can no longer be changed")]
    Fixed,
    #[error("The quantity of this item cannot be changed")]
    NotAdjustable,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Sets how many of an item are bought. Stock is taken at submit; here it is only looked at.
pub async fn adjust_quantity(ctx: &Context, id: &SessionId, price_id: &PriceId, quantity: u64) -> Result<(), AmendError> {
    let now = ctx.now();
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = unit.sessions().find(id).await?.ok_or(AmendError::NotFound)?;
        if session.is_expired(now) {
            return Err(AmendError::Expired);
        }
        if session.status != SessionStatus::Open || has_open_attempt(unit.as_mut(), &session).await? {
            return Err(AmendError::Fixed);
        }
        let price = unit.prices().find(price_id).await?.ok_or(AmendError::NotFound)?;
        let held = unit.prices().holds(id).await?.iter().find(|hold| hold.price_id == *price_id).map_or(0, |hold| hold.quantity);
        let item = session.items.iter_mut().find(|item| item.price_id == *price_id).ok_or(AmendError::NotFound)?;
        let range = item.adjustable.ok_or(AmendError::NotAdjustable)?;
        if quantity == 0 || quantity > QUANTITY_MAX || quantity < range.minimum {
            return Err(AmendError::NotAdjustable);
        }
        check_quantity(&price, quantity, held)?;
        if range.maximum > 0 && quantity > range.maximum {
            return Err(QuantityError::ExceedPurchaseLimit.into());
        }
        item.quantity = quantity;
        // What was submitted no longer holds: a wallet must not pay the old amount for the new order.
        session.method_id = None;
        session.updated_at = now;
        if unit.sessions().update(&session).await? {
            unit.commit().await?;
            return Ok(());
        }
    }
}

async fn has_open_attempt(unit: &mut dyn crate::storage::UnitOfWork, session: &Session) -> Result<bool, StorageError> {
    match &session.intent_id {
        Some(intent) => Ok(unit.attempts().open_of_intent(intent).await?.is_some()),
        None => Ok(false),
    }
}
