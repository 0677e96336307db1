//! Invoices that could not be collected: noted, tried again, given up, paid after all.

use super::billing_batch::{BillingBatch, Charge};
use super::charges::{nonces, publish_charges};
use super::reminders::notify_overdue;
use super::{
    BatchResult, BillingError, Change, ClockEvent, Invoice, InvoiceChange, Notification, Scope, Subscription, TimelineEvent, notify,
};
use crate::context::Context;
use crate::payment::{Decline, RailError};
use crate::shared::{AttemptId, InvoiceId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// A declined charge of an invoice: the invoice is uncollectible, its subscription past due, and the next try is scheduled where
/// one could heal it. The subscription is left for the caller to write.
pub(super) async fn decline_invoice(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    subscription: &mut Subscription,
    decline: &Decline,
    now: Timestamp,
) -> Result<(), BillingError> {
    let written_at = invoice.finalized_at.unwrap_or(invoice.created_at);
    let has_ended = subscription.ended_at.is_some();
    let retry_at = if decline.is_hard_decline() || has_ended { None } else { ctx.policy.next_retry(written_at, now) };
    if !unit.invoices().decline(&invoice.id, retry_at, now).await? {
        // It is paid or taken back by now.
        return Ok(());
    }
    if let Ok(status) = subscription.status.after(Change::PaymentRefused) {
        subscription.status = status;
        subscription.updated_at = now;
        if subscription.overdraft_stake_id.is_some() && subscription.overdraft_at.is_none() {
            subscription.overdraft_at = Some(now.plus(ctx.policy.overdraft_grace));
        }
        if subscription.past_due_since.is_none() {
            subscription.past_due_since = Some(now);
            notify_overdue(ctx, unit, subscription).await?;
        }
    }
    let (failures, code) = (invoice.failure_count.saturating_add(1), decline.code.clone());
    let notification = Notification::PaymentFailed { invoice: invoice.id.clone(), failures, code };
    notify(ctx, unit, &notification, ctx.now()).await?;
    Ok(())
}

/// Tries to collect again what the schedule says. Invoices that somebody is paying right now are left for the next day of it.
pub async fn retry_due(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let mut unit = ctx.store.begin().await?;
    let due = unit.invoices().claim_retries(scope, now, limit).await?;
    let mut round = BatchResult { due: due.len(), ..BatchResult::default() };
    if due.is_empty() {
        return Ok(round);
    }
    let tried = try_again(ctx, unit.as_mut(), due).await?;
    for (invoice, attempt) in tried.charges {
        round.timeline.push(ClockEvent { at: now, what: TimelineEvent::Retried, subject: invoice.to_string() });
        round.attempts.push(attempt);
    }
    for invoice in tried.left {
        // The later days of its schedule stand.
        let written_at = invoice.finalized_at.unwrap_or(invoice.created_at);
        unit.invoices().schedule(&invoice.id, ctx.policy.next_retry(written_at, now)).await?;
    }
    round.trouble = tried.trouble;
    if *scope == Scope::Wall {
        publish_charges(ctx, unit.as_mut(), &round.attempts).await?;
    }
    unit.commit().await?;
    Ok(round)
}

#[derive(Default)]
struct Tried {
    charges: Vec<(InvoiceId, AttemptId)>,
    /// Somebody is paying these, or nothing permits a charge today.
    left: Vec<Invoice>,
    trouble: Option<RailError>,
}

/// Charges invoices anew by what their subscriptions are charged by now, except those that somebody is paying.
async fn try_again(ctx: &Context, unit: &mut dyn UnitOfWork, due: Vec<Invoice>) -> Result<Tried, BillingError> {
    let ids: Vec<_> = due.iter().map(|invoice| invoice.id.clone()).collect();
    let covered = unit.attempts().in_flight(&ids).await?;
    let subscriptions: Vec<_> = due.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    let subscriptions = unit.subscriptions().find_all(&subscriptions).await?;
    let batch = BillingBatch::read(unit, &subscriptions).await?;
    let subscriptions: HashMap<_, _> = subscriptions.into_iter().map(|one| (one.id.clone(), one)).collect();
    let mut tried = Tried::default();
    for (nonce, invoice) in (nonces(ctx)..).zip(due) {
        let subscription = invoice.subscription_id.as_ref().and_then(|id| subscriptions.get(id));
        // What was asked in another currency than the one of today is collected by hand.
        let is_tried_again = invoice.status.check(InvoiceChange::Reschedule).is_ok() && !invoice.remaining().is_zero();
        let fits = |one: &&Subscription| is_tried_again && one.currency_id == invoice.currency_id;
        let Some(subscription) = subscription.filter(fits) else { continue };
        if covered.contains(&invoice.id) {
            tried.left.push(invoice);
            continue;
        }
        // The payment belongs to the method that the subscription has now: it may have been changed since.
        let invoice = Invoice { method_id: subscription.method_id.clone(), intent_id: None, ..invoice };
        let charge = match batch.charge(ctx, subscription, &invoice, nonce) {
            // The store's own settings are wrong: no reason to keep the others from their turn.
            Err(BillingError::Rail(error)) => {
                tried.trouble = tried.trouble.take().or(Some(error));
                None
            }
            charge => charge?,
        };
        let Some(Charge { intent, attempt, planned }) = charge else {
            tried.left.push(invoice);
            continue;
        };
        unit.intents().put(&intent).await?;
        unit.attempts().insert(&attempt, &planned).await?;
        tried.charges.push((invoice.id, attempt.id));
    }
    Ok(tried)
}

/// Tries what a subscription owes in its currency, whatever the schedule says. The attempts are for the caller to send.
pub(super) async fn collect_now(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
) -> Result<Vec<AttemptId>, BillingError> {
    let owed = unit.invoices().overdue_of(&subscription.id).await?;
    if owed.is_empty() {
        return Ok(Vec::new());
    }
    Ok(try_again(ctx, unit, owed).await?.charges.into_iter().map(|(_, attempt)| attempt).collect())
}
