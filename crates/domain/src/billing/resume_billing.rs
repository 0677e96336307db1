//! Resumes the billing of subscriptions on hold, by an owner's decision.

use super::billing_batch::BillingBatch;
use super::charges::{nonce, publish_charges};
use super::hold::{CatchUp, Hold};
use super::issue_invoice::{Bill, issue};
use super::period_lines::{Lines, lines, read_usage};
use super::subscription_admin::{is_time_trusted, lock, save};
use super::subscription_error::convert_subscription_errors;
use super::usage_correction::UsageCorrections;
use super::{BilledUsage, BillingReason, HoldReason, OnHold, Period, Subscription, SubscriptionError, SubscriptionItem, time_of};
use crate::context::Context;
use crate::operation::is_trusted_by_all;
use crate::shared::{Amount, AttemptId, InvoiceId, Mode, SubscriptionId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// The number of subscriptions that one commit of [`resume_all_billing`] resumes.
const RESUMED_PER_COMMIT: u32 = 100;

/// Why billing is not resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeBillingError {
    #[error("Choose what happens to the periods that are not billed")]
    ChoiceRequired,
    /// Someone else has decided, or a limit has ended.
    #[error("The billing of this subscription is not on hold")]
    NotOnHold,
    /// A decision counts the periods until now, and skipped ones are never billed.
    #[error("The clock of the server may be wrong: check it first")]
    ClockNotTrusted,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ResumeBillingError::Subscription);

/// Resumes the billing of a subscription on hold. Without a choice the engine continues where it
/// stopped, and puts it on hold again if too many periods are unbilled. What a limit held is billed at once.
///
/// # Errors
/// [`ResumeBillingError::ChoiceRequired`] without a choice, if it is on hold because of its unbilled periods;
/// [`ResumeBillingError::NotOnHold`] with a choice, if it is not on hold; [`ResumeBillingError::ClockNotTrusted`] for a decision that depends
/// on the time.
#[tracing::instrument(skip_all, fields(subscription = %id, choice = choice.map(CatchUp::name)))]
pub async fn resume_billing(ctx: &Context, id: &SubscriptionId, choice: Option<CatchUp>) -> Result<(), ResumeBillingError> {
    let mut unit = ctx.store.begin().await?;
    let subscription = lock(unit.as_mut(), id).await?;
    if subscription.on_hold.is_none() {
        return if choice.is_some() { Err(ResumeBillingError::NotOnHold) } else { Ok(()) };
    }
    if choice.is_none() && subscription.is_undecided() {
        return Err(ResumeBillingError::ChoiceRequired);
    }
    let depends_on_time = choice.is_some() || subscription.bounds.resumes_at.is_some();
    if depends_on_time && !is_time_trusted(ctx, unit.as_mut(), &subscription).await? {
        return Err(ResumeBillingError::ClockNotTrusted);
    }
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let Resumed { subscription, has_new_items, attempt } = resumed(ctx, unit.as_mut(), subscription, choice, now).await?;
    save(unit.as_mut(), &subscription).await?;
    if has_new_items {
        unit.subscriptions().put_items(&subscription).await?;
    }
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(())
}

