//! Recovery of past-due subscriptions once their overdue invoices are paid or credited, and the opposite: a payment that a network or a
//! bank has taken back makes its subscription past due.

use super::notifications::notify_paid;
use super::reminders::notify_overdue;
use super::{Change, ChangedInvoice, InvoiceStatus, PostingError, Subscription};
use crate::context::Context;
use crate::shared::{StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::BTreeSet;

/// Handles newly paid invoices: subscriptions without overdue invoices recover, and customers are notified. An invoice was paid when it was
/// updated.
pub(in crate::billing) async fn recovered(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    settled: &[ChangedInvoice],
) -> Result<(), PostingError> {
    let is_newly_paid = |one: &&ChangedInvoice| one.after.status == InvoiceStatus::Paid && one.before.status != InvoiceStatus::Paid;
    let paid: Vec<_> = settled.iter().filter(is_newly_paid).collect();
    for ChangedInvoice { before, after } in &paid {
        if let (InvoiceStatus::Uncollectible, Some(subscription)) = (before.status, &before.subscription_id)
            && !recover_if_paid(unit, subscription, after.updated_at).await?
        {
            return Err(PostingError::Contended);
        }
    }
    notify_paid(ctx, unit, &paid.iter().map(|one| &one.after).collect::<Vec<_>>()).await?;
    Ok(())
}

/// Recovers a subscription if its last overdue invoice was paid. Locks the subscription: of two concurrent payments, each would otherwise
/// still see the other's invoice as overdue. False: the subscription changed meanwhile.
pub(super) async fn recover_if_paid(unit: &mut dyn UnitOfWork, id: &SubscriptionId, now: Timestamp) -> Result<bool, StorageError> {
    let Some(subscription) = unit.subscriptions().lock(id).await? else { return Ok(true) };
    if !has_paid_all_overdue(unit, &subscription).await? {
        return Ok(true);
    }
    unit.subscriptions().update(&subscription.recovered(now)).await
}

/// Whether a past-due subscription has no overdue invoice left.
async fn has_paid_all_overdue(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<bool, StorageError> {
    Ok(subscription.past_due_since.is_some() && unit.invoices().overdue_of(&subscription.id).await?.is_empty())
}

/// As [`recover_if_paid`], for a caller that holds the subscription's lock and writes it.
pub(super) async fn recover_if_settled(
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<(), StorageError> {
    if has_paid_all_overdue(unit, subscription).await? {
        *subscription = subscription.clone().recovered(now);
    }
    Ok(())
}

/// Makes subscriptions match their invoices after payments were taken back: past due from now on if an invoice is overdue, recovered if none
/// is. The caller has locked them.
///
/// # Errors
/// [`PostingError::Contended`] when a subscription changed after it was read.
pub(super) async fn match_invoices(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscriptions: &BTreeSet<SubscriptionId>,
    at: Timestamp,
) -> Result<(), PostingError> {
    for id in subscriptions {
        let overdue = unit.invoices().overdue_of(id).await?;
        let is_written = if overdue.is_empty() { recover_if_paid(unit, id, at).await? } else { mark_past_due(ctx, unit, id, at).await? };
        if !is_written {
            return Err(PostingError::Contended);
        }
    }
    Ok(())
}

/// Marks a subscription as past due from now on, unless it has ended or is past due already. False: it changed meanwhile.
async fn mark_past_due(ctx: &Context, unit: &mut dyn UnitOfWork, id: &SubscriptionId, at: Timestamp) -> Result<bool, StorageError> {
    let Some(mut subscription) = unit.subscriptions().find(id).await? else { return Ok(true) };
    let Ok(status) = subscription.status.after(Change::PaymentDeclined) else { return Ok(true) };
    if subscription.past_due_since.is_some() {
        return Ok(true);
    }
    subscription.status = status;
    subscription.past_due_since = Some(at);
    subscription.updated_at = at;
    notify_overdue(ctx, unit, &subscription).await?;
    unit.subscriptions().update(&subscription).await
}
