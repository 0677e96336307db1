//! Carries a period's usage and the billing threshold over when an item's price or the subscription's currency changes: usage keeps
//! counting, and billed usage is not billed again.

use super::billing_batch::BillingBatch;
use super::period_lines::usage_of;
use super::{BilledUsage, BillingError, PricingFormula, Subscription, Threshold, UsageQuery};
use crate::pricing::{Aggregate, UnitPricing, Usage};
use crate::shared::{Amount, AmountError, CurrencyId, Timestamp};
use crate::storage::UnitOfWork;

/// The usage of a metered item until its price changes.
pub(super) struct UsageSoFar {
    pub used: u64,
    /// The amount billed for it.
    pub billed: Amount,
}

/// The billed usage of a metered item whose price changes at `at`. Summed usage continues at the new price from its current count, so that
/// no free tier applies twice. A maximum or last value applies to the whole period: what was billed for it is deducted from its new price.
pub(super) fn carried(
    counts_from: Timestamp,
    pricing: &UnitPricing<'_>,
    aggregate: Aggregate,
    usage: UsageSoFar,
    at: Timestamp,
) -> Result<BilledUsage, AmountError> {
    let amount = if aggregate == Aggregate::Sum { pricing.amount_for(usage.used)? } else { usage.billed };
    Ok(BilledUsage { from: counts_from, until: at, amount, carried_over: amount })
}

/// Converts a subscription's amounts before it is charged in another currency: billed usage of the period counts at its price in the new
/// currency.
pub(super) async fn enter_currency(
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    currency: &CurrencyId,
) -> Result<(), BillingError> {
    let batch = BillingBatch::read(unit, std::slice::from_ref(subscription)).await?;
    let period = subscription.period;
    let (mut queries, mut carried) = (Vec::new(), Vec::new());
    for item in &mut subscription.items {
        let Some(billed) = item.billed else { continue };
        let price = batch.prices.get(&item.price_id).ok_or(BillingError::Orphan)?;
        let (Some(Usage::Metered(aggregate)), Some(pricing)) = (usage_of(price), price.pricing_in(currency)) else { continue };
        queries.push(UsageQuery { item: item.id.clone(), aggregate, from: item.counts_from(&period), to: billed.until });
        carried.push((item, pricing));
    }
    let used = unit.usage().used_all(&queries).await?;
    for (((item, pricing), query), used) in carried.into_iter().zip(queries).zip(used) {
        let amount = PricingFormula::of(&pricing, used).amount()?;
        item.billed = Some(BilledUsage { from: query.from, until: query.to, amount, carried_over: amount });
    }
    subscription.billing_threshold = threshold_in(unit, subscription, currency).await?;
    Ok(())
}

/// The billing threshold in a currency. An amount that was set in another currency does not apply: it is replaced by the threshold of the
/// checkout's terms, if there is one.
pub(super) async fn threshold_in(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    currency: &CurrencyId,
) -> Result<Option<Threshold>, BillingError> {
    let Some(threshold) = subscription.billing_threshold.filter(|_| subscription.currency_id != *currency) else {
        return Ok(subscription.billing_threshold);
    };
    let Some(session) = &subscription.session_id else { return Ok(None) };
    let found = unit.sessions().find(session).await?;
    let currency = unit.methods().find_currency(currency).await?.ok_or(BillingError::Orphan)?;
    let Some(session) = found else { return Ok(None) };
    let amount = session.terms.amounts(currency.decimals)?.threshold;
    Ok((!amount.is_zero()).then_some(Threshold { amount, ..threshold }))
}
