//! Billing usage before the end of its period, as soon as it costs enough.

use super::billing_batch::BillingBatch;
use super::charges::{nonce, publish_charges};
use super::credit::{CreditNoteReason, Destination};
use super::issue_invoice::{Bill, issue};
use super::period_lines::{Lines, lines, read_usage, usage_of};
use super::plan_preview::prorated_item;
use super::subscription_admin::save;
use super::unused_time::UnusedTimes;
use super::usage_correction::UsageCorrections;
use super::{
    BilledUsage, BillingReason, ManageError, Period, PlanLine, Subscription, SubscriptionItem, SubscriptionStatus, Unbillable, charges,
    period,
};
use crate::context::Context;
use crate::pricing::Usage;
use crate::shared::{Amount, AmountError, AttemptId, InvoiceId, Timestamp};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// Bills what a subscription was used in its current period and is on no invoice yet, if that has reached its threshold. The caller
/// holds the subscription locked, so that nothing is billed twice, and sends what is to be charged. A later invoice of the period
/// asks for the rest of the usage, late reports included.
pub(super) async fn bill_when_reached(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut subscription: Subscription,
    now: Timestamp,
) -> Result<Option<AttemptId>, ManageError> {
    let Some(threshold) = subscription.billing_threshold.filter(|threshold| !threshold.amount.is_zero()) else { return Ok(None) };
    // In a trial nothing is due, and what is past due is not made more of before the period ends.
    if subscription.status != SubscriptionStatus::Active || subscription.index.is_none() {
        return Ok(None);
    }
    let one = std::slice::from_ref(&subscription);
    let mut batch = BillingBatch::read(unit, one).await?;
    let used = read_usage(unit, &batch, one).await?;
    let is_metered = |item: &&SubscriptionItem| used.contains_key(&item.id);
    let metered = Subscription { items: subscription.items.iter().filter(is_metered).cloned().collect(), ..subscription.clone() };
    let billed_until = metered.items.iter().filter_map(|item| item.billed).map(|billed| billed.until).max();
    let begun = billed_until.unwrap_or(subscription.period.start);
    // Each of them begins where the last one ended, no two begin at the same moment, and what is reported for this moment is in it.
    let at = now.max(begun).plus(Duration::from_micros(1));
    let behind = Period { start: subscription.period.start, end: at };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Lines { items: mut billed, total: usage, overbilled, .. } = lines(ctx, &batch, &used, &metered, &id, behind, Some(behind))?;
    if usage < threshold.amount || at >= subscription.period.end {
        return Ok(None);
    }
    let corrections = UsageCorrections::plan(unit, &subscription, &overbilled).await?;
    let wholes = metered.items.iter().zip(&billed).map(|(item, line)| Ok((item.id.clone(), line.calculation.whole()?)));
    let wholes = wholes.collect::<Result<Vec<_>, AmountError>>()?;
    let mut span = Period { start: begun, end: at };
    let mut unused = UnusedTimes::none(at);
    let next = period(&subscription.cycle, at, 0).map_err(Unbillable::from)?;
    // An end that was asked for stands: no period begins that would go beyond it.
    if threshold.resets_anchor && !subscription.cancel_at_period_end && subscription.cancel_at.is_none_or(|end| end >= next.end) {
        unused = match UnusedTimes::read(unit, &subscription, &batch, None, at).await {
            // An invoice of this period is being paid: a later report bills.
            Err(ManageError::PaymentInFlight) => return Ok(None),
            unused => unused?,
        };
        for line in &charges(&whole_periods(&subscription, &batch)?, &next, at)? {
            let own = subscription.items.iter().find(|item| item.price_id == line.price_id).map(|item| item.id.clone());
            billed.push(prorated_item(ctx, unit, line, (&id, own), Period { start: at, end: next.end }, at).await?);
        }
        span = next;
        subscription.anchor = at;
        subscription.enter(0, next);
    } else {
        for (id, whole) in wholes {
            let given = corrections.given_of(&id)?;
            let Some(item) = subscription.items.iter_mut().find(|item| item.id == id) else { continue };
            let before = item.billed.map_or(Amount::ZERO, |billed| billed.amount);
            // What was billed and could not be given stays billed: it is not asked for again.
            let amount = whole.max(before.minus(given)?);
            let is_carried = item.billed.is_some_and(|billed| billed.is_carried);
            item.billed = Some(BilledUsage { from: item.counts_from(&behind), until: at, amount, is_carried });
        }
    }
    subscription.updated_at = now;
    unused.lock(unit).await?;
    let added = unused.to_balance(&subscription)?;
    let refunds = unused.issue(ctx, unit, &subscription, CreditNoteReason::PlanChange, &Destination::Balance, at).await?;
    publish_charges(ctx, unit, &refunds).await?;
    let reason = BillingReason::SubscriptionThreshold;
    let bill = Bill { id, reason, period: span, lines: billed, corrections, added };
    let attempt = issue(ctx, unit, &mut batch, &mut subscription, bill, nonce(ctx), at).await?;
    save(unit, &subscription).await?;
    unit.subscriptions().put_items(&subscription).await?;
    Ok(attempt)
}

/// What the licensed items cost for a whole period.
fn whole_periods(subscription: &Subscription, batch: &BillingBatch) -> Result<Vec<PlanLine>, ManageError> {
    let mut plan = Vec::new();
    for item in &subscription.items {
        let Some(price) = batch.prices.get(&item.price_id).filter(|price| usage_of(price) == Some(Usage::Licensed)) else { continue };
        let rate = price.rate_in(&subscription.currency_id).ok_or(ManageError::CurrencyNotConfigured)?;
        plan.push(PlanLine { price_id: price.id.clone(), quantity: item.quantity, whole: rate.charge(item.quantity)? });
    }
    Ok(plan)
}
