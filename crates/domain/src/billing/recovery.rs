//! Recovery of past-due subscriptions once their overdue invoices are paid or credited.

use super::invoice::PaidInvoice;
use super::notifications::notify_paid;
use super::{BillingError, InvoiceStatus, Subscription};
use crate::context::Context;
use crate::shared::{SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;

/// Handles newly paid invoices: subscriptions without overdue invoices recover, and customers are notified.
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
            && !recover_if_paid(unit, subscription, at).await?
        {
            return Err(BillingError::Contended);
        }
        notify_paid(ctx, unit, after).await?;
    }
    Ok(())
}

/// Recovers a subscription if its last overdue invoice was paid. Locks the subscription: of two concurrent payments, each would otherwise
/// still see the other's invoice as overdue. False: the subscription changed meanwhile.
pub(super) async fn recover_if_paid(unit: &mut dyn UnitOfWork, id: &SubscriptionId, now: Timestamp) -> Result<bool, BillingError> {
    let Some(subscription) = unit.subscriptions().lock(id).await? else { return Ok(true) };
    if !has_paid_all_overdue(unit, &subscription).await? {
        return Ok(true);
    }
    Ok(unit.subscriptions().update(&subscription.recovered(now)).await?)
}

/// Whether a past-due subscription has no overdue invoice left.
async fn has_paid_all_overdue(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, BillingError> {
    Ok(subscription.past_due_since.is_some() && unit.invoices().overdue_of(&subscription.id).await?.is_empty())
}

/// As [`recover_if_paid`], for a caller that holds the subscription's lock and writes it.
pub(super) async fn recover_if_settled(
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<(), BillingError> {
    if has_paid_all_overdue(unit, subscription).await? {
        *subscription = subscription.clone().recovered(now);
    }
    Ok(())
}
