//! A subscription with everything that it refers to.

use super::billing_batch::BillingBatch;
use super::period_lines::{Lines, lines, read_usage};
use super::usage_correction::UsageCorrections;
use super::{
    BillingError, PendingPlanChange, Stake, Subscription, SubscriptionError, SubscriptionItem, SubscriptionStatus, TestClock, period,
};
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{Currency, Mandate, Method};
use crate::pricing::{Price, Product};
use crate::shared::{Amount, InvoiceId, StakeId, SubscriptionId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeSet, HashMap};

/// The next invoice, as the engine would write it with the current usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextInvoice {
    /// The amount before the balance is applied.
    pub total: Amount,
    /// The amount after the balance is applied.
    pub amount: Amount,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedItem {
    pub item: SubscriptionItem,
    pub price: Price,
    pub product: Product,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedSubscription {
    pub subscription: Subscription,
    pub items: Vec<ExpandedItem>,
    pub customer: Customer,
    pub method: Method,
    pub currency: Currency,
    pub mandate: Option<Mandate>,
    /// The security stake.
    pub stake: Option<Stake>,
    /// The plan change that the customer has ordered and that waits for the network, or has failed.
    pub plan_change: Option<PendingPlanChange>,
    /// The stake of the overdraft protection.
    pub overdraft_stake: Option<Stake>,
    pub clock: Option<TestClock>,
    /// `None`: there is none, or it cannot be computed.
    pub next_invoice: Option<NextInvoice>,
    /// How many periods have begun without an invoice.
    pub unbilled_periods: u32,
    /// When the period after the current one begins, if there are any; `None` also if it ends before.
    pub next_period_start: Option<Timestamp>,
}

/// Reads the objects that subscriptions refer to, with one statement per kind. Omits subscriptions that refer to missing objects.
pub async fn expand_subscriptions(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscriptions: Vec<Subscription>,
) -> Result<Vec<ExpandedSubscription>, BillingError> {
    let batch = BillingBatch::read(unit, &subscriptions).await?;
    let used = read_usage(unit, &batch, &subscriptions).await?;
    let named = subscriptions.iter().flat_map(|one| [&one.stake_id, &one.overdraft_stake_id]).flatten().cloned();
    let stakes: Vec<_> = named.collect::<BTreeSet<_>>().into_iter().collect();
    let stakes = if stakes.is_empty() { Vec::new() } else { unit.stakes().find_all(&stakes).await? };
    let ids: Vec<_> = subscriptions.iter().map(|one| one.id.clone()).collect();
    let mut plan_changes = unit.plan_changes().find_all(&ids).await?;
    plan_changes.retain(|change| change.is_shown(ctx.now()));
    let stake = |id: &Option<StakeId>| id.as_ref().and_then(|id| stakes.iter().find(|stake| stake.id == *id)).cloned();
    let mut expanded = Vec::with_capacity(subscriptions.len());
    for subscription in subscriptions {
        let clock = match &subscription.clock_id {
            Some(clock) => unit.clocks().find(clock).await?,
            None => None,
        };
        let now = clock.as_ref().map_or_else(|| ctx.now(), |clock| clock.now);
        // Periods that cannot be computed are not counted: the engine puts their subscription on hold with that reason.
        let unbilled = subscription.unbilled_periods(now).unwrap_or_default();
        let next_period = (!unbilled.is_empty()).then(|| period(&subscription.cycle, subscription.anchor, unbilled.end).ok()).flatten();
        let next_period_start = next_period.map(|next| next.start).filter(|start| subscription.ends_at().is_none_or(|end| *start < end));
        let next_invoice = next_invoice(ctx, unit, &batch, &used, &subscription).await?;
        let item = |item: &SubscriptionItem| {
            let price = batch.prices.get(&item.price_id)?;
            let product = batch.products.get(&price.product_id)?;
            Some(ExpandedItem { item: item.clone(), price: price.clone(), product: product.clone() })
        };
        let items = subscription.items.iter().filter_map(item).collect();
        let (Some(customer), Some(method), Some(currency)) = (
            batch.customers.get(&subscription.customer_id),
            batch.methods.get(&subscription.method_id),
            batch.currencies.get(&subscription.currency_id),
        ) else {
            continue;
        };
        let mandate = subscription.mandate_id.as_ref().and_then(|id| batch.mandates.get(id)).cloned();
        expanded.push(ExpandedSubscription {
            items,
            customer: customer.clone(),
            method: method.clone(),
            currency: currency.clone(),
            mandate,
            stake: stake(&subscription.stake_id),
            plan_change: plan_changes.iter().find(|change| change.subscription_id == subscription.id).cloned(),
            overdraft_stake: stake(&subscription.overdraft_stake_id),
            clock,
            next_invoice,
            unbilled_periods: unbilled.end.saturating_sub(unbilled.start),
            next_period_start,
            subscription,
        });
    }
    Ok(expanded)
}

async fn next_invoice(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: &BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    subscription: &Subscription,
) -> Result<Option<NextInvoice>, BillingError> {
    let is_running = matches!(subscription.status, SubscriptionStatus::Trialing | SubscriptionStatus::Active | SubscriptionStatus::PastDue);
    let at = subscription.period.end;
    if !is_running || subscription.ends_at().is_some_and(|end| end <= at) {
        return Ok(None);
    }
    let index = subscription.index.map_or(0, |index| index.saturating_add(1));
    let Ok(next_period) = period(&subscription.cycle, subscription.anchor, index) else { return Ok(None) };
    let metered_period = subscription.index.map(|_| subscription.period);
    let placeholder_id = InvoiceId::new(at, ctx.random.as_ref());
    let Ok(Lines { total, overbilled, .. }) = lines(ctx, batch, used, subscription, &placeholder_id, next_period, metered_period) else {
        return Ok(None);
    };
    let added = UsageCorrections::plan(unit, subscription, &overbilled).await?.to_balance()?;
    let applied = batch.applied(subscription, total, batch.balance_of(subscription).plus(added)?);
    Ok(Some(NextInvoice { total, amount: total.minus(applied)?, at }))
}

/// Reads a subscription.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn find(ctx: &Context, id: &SubscriptionId) -> Result<Subscription, SubscriptionError> {
    let mut unit = ctx.store.read().await?;
    super::subscription_admin::load(unit.as_mut(), id).await
}
