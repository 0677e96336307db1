//! Ends subscriptions whose current period was credited.

use super::charges::publish_charges;
use super::{BillingError, CancelReason, termination, time_of};
use crate::context::Context;
use crate::shared::CreditNoteId;

/// Ends the subscription of a credit note at once, without a further refund: the note revoked what the current period had paid for. Does
/// nothing if the subscription has ended already.
///
/// # Errors
/// [`BillingError::Contended`] when the subscription changed meanwhile.
#[tracing::instrument(skip_all, fields(note = %id))]
pub async fn end_refunded(ctx: &Context, id: &CreditNoteId) -> Result<(), BillingError> {
    let mut unit = ctx.store.begin().await?;
    let Some(subscription) = unit.credit_notes().find(id).await?.and_then(|note| note.subscription_id) else { return Ok(()) };
    let subscription = unit.subscriptions().lock(&subscription).await?.filter(|subscription| subscription.ended_at.is_none());
    let Some(subscription) = subscription else { return Ok(()) };
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let attempts = termination::now(ctx, unit.as_mut(), subscription, CancelReason::CancellationByStore, now).await?;
    publish_charges(ctx, unit.as_mut(), &attempts).await?;
    unit.commit().await?;
    Ok(())
}