/// Resumes the billing of all subscriptions of a mode that are on hold because of their unbilled periods. Returns their number. Several
/// commits: after a failure the rest stays on hold, and the call can be repeated.
#[tracing::instrument(skip_all, fields(?mode, choice = choice.name()))]
pub async fn resume_all_billing(ctx: &Context, mode: Mode, choice: CatchUp) -> Result<u64, ResumeBillingError> {
    // Skipping issues invoices, whose locks are taken for one subscription at a time.
    let limit = if choice == CatchUp::EveryPeriod { RESUMED_PER_COMMIT } else { 1 };
    let (mut count, mut after) = (0, None);
    loop {
        let mut unit = ctx.store.begin().await?;
        if !is_trusted_by_all(ctx, unit.as_mut()).await? {
            return Err(ResumeBillingError::ClockNotTrusted);
        }
        let held = unit.subscriptions().lock_held(mode, HoldReason::UnbilledPeriods, after.as_ref(), limit).await?;
        let Some(last) = held.last() else {
            // Commits the reason of unreadable rows.
            unit.commit().await?;
            return Ok(count);
        };
        after = Some(last.id.clone());
        for held in held {
            let now = time_of(ctx, unit.as_mut(), held.clock_id.as_ref()).await?;
            let Resumed { subscription, has_new_items, attempt } = match resumed(ctx, unit.as_mut(), held.clone(), Some(choice), now).await
            {
                Ok(resumed) => resumed,
                // One whose periods cannot be computed stays on hold, with its own reason, and does not block the others.
                Err(SubscriptionError::Unbillable(error)) => {
                    Resumed { subscription: held.held(Hold::from(OnHold::from(error)), now), has_new_items: false, attempt: None }
                }
                Err(error) => return Err(error.into()),
            };
            count += u64::from(subscription.on_hold.is_none());
            save(unit.as_mut(), &subscription).await?;
            if has_new_items {
                unit.subscriptions().put_items(&subscription).await?;
            }
            publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
        }
        unit.commit().await?;
    }
}

struct Resumed {
    subscription: Subscription,
    has_new_items: bool,
    /// The charge of usage that was due before the skipped periods.
    attempt: Option<AttemptId>,
}

async fn resumed(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    held: Subscription,
    choice: Option<CatchUp>,
    now: Timestamp,
) -> Result<Resumed, SubscriptionError> {
    let is_limited = held.bounds.resumes_at.is_some();
    let before = held.released(now);
    let mut subscription = before.clone();
    if is_limited {
        // The owner does not wait for the next day or hour: what has begun by now is not limited.
        subscription.bounds.approved_until = Some(now);
    }
    let mut has_new_items = match choice {
        Some(choice) => subscription.catch_up(choice, now)?,
        None => false,
    };
    if subscription.index == before.index {
        return Ok(Resumed { subscription, has_new_items, attempt: None });
    }
    let batch = BillingBatch::read(unit, std::slice::from_ref(&before)).await?;
    let used = read_usage(unit, &batch, std::slice::from_ref(&before)).await?;
    // The next invoice contains the usage of the period that is current now, or of the skipped one before it.
    let counts_from = if subscription.period.contains(now) { now } else { subscription.period.end };
    for item in subscription.items.iter_mut().filter(|item| used.contains_key(&item.id)) {
        item.billed = Some(BilledUsage { from: counts_from, until: counts_from, amount: Amount::ZERO, carried_over: Amount::ZERO });
        has_new_items = true;
    }
    let attempt = bill_ended_usage(ctx, unit, batch, &used, &before, &mut subscription, now).await?;
    Ok(Resumed { subscription, has_new_items, attempt })
}

/// Bills or credits the usage of the last billed period. It is due with the invoice of the period after it, which is skipped.
async fn bill_ended_usage(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut batch: BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    before: &Subscription,
    subscription: &mut Subscription,
    now: Timestamp,
) -> Result<Option<AttemptId>, SubscriptionError> {
    // Usage during a trial is free.
    if before.index.is_none() || used.is_empty() {
        return Ok(None);
    }
    let is_metered = |item: &&SubscriptionItem| used.contains_key(&item.id);
    let metered = Subscription { items: before.items.iter().filter(is_metered).cloned().collect(), ..before.clone() };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Lines { items, total, overbilled } = lines(ctx, &batch, used, &metered, &id, before.period, Some(before.period))?;
    let corrections = UsageCorrections::plan(unit, before, &overbilled).await?;
    // It begins where the last invoice at the threshold ended, so that no two begin at the same moment.
    let billed_until = metered.items.iter().filter_map(|item| item.billed).map(|billed| billed.until).max();
    let period = Period { start: billed_until.unwrap_or(before.period.start), end: before.period.end };
    let lines = if total.is_zero() { Vec::new() } else { items };
    let bill = Bill { id, reason: BillingReason::SubscriptionThreshold, period, lines, corrections, added: Amount::ZERO };
    Ok(issue(ctx, unit, &mut batch, subscription, bill, nonce(ctx), now).await?)
}
