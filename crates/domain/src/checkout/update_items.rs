//! Changes the items of a session before it is paid.

use super::quote::check_total;
use super::submit::open_attempt;
use super::{Session, SessionMode, SessionStatus};
use crate::context::Context;
use crate::pricing::{CustomAmountError, Price, QUANTITY_MAX, QuantityError, UnitPricing, check_quantity, lock_prices};
use crate::shared::{Amount, AmountError, CurrencyId, Mode, PriceId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// Why the items of a session cannot be changed, whatever the change.
#[derive(Debug, thiserror::Error)]
pub enum EditItemsError {
    /// The session, or the named item.
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("This link has expired...")]
    Expired,
    /// The session is complete, or a payment is in flight.
    #[error("This order can no longer be changed")]
    Fixed,
    /// The total is out of range.
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum AdjustQuantityError {
    #[error("The quantity of this item cannot be changed")]
    NotAdjustable,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error(transparent)]
    Edit(#[from] EditItemsError),
}

#[derive(Debug, thiserror::Error)]
pub enum UpsellError {
    #[error("This item isn't available with your order")]
    NotOffered,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error(transparent)]
    Edit(#[from] EditItemsError),
}

#[derive(Debug, thiserror::Error)]
pub enum SetAmountError {
    #[error("The amount of this item can't be changed")]
    NotCustom,
    #[error("Multiple items with custom unit amount are not supported")]
    SeveralCustomAmounts,
    #[error(transparent)]
    CustomAmount(#[from] CustomAmountError),
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error(transparent)]
    Edit(#[from] EditItemsError),
}

/// Lets `?` convert errors of storage through the variant `Edit`.
macro_rules! convert_storage_errors {
    ($($error:ident)+) => {$(
        impl From<StorageError> for $error {
            fn from(error: StorageError) -> Self {
                Self::Edit(error.into())
            }
        }
    )+};
}

pub(super) use convert_storage_errors;

convert_storage_errors!(AdjustQuantityError UpsellError SetAmountError);

/// Loads a session that can still be changed.
pub(super) async fn load_editable(ctx: &Context, unit: &mut dyn UnitOfWork, id: &SessionId) -> Result<Session, EditItemsError> {
    let session = unit.sessions().find(id).await?.ok_or(EditItemsError::NotFound)?;
    if session.is_expired(ctx.now()) {
        return Err(EditItemsError::Expired);
    }
    if session.status != SessionStatus::Open || open_attempt(unit, &session).await?.is_some() {
        return Err(EditItemsError::Fixed);
    }
    Ok(session)
}

/// Writes a changed session. Clears the chosen method, so that the session must be submitted again: a wallet must not pay the old amount
/// for the new order. False: the session was changed meanwhile and must be read again.
pub(super) async fn write(ctx: &Context, mut unit: Box<dyn UnitOfWork>, session: Session) -> Result<bool, EditItemsError> {
    let sold: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
    check_total(&session.items, &unit.prices().find_all(&sold).await?, &session.currency_id)?;
    let changed = Session { method_id: None, updated_at: ctx.now(), ..session };
    let written = unit.sessions().update(&changed).await?;
    if written {
        unit.commit().await?;
    }
    Ok(written)
}

/// Sets the quantity of an item. Stock is only checked here; submit reserves it.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn adjust_quantity(ctx: &Context, id: &SessionId, price_id: &PriceId, quantity: u64) -> Result<(), AdjustQuantityError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        let item = session.items.iter_mut().find(|item| item.price_id == *price_id).ok_or(EditItemsError::NotFound)?;
        let price = unit.prices().find(item.sold()).await?.ok_or(EditItemsError::NotFound)?;
        let reserved = unit
            .prices()
            .reservations(id)
            .await?
            .iter()
            .find(|reservation| reservation.price_id == price.id)
            .map_or(0, |reservation| reservation.quantity);
        let range = item.adjustable.ok_or(AdjustQuantityError::NotAdjustable)?;
        if quantity == 0 || quantity > QUANTITY_MAX || quantity < range.minimum {
            return Err(AdjustQuantityError::NotAdjustable);
        }
        check_quantity(&price, quantity, reserved)?;
        if range.maximum > 0 && quantity > range.maximum {
            return Err(QuantityError::ExceedPurchaseLimit.into());
        }
        item.quantity = quantity;
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}

/// Replaces an item's price by its upsell. The session changes to `currency`, the currency of the page (absent: the session's own).
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn upsell(ctx: &Context, id: &SessionId, from: &PriceId, to: &PriceId, currency: Option<&CurrencyId>) -> Result<(), UpsellError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        let item = session.items.iter_mut().find(|item| item.price_id == *from).ok_or(EditItemsError::NotFound)?;
        let price = unit.prices().find(from).await?.ok_or(EditItemsError::NotFound)?;
        if price.upsells_to.as_ref() != Some(to) {
            return Err(UpsellError::NotOffered);
        }
        let target = unit.prices().find(to).await?.filter(|target| is_on_sale(target, session.mode));
        let target = target.ok_or(UpsellError::NotOffered)?;
        let currency = currency.unwrap_or(&session.currency_id).clone();
        let is_accepted = unit.methods().find_currency(&currency).await?.is_some_and(|found| found.mode == session.mode && found.active);
        item.upsell = Some(target.id.clone());
        let sold: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
        let sold = unit.prices().find_all(&sold).await?;
        // The original price must be available in that currency too, so that the upsell can be undone.
        if !is_accepted || sold.iter().chain([&price, &target]).any(|price| price.pricing_in(&currency).is_none()) {
            return Err(UpsellError::CurrencyNotConfigured);
        }
        session.currency_id = currency;
        lock_prices(unit.as_mut(), &[target]).await?;
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}

fn is_on_sale(price: &Price, mode: Mode) -> bool {
    price.active && price.is_recurring() && price.mode == mode
}

/// Undoes an upsell. `from` is the upsell or the original price.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn downsell(ctx: &Context, id: &SessionId, from: &PriceId) -> Result<(), EditItemsError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        let chosen = session.items.iter_mut().find(|item| item.upsell.is_some() && (item.price_id == *from || item.sold() == from));
        chosen.ok_or(EditItemsError::NotFound)?.upsell = None;
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}

/// Sets the buyer's custom amount of an item, in base units of `currency` (absent: the session's).
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn set_amount(
    ctx: &Context,
    id: &SessionId,
    price_id: &PriceId,
    amount: Amount,
    currency: Option<&CurrencyId>,
) -> Result<(), SetAmountError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        if session.items.len() > 1 {
            return Err(SetAmountError::SeveralCustomAmounts);
        }
        let currency_id = currency.unwrap_or(&session.currency_id).clone();
        let currency = unit.methods().find_currency(&currency_id).await?.filter(|found| found.mode == session.mode);
        let currency = currency.ok_or(SetAmountError::CurrencyNotConfigured)?;
        let price = unit.prices().find(price_id).await?.ok_or(EditItemsError::NotFound)?;
        let item = session.items.iter_mut().find(|item| item.price_id == *price_id).ok_or(EditItemsError::NotFound)?;
        match price.pricing_in(&currency_id).ok_or(SetAmountError::CurrencyNotConfigured)? {
            // Recurring prices do not allow custom amounts.
            UnitPricing::Custom(custom) if session.kind == SessionMode::Payment => {
                custom.check(amount, currency.decimals, currency.maximum_precision)?;
            }
            _ => return Err(SetAmountError::NotCustom),
        }
        item.custom_amount = Some(amount);
        session.currency_id = currency_id;
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}
