//! The card payment that a provider's dispute or refund is about.

use crate::context::Context;
use crate::payment::{Currency, Intent, IntentStatus, Method, SettlementError, settle};
use crate::shared::StorageError;

/// A card payment as this store knows it.
#[derive(Debug)]
pub(super) enum CardPaymentState {
    Settled {
        intent: Box<Intent>,
        currency: Box<Currency>,
    },
    /// The payment belongs to this store, and its provider has not decided it yet.
    Undecided,
    /// The payment does not belong to this store, or it did not succeed. Several stores can share one account at a provider.
    Unknown,
}

/// Finds the payment with this provider id. Settles an open attempt first, so that a dispute or refund is recorded after its payment.
pub(super) async fn find_card_payment(ctx: &Context, method: &Method, payment: &str) -> Result<CardPaymentState, SettlementError> {
    if let Some(settled) = settled(ctx, method, payment).await? {
        return Ok(settled);
    }
    let attempt = ctx.store.read().await?.attempts().find_by_provider(&method.id, payment).await?;
    let Some(attempt) = attempt else { return Ok(CardPaymentState::Unknown) };
    if attempt.status.is_open() {
        settle(ctx, &attempt.id).await?;
    }
    match settled(ctx, method, payment).await? {
        Some(settled) => Ok(settled),
        None => {
            let attempt = ctx.store.read().await?.attempts().find(&attempt.id).await?;
            let is_open = attempt.is_some_and(|attempt| attempt.status.is_open());
            Ok(if is_open { CardPaymentState::Undecided } else { CardPaymentState::Unknown })
        }
    }
}

async fn settled(ctx: &Context, method: &Method, payment: &str) -> Result<Option<CardPaymentState>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let found = unit.intents().find_by_reference(&method.id, payment).await?;
    let Some(intent) = found.filter(|intent| intent.status == IntentStatus::Succeeded) else { return Ok(None) };
    let currency = unit.methods().find_currency(&intent.currency_id).await?;
    Ok(currency.map(|currency| CardPaymentState::Settled { intent: Box::new(intent), currency: Box::new(currency) }))
}
