//! Pauses and resumes subscriptions. A paused subscription is not billed.

use super::billing_batch::BillingBatch;
use super::charges::{nonce, publish_charges};
use super::issue_invoice::{Bill, issue};
use super::period_lines::{Lines, lines, read_usage};
use super::subscription_admin::{is_time_trusted, lock, save};
use super::subscription_error::convert_subscription_errors;
use super::usage_correction::UsageCorrections;
use super::{
    BillingReason, Change, Notification, Period, ResumedFrom, Subscription, SubscriptionError, SubscriptionStatus, Unbillable, notify,
    period, time_of,
};
use crate::context::Context;
use crate::shared::{Amount, InvoiceId, SubscriptionId, Timestamp};
use std::time::Duration;

/// Pauses a subscription. Its unpaid invoices stay due.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn pause(ctx: &Context, id: &SubscriptionId) -> Result<Subscription, SubscriptionError> {
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // A new period begins after a pause: the unbilled ones would be lost without a decision.
    subscription.check_decided()?;
    subscription.status = subscription.status.after(Change::Pause)?;
    subscription.paused_at = Some(now);
    if subscription.cancel_at_period_end {
        // The engine does not process periods of paused subscriptions, so their end is stored as a time.
        subscription.cancel_at = subscription.cancel_at.or(Some(subscription.period.end));
    }
    subscription.updated_at = now;
    save(unit.as_mut(), &subscription).await?;
    unit.commit().await?;
    super::find(ctx, id).await
}

/// Why a paused subscription cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("This subscription cannot be resumed")]
    NotRecoverable,
    /// A period that begins now is charged at once, and would begin at a wrong time.
    #[error("The clock of the server may be wrong: check it first")]
    ClockNotTrusted,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ResumeError::Subscription);

/// Restores the status from before the pause. The time of the pause does not count towards the dunning deadline.
fn apply_resume(subscription: &mut Subscription, now: Timestamp) -> Result<(), ResumeError> {
    subscription.check_decided()?;
    let resumed = subscription.status.after(Change::Resume)?;
    if subscription.ends_at().is_some_and(|end| end <= now) {
        // Its end has come and is about to be recorded.
        return Err(ResumeError::NotRecoverable);
    }
    let in_trial = subscription.index.is_none() && now < subscription.period.end;
    subscription.status = if in_trial { SubscriptionStatus::Trialing } else { resumed };
    let paused_at = subscription.paused_at.take().unwrap_or(now);
    if let Some(since) = subscription.past_due_since {
        subscription.status = subscription.status.after(Change::PaymentDeclined)?;
        subscription.past_due_since = Some(since.plus(now.since(paused_at.max(since))));
    }
    // Time that was paused and on hold counts as one delay of the dunning deadline.
    if let Some(held_at) = &mut subscription.bounds.held_at {
        *held_at = held_at.plus(now.since(paused_at.max(*held_at)));
    }
    Ok(())
}

/// The time whose usage is billed for a period after a pause. If the pause began after the period's end, it includes the time until the
/// pause: no other invoice contains the usage that was reported then.
pub(super) fn reported(period: &Period, paused_at: Option<Timestamp>, now: Timestamp) -> Period {
    let until = paused_at.map_or(period.end, |paused_at| paused_at.plus(Duration::from_micros(1)).min(now));
    Period { end: period.end.max(until), ..*period }
}

/// Resumes a paused subscription. If its period is over, a new one begins now and is charged.
///
/// # Errors
/// [`ResumeError::ClockNotTrusted`] while any process of the store doubts its clock.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn resume(ctx: &Context, id: &SubscriptionId) -> Result<Subscription, ResumeError> {
    let mut unit = ctx.store.begin().await?;
    let mut subscription = lock(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let paused_at = subscription.paused_at;
    let applied = match is_time_trusted(ctx, unit.as_mut(), &subscription).await? {
        true => apply_resume(&mut subscription, now),
        false => Err(ResumeError::ClockNotTrusted),
    };
    if let Err(error) = applied {
        // Releases the lock explicitly: a batch that runs right after would skip a locked subscription.
        unit.rollback().await?;
        return Err(error);
    }
    subscription.updated_at = now;
    let (mut attempt, mut has_new_items) = (None, false);
    if subscription.period.end <= now {
        subscription.period = reported(&subscription.period, paused_at, now);
        let one = std::slice::from_ref(&subscription);
        let mut batch = BillingBatch::read(unit.as_mut(), one).await?;
        let used = read_usage(unit.as_mut(), &batch, one).await?;
        let metered_period = subscription.index.map(|_| subscription.period);
        let next_period = period(&subscription.cycle, now, 0).map_err(Unbillable::from)?;
        let id = InvoiceId::new(now, ctx.random.as_ref());
        let Lines { items, overbilled, .. } = lines(ctx, &batch, &used, &subscription, &id, next_period, metered_period)?;
        let corrections = UsageCorrections::plan(unit.as_mut(), &subscription, &overbilled).await?;
        subscription.anchor = now;
        has_new_items = subscription.enter(0, next_period);
        let (reason, added) = (BillingReason::SubscriptionCycle, Amount::ZERO);
        let bill = Bill { id, reason, period: next_period, lines: items, corrections, added };
        attempt = issue(ctx, unit.as_mut(), &mut batch, &mut subscription, bill, nonce(ctx), now).await?;
    }
    save(unit.as_mut(), &subscription).await?;
    if has_new_items {
        unit.subscriptions().put_items(&subscription).await?;
    }
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    notify(ctx, unit.as_mut(), &Notification::Resumed { subscription: id.clone(), from: ResumedFrom::Pause, at: now }, ctx.now()).await?;
    unit.commit().await?;
    Ok(super::find(ctx, id).await?)
}
