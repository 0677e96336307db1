//! Ends subscriptions.

use super::billing_batch::BillingBatch;
use super::charges::nonces;
use super::issue_invoice::{Bill, issue};
use super::period_lines::{Lines, lines};
use super::stake::release_at_end;
use super::usage_correction::UsageCorrections;
use super::{
    BillingError, BillingReason, CancelReason, Cancellation, Change, ClockEvent, Notification, Period, Subscription, SubscriptionItem,
    TimelineEvent, notify,
};
use crate::context::Context;
use crate::shared::{Amount, AttemptId, InvoiceId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeSet, HashMap};

pub(super) struct Termination {
    pub attempts: Vec<AttemptId>,
    pub event: ClockEvent,
}

/// Ends a subscription: bills its unbilled usage, cancels retries of its invoices, and releases its stakes.
#[expect(clippy::too_many_arguments, reason = "a batch passes what it has loaded already")]
pub(super) async fn write(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: &mut BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    before: Subscription,
    reason: CancelReason,
    nonce: u64,
    now: Timestamp,
) -> Result<Termination, BillingError> {
    let mut attempts = Vec::new();
    let mut subscription = before;
    subscription.status = subscription.status.after(Change::End).unwrap_or(subscription.status);
    subscription.ended_at = Some(now);
    subscription.overdraft_at = None;
    // Nothing is left to decide.
    subscription.on_hold = None;
    (subscription.bounds.held_at, subscription.bounds.resumes_at) = (None, None);
    subscription.canceled_at = subscription.canceled_at.or(Some(now));
    subscription.updated_at = now;
    subscription.cancellation = Some(match subscription.cancellation.take() {
        // It ends because of non-payment, whatever was requested before.
        Some(requested) if reason == CancelReason::PaymentFailed => Cancellation { reason, ..requested },
        Some(requested) => requested,
        None => Cancellation { reason, feedback: None, comment: String::new(), requested_at: now, clearing_stake: None },
    });
    attempts.extend(bill_usage(ctx, unit, batch, used, &mut subscription, nonce, now).await?);
    unit.invoices().stop_retries(&subscription.id, now).await?;
    if !unit.subscriptions().update(&subscription).await? {
        return Err(BillingError::Contended);
    }
    attempts.extend(release_at_end(ctx, unit, &subscription, reason == CancelReason::PaymentFailed, now).await?);
    notify(ctx, unit, &Notification::Ended(subscription.id.clone()), ctx.now()).await?;
    Ok(Termination { attempts, event: ClockEvent { at: now, what: TimelineEvent::Canceled, subject: subscription.id.to_string() } })
}

/// Bills the last usage of metered items on a separate invoice. Without a mandate to charge, the invoice is overdue.
async fn bill_usage(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: &mut BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    subscription: &mut Subscription,
    nonce: u64,
    now: Timestamp,
) -> Result<Option<AttemptId>, BillingError> {
    if subscription.index.is_none() || used.is_empty() {
        return Ok(None);
    }
    let is_billable = |item: &&SubscriptionItem| used.get(&item.id).is_some_and(|used| *used > 0 || item.billed.is_some());
    let metered = Subscription { items: subscription.items.iter().filter(is_billable).cloned().collect(), ..subscription.clone() };
    let period = Period { start: subscription.period.start, end: now.min(subscription.period.end) };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Ok(Lines { items, total, overbilled }) = lines(ctx, batch, used, &metered, &id, period, Some(period)) else {
        return Ok(None);
    };
    let corrections = UsageCorrections::plan(unit, subscription, &overbilled).await?;
    let lines = if total.is_zero() { Vec::new() } else { items };
    let bill = Bill { id, reason: BillingReason::SubscriptionCancel, period, lines, corrections, added: Amount::ZERO };
    issue(ctx, unit, batch, subscription, bill, nonce.wrapping_add(1_000_000), now).await
}

/// Ends a subscription at once, outside the engine's batches.
pub(super) async fn now(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: Subscription,
    reason: CancelReason,
    now: Timestamp,
) -> Result<Vec<AttemptId>, BillingError> {
    // Lock order: stakes, invoices.
    let stakes: BTreeSet<_> = [&subscription.stake_id, &subscription.overdraft_stake_id].into_iter().flatten().cloned().collect();
    if !stakes.is_empty() {
        unit.stakes().lock_all(&stakes.into_iter().collect::<Vec<_>>()).await?;
    }
    let one = std::slice::from_ref(&subscription);
    let mut batch = BillingBatch::read(unit, one).await?;
    // If the engine is late, no other invoice will bill usage since the end of the period.
    let period = Period { end: subscription.period.end.max(now), ..subscription.period };
    let used = super::period_lines::read_usage(unit, &batch, &[Subscription { period, ..subscription.clone() }]).await?;
    let termination = write(ctx, unit, &mut batch, &used, subscription, reason, nonces(ctx), now).await?;
    Ok(termination.attempts)
}
