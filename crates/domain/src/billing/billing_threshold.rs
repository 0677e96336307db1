//! Bills usage before the end of its period once the unbilled usage reaches the subscription's billing threshold.

use super::billing_batch::BillingBatch;
use super::charges::nonce;
use super::credit::{CreditNoteReason, Destination, OrderedBy, publish_refunds};
use super::issue_invoice::{Bill, issue};
use super::limits::ChargeBudget;
use super::period_lines::{Lines, lines, names_of, prorated_item, read_usage, usage_of};
use super::subscription_admin::save;
use super::unused_time::{UnusedTimeError, UnusedTimes};
use super::usage_correction::UsageCorrections;
use super::{
    BilledUsage, BillingReason, NoteError, Period, PlanLine, Subscription, SubscriptionError, SubscriptionItem, SubscriptionStatus,
    Unbillable, charges, period,
};
use crate::context::Context;
use crate::pricing::Usage;
use crate::shared::{Amount, AmountError, AttemptId, InvoiceId, Timestamp};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// Bills the usage of a subscription's current period that no invoice contains yet, if this unbilled usage has reached the billing
/// threshold. The caller holds the subscription's lock, so that nothing is billed twice, and publishes the returned attempt. A later
/// invoice of the period bills the remaining usage, late reports included.
pub(super) async fn bill_when_reached(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mut subscription: Subscription,
    now: Timestamp,
) -> Result<Option<AttemptId>, SubscriptionError> {
    let Some(threshold) = subscription.billing_threshold.filter(|threshold| !threshold.amount.is_zero()) else { return Ok(None) };
    // Nothing is due during a trial. A past-due subscription accumulates no further overdue invoices before its period ends.
    if subscription.status != SubscriptionStatus::Active || subscription.index.is_none() {
        return Ok(None);
    }
    let one = std::slice::from_ref(&subscription);
    let mut batch = BillingBatch::read(unit, one).await?;
    let used = read_usage(unit, &batch, one).await?;
    let is_metered = |item: &&SubscriptionItem| used.contains_key(&item.id);
    let metered = Subscription { items: subscription.items.iter().filter(is_metered).cloned().collect(), ..subscription.clone() };
    let billed_until = metered.items.iter().filter_map(|item| item.billed).map(|billed| billed.until).max();
    let unbilled_from = billed_until.unwrap_or(subscription.period.start);
    // Each threshold invoice begins where the previous one ended. No two begin at the same moment (invariant 2), and usage reported exactly
    // at `now` is included.
    let at = now.max(unbilled_from).plus(Duration::from_micros(1));
    let reported_period = Period { start: subscription.period.start, end: at };
    let id = InvoiceId::new(ctx.now(), ctx.random.as_ref());
    let Lines { items: mut billed, total: usage, overbilled, .. } =
        lines(ctx, &batch, &used, &metered, &id, reported_period, Some(reported_period))?;
    if usage < threshold.amount || at >= subscription.period.end {
        return Ok(None);
    }
    // At a limit the usage waits: a later report, or the invoice of the period, bills it.
    let bounds = ctx.policy.bounds.as_ref().filter(|_| subscription.clock_id.is_none());
    let mut budget = ChargeBudget::read(unit, bounds, std::iter::once(&subscription.customer_id), now).await?;
    if !budget.has_room(&subscription.customer_id) || bounds.is_some_and(|bounds| !subscription.may_invoice(bounds, now)) {
        return Ok(None);
    }
    let corrections = UsageCorrections::plan(unit, &subscription, &overbilled).await?;
    let full_usage_totals = metered.items.iter().zip(&billed).map(|(item, line)| Ok((item.id.clone(), line.pricing_formula.whole()?)));
    let full_usage_totals = full_usage_totals.collect::<Result<Vec<_>, AmountError>>()?;
    let mut invoice_period = Period { start: unbilled_from, end: at };
    let mut unused = UnusedTimes::none(at);
    let next = period(&subscription.cycle, at, 0).map_err(Unbillable::from)?;
    // A requested end is kept: the anchor is reset only if the new period ends by then.
    if threshold.resets_anchor && !subscription.cancel_at_period_end && subscription.cancel_at.is_none_or(|end| end >= next.end) {
        unused = match UnusedTimes::read(unit, &subscription, &batch, None, at).await {
            // An invoice of this period has a payment in flight: a later report triggers the invoice.
            Err(UnusedTimeError::Subscription(SubscriptionError::PaymentInFlight)) => return Ok(None),
            unused => unused?,
        };
        let charged = charges(&whole_periods(&subscription, &batch)?, &next, at)?;
        let names = names_of(unit, &charged).await?;
        for line in &charged {
            let item_id = subscription.items.iter().find(|item| item.price_id == line.price_id).map(|item| item.id.clone());
            billed.push(prorated_item(ctx, &names, line, &id, item_id, Period { start: at, end: next.end }, at));
        }
        invoice_period = next;
        subscription.anchor = at;
        subscription.enter(0, next);
    } else {
        for (id, whole) in full_usage_totals {
            let credited = corrections.credited_of(&id)?;
            let Some(item) = subscription.items.iter_mut().find(|item| item.id == id) else { continue };
            let billed_before = item.billed.map_or(Amount::ZERO, |billed| billed.amount);
            // Billed usage that could not be credited stays billed, so that it is not billed again.
            let amount = whole.max(billed_before.minus(credited)?);
            let carried_over = item.billed.map_or(Amount::ZERO, |billed| billed.carried_over);
            item.billed = Some(BilledUsage { from: item.counts_from(&reported_period), until: at, amount, carried_over });
        }
    }
    subscription.updated_at = now;
    match unused.lock(unit).await {
        Err(SubscriptionError::PaymentInFlight) => return Ok(None),
        locked => locked?,
    }
    let added = unused.to_balance(&subscription)?;
    let refunds = unused.issue(ctx, unit, &subscription, CreditNoteReason::PlanChange, &Destination::Balance, at).await?;
    publish_refunds(ctx, unit, OrderedBy::Engine, &refunds).await.map_err(NoteError::from)?;
    let reason = BillingReason::SubscriptionThreshold;
    let bill = Bill { id, reason, period: invoice_period, lines: billed, corrections, added };
    let attempt = issue(ctx, unit, &mut batch, &mut subscription, bill, nonce(ctx), at).await?;
    subscription.count_invoice(now);
    if attempt.is_some() {
        budget.take(&subscription.customer_id);
    }
    save(unit, &subscription).await?;
    unit.subscriptions().put_items(&subscription).await?;
    budget.write(unit).await?;
    Ok(attempt)
}

/// The licensed items at their price for a whole period.
fn whole_periods(subscription: &Subscription, batch: &BillingBatch) -> Result<Vec<PlanLine>, SubscriptionError> {
    let mut plan = Vec::new();
    for item in &subscription.items {
        let Some(price) = batch.prices.get(&item.price_id).filter(|price| usage_of(price) == Some(Usage::Licensed)) else { continue };
        let pricing = price.pricing_in(&subscription.currency_id).ok_or(SubscriptionError::CurrencyNotConfigured)?;
        plan.push(PlanLine { price_id: price.id.clone(), quantity: item.quantity, whole: pricing.amount_for(item.quantity)? });
    }
    Ok(plan)
}
