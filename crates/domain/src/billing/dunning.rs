//! Dunning: records declined collections, and retries them by the schedule or on demand.

use super::billing_batch::{BillingBatch, Charge};
use super::charges::{nonces, publish_charges};
use super::limits::ChargeBudget;
use super::notifications::messages_of;
use super::reminders::overdue_messages;
use super::{
    BatchResult, BillingError, Change, ClockEvent, Invoice, InvoiceChange, Notification, ScheduledRetry, Scope, Subscription, TimelineEvent,
};
use crate::context::Context;
use crate::payment::{Decline, RailError, paused_methods};
use crate::shared::{AttemptId, InvoiceId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// A charge of a subscription's invoices that was declined.
pub(super) struct DeclinedCharge<'a> {
    pub subscription: &'a mut Subscription,
    /// As this unit of work has locked or written them.
    pub invoices: &'a [Invoice],
    pub decline: &'a Decline,
}

/// Records declined charges: the invoices become uncollectible, their subscriptions past due, and retries are scheduled if they could
/// succeed. Invoices that are no longer due, because they were paid or credited meanwhile, stay as they are. The caller writes the
/// subscriptions.
pub(super) async fn decline_invoices(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    declined: Vec<DeclinedCharge<'_>>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let (mut retries, mut past_due, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for DeclinedCharge { subscription, invoices, decline } in declined {
        let is_final = decline.is_hard_decline() || subscription.ended_at.is_some();
        let due = || invoices.iter().filter(|invoice| invoice.status.check(InvoiceChange::Decline).is_ok());
        for invoice in due() {
            let written_at = invoice.finalized_at.unwrap_or(invoice.created_at);
            let retry_at = if is_final { None } else { ctx.policy.next_retry(written_at, now) };
            retries.push(ScheduledRetry { id: invoice.id.clone(), at: retry_at });
            let (count, code) = (invoice.failure_count.saturating_add(1), decline.code.clone());
            failures.push(Notification::PaymentFailed { invoice: invoice.id.clone(), failures: count, code });
        }
        if due().next().is_some() && becomes_past_due(ctx, subscription, now) {
            past_due.push(subscription.clone());
        }
    }
    if retries.is_empty() {
        return Ok(());
    }
    if !unit.invoices().decline_all(&retries, now).await? {
        return Err(BillingError::Contended);
    }
    let messages: Vec<_> = overdue_messages(ctx, &past_due).into_iter().chain(messages_of(ctx, &failures)).collect();
    unit.outbox().publish_all(&messages, ctx.now()).await?;
    Ok(())
}

/// Changes the status of a subscription whose payment was declined. Returns whether it was not past due before.
fn becomes_past_due(ctx: &Context, subscription: &mut Subscription, now: Timestamp) -> bool {
    let Ok(status) = subscription.status.after(Change::PaymentDeclined) else { return false };
    subscription.status = status;
    subscription.updated_at = now;
    if subscription.overdraft_stake_id.is_some() && subscription.overdraft_at.is_none() {
        subscription.overdraft_at = Some(now.plus(ctx.policy.overdraft_grace));
    }
    let is_new = subscription.past_due_since.is_none();
    subscription.past_due_since = subscription.past_due_since.or(Some(now));
    is_new
}

/// Retries the collection of invoices whose retry is due. Invoices with a payment in flight are rescheduled.
#[tracing::instrument(skip_all)]
pub async fn retry_due(ctx: &Context, scope: &Scope, now: Timestamp, limit: u32) -> Result<BatchResult, BillingError> {
    let paused = paused_methods(ctx).await?;
    let mut unit = ctx.store.begin().await?;
    let due = unit.invoices().claim_retries(scope, now, limit, &paused).await?;
    let mut round = BatchResult { due: due.len(), ..BatchResult::default() };
    if due.is_empty() {
        return Ok(round);
    }
    let bounds = ctx.policy.bounds.as_ref().filter(|_| *scope == Scope::Wall);
    let mut budget = ChargeBudget::read(unit.as_mut(), bounds, due.iter().map(|invoice| &invoice.customer_id), now).await?;
    let customers: HashMap<_, _> = due.iter().map(|invoice| (invoice.id.clone(), invoice.customer_id.clone())).collect();
    let mut expected = budget.clone();
    let (due, excess): (Vec<_>, Vec<_>) = due.into_iter().partition(|invoice| expected.take(&invoice.customer_id));
    let excess: Vec<_> = excess.into_iter().map(|invoice| ScheduledRetry { id: invoice.id, at: budget.next_hour() }).collect();
    unit.invoices().schedule_all(&excess).await?;
    let retried = retry(ctx, unit.as_mut(), due).await?;
    for RetriedCharge { invoice, attempt } in retried.charges {
        if let Some(customer) = customers.get(&invoice) {
            budget.take(customer);
        }
        round.timeline.push(ClockEvent { at: now, what: TimelineEvent::Retried, subject: invoice.to_string() });
        round.attempts.push(attempt);
    }
    // The rest of the retry schedule stays in force.
    let next_retry = |invoice: Invoice| {
        let written_at = invoice.finalized_at.unwrap_or(invoice.created_at);
        ScheduledRetry { id: invoice.id, at: ctx.policy.next_retry(written_at, now) }
    };
    let skipped: Vec<_> = retried.skipped.into_iter().map(next_retry).collect();
    unit.invoices().schedule_all(&skipped).await?;
    round.trouble = retried.trouble;
    budget.write(unit.as_mut()).await?;
    if *scope == Scope::Wall {
        publish_charges(ctx, unit.as_mut(), &round.attempts).await?;
    }
    unit.commit().await?;
    Ok(round)
}

