//! Recovery of past-due subscriptions once their overdue invoices are paid or credited, and the opposite: a payment that a network or a
//! bank has taken back makes its subscription past due.

use super::notifications::notify_paid;
use super::reminders::notify_overdue;
use super::{Change, ChangedInvoice, InvoiceStatus, PostingError, Subscription};
use crate::context::Context;
use crate::shared::{StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeMap, BTreeSet};

/// Handles newly paid invoices: subscriptions without overdue invoices recover, and customers are notified. An invoice was paid when it was
/// updated.
pub(in crate::billing) async fn recovered(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    settled: &[ChangedInvoice],
) -> Result<(), PostingError> {
    let is_newly_paid = |one: &&ChangedInvoice| one.after.status == InvoiceStatus::Paid && one.before.status != InvoiceStatus::Paid;
    let paid: Vec<_> = settled.iter().filter(is_newly_paid).collect();
    let overdue = paid.iter().filter(|one| one.before.status == InvoiceStatus::Uncollectible);
    let subscriptions = overdue.filter_map(|one| Some((one.before.subscription_id.clone()?, one.after.updated_at)));
    if !recover_all_paid(unit, &subscriptions.collect()).await? {
        return Err(PostingError::Contended);
    }
    notify_paid(ctx, unit, &paid.iter().map(|one| &one.after).collect::<Vec<_>>()).await?;
    Ok(())
}

/// Recovers subscriptions if their last overdue invoices were paid, each at its time. Locks the subscriptions: of two concurrent payments,
/// each would otherwise still see the other's invoice as overdue. False: one of them changed meanwhile.
async fn recover_all_paid(unit: &mut dyn UnitOfWork, paid: &BTreeMap<SubscriptionId, Timestamp>) -> Result<bool, StorageError> {
    if paid.is_empty() {
        return Ok(true);
    }
    let ids: Vec<_> = paid.keys().cloned().collect();
    let mut past_due = unit.subscriptions().lock_all(&ids).await?;
    past_due.retain(|subscription| subscription.past_due_since.is_some());
    let ids: Vec<_> = past_due.iter().map(|subscription| subscription.id.clone()).collect();
    let overdue = unit.invoices().with_overdue(&ids).await?;
    let recovered = past_due.into_iter().filter(|subscription| !overdue.contains(&subscription.id));
    let recovered = recovered.filter_map(|subscription| paid.get(&subscription.id).map(|at| subscription.recovered(*at)));
    let recovered: Vec<_> = recovered.collect();
    if recovered.is_empty() { Ok(true) } else { unit.subscriptions().update_all(&recovered).await }
}

/// As [`recover_all_paid`], for one subscription.
pub(super) async fn recover_if_paid(unit: &mut dyn UnitOfWork, id: &SubscriptionId, now: Timestamp) -> Result<bool, StorageError> {
    recover_all_paid(unit, &BTreeMap::from([(id.clone(), now)])).await
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
    let ids: Vec<_> = subscriptions.iter().cloned().collect();
    let overdue = unit.invoices().with_overdue(&ids).await?;
    let paid = subscriptions.difference(&overdue).map(|id| (id.clone(), at)).collect();
    if !recover_all_paid(unit, &paid).await? || !mark_past_due(ctx, unit, &overdue, at).await? {
        return Err(PostingError::Contended);
    }
    Ok(())
}

/// Marks subscriptions as past due from now on, unless they have ended or are past due already. False: one of them changed meanwhile.
async fn mark_past_due(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    ids: &BTreeSet<SubscriptionId>,
    at: Timestamp,
) -> Result<bool, StorageError> {
    if ids.is_empty() {
        return Ok(true);
    }
    let ids: Vec<_> = ids.iter().cloned().collect();
    let mut past_due = Vec::new();
    for mut subscription in unit.subscriptions().find_all(&ids).await? {
        let Ok(status) = subscription.status.after(Change::PaymentDeclined) else { continue };
        if subscription.past_due_since.is_some() {
            continue;
        }
        subscription.status = status;
        subscription.past_due_since = Some(at);
        subscription.updated_at = at;
        past_due.push(subscription);
    }
    if past_due.is_empty() {
        return Ok(true);
    }
    notify_overdue(ctx, unit, &past_due).await?;
    unit.subscriptions().update_all(&past_due).await
}
