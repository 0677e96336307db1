//! What follows when invoices are paid after all.

use super::invoice::PaidInvoice;
use super::notifications::notify_paid;
use super::{BillingError, InvoiceStatus, Subscription};
use crate::context::Context;
use crate::shared::{SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// What follows when invoices were paid: a subscription without overdue invoices is in order again, and customers are told.
pub(in crate::billing) async fn recovered(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    settled: &[PaidInvoice],
    at: Timestamp,
) -> Result<(), BillingError> {
    for PaidInvoice { before, after } in settled {
        if after.status != InvoiceStatus::Paid || before.status == InvoiceStatus::Paid {
            continue;
        }
        if let (InvoiceStatus::Uncollectible, Some(subscription)) = (before.status, &before.subscription_id)
            && !debt_paid(unit, subscription, at).await?
        {
            return Err(BillingError::Contended);
        }
        notify_paid(ctx, unit, after).await?;
    }
    Ok(())
}

/// An overdue invoice of a subscription was paid: when it was the last one, the subscription is in order again. Two that are paid
/// at once wait here for one another: else each would see the other one overdue still.
pub(super) async fn debt_paid(unit: &mut dyn UnitOfWork, id: &SubscriptionId, now: Timestamp) -> Result<bool, BillingError> {
    let Some(subscription) = unit.subscriptions().lock(id).await? else { return Ok(true) };
    if !owes_nothing_more(unit, &subscription).await? {
        return Ok(true);
    }
    Ok(unit.subscriptions().update(&subscription.recovered(now)).await?)
}

/// Whether a subscription that was past due owes nothing any more.
async fn owes_nothing_more(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, BillingError> {
    Ok(subscription.past_due_since.is_some() && unit.invoices().overdue_of(&subscription.id).await?.is_empty())
}

/// As [`debt_paid`] after credit notes, for a caller that holds the subscription and writes it.
pub(super) async fn recover_if_settled(
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<(), BillingError> {
    if owes_nothing_more(unit, subscription).await? {
        *subscription = subscription.clone().recovered(now);
    }
    Ok(())
}