/// An invoice that is charged again, and the attempt that charges it.
struct RetriedCharge {
    invoice: InvoiceId,
    attempt: AttemptId,
}

#[derive(Default)]
struct RetryResult {
    charges: Vec<RetriedCharge>,
    /// Invoices with a payment in flight, or without a mandate that can be charged now.
    skipped: Vec<Invoice>,
    trouble: Option<RailError>,
}

/// Charges invoices again by their subscriptions' current mandates, except those with a payment in flight.
async fn retry(ctx: &Context, unit: &mut dyn UnitOfWork, due: Vec<Invoice>) -> Result<RetryResult, BillingError> {
    let ids: Vec<_> = due.iter().map(|invoice| invoice.id.clone()).collect();
    let in_flight = unit.attempts().in_flight(&ids).await?;
    let subscriptions: Vec<_> = due.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    let subscriptions = unit.subscriptions().find_all(&subscriptions).await?;
    let batch = BillingBatch::read(unit, &subscriptions).await?;
    let subscriptions: HashMap<_, _> = subscriptions.into_iter().map(|one| (one.id.clone(), one)).collect();
    let (mut retried, mut intents, mut attempts) = (RetryResult::default(), Vec::new(), Vec::new());
    for (nonce, invoice) in (nonces(ctx)..).zip(due) {
        let subscription = invoice.subscription_id.as_ref().and_then(|id| subscriptions.get(id));
        // Invoices in a currency that the subscription no longer uses are only paid manually.
        let is_collectible = invoice.status.check(InvoiceChange::Reschedule).is_ok() && !invoice.remaining().is_zero();
        let can_charge = |one: &&Subscription| is_collectible && one.currency_id == invoice.currency_id;
        let Some(subscription) = subscription.filter(can_charge) else { continue };
        if in_flight.contains(&invoice.id) {
            retried.skipped.push(invoice);
            continue;
        }
        // The payment uses the subscription's current method, which may have changed since the invoice was written.
        let invoice = Invoice { method_id: subscription.method_id.clone(), intent_id: None, ..invoice };
        let charge = match batch.charge(ctx, subscription, &invoice, nonce) {
            // The method's settings are wrong. That must not stop the other charges.
            Err(BillingError::Rail(error)) => {
                retried.trouble = retried.trouble.take().or(Some(error));
                None
            }
            charge => charge?,
        };
        let Some(Charge { intent, attempt }) = charge else {
            retried.skipped.push(invoice);
            continue;
        };
        let signed = batch.sign(ctx, &intent, attempt)?;
        retried.charges.push(RetriedCharge { invoice: invoice.id, attempt: signed.attempt.id.clone() });
        intents.push(intent);
        attempts.push(signed);
    }
    unit.intents().put_all(&intents).await?;
    unit.attempts().insert_all(&attempts).await?;
    Ok(retried)
}

/// Charges an unpaid invoice again by its subscription's current mandate. `None`: there is none, or a payment is in flight.
pub(super) async fn charge_again(ctx: &Context, unit: &mut dyn UnitOfWork, invoice: Invoice) -> Result<Option<AttemptId>, BillingError> {
    Ok(retry(ctx, unit, vec![invoice]).await?.charges.pop().map(|charge| charge.attempt))
}

/// Retries a subscription's overdue invoices in its currency now, whatever the schedule says. The caller publishes the returned attempts.
pub(super) async fn collect_now(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
) -> Result<Vec<AttemptId>, BillingError> {
    let overdue = unit.invoices().overdue_of(&subscription.id).await?;
    if overdue.is_empty() {
        return Ok(Vec::new());
    }
    Ok(retry(ctx, unit, overdue).await?.charges.into_iter().map(|charge| charge.attempt).collect())
}
