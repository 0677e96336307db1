//! What becomes of a period's usage and its threshold where an item's price or the subscription's currency changes: the usage goes
//! on counting, and what was billed of it is not billed again.

use super::billing_batch::BillingBatch;
use super::period_lines::usage_of;
use super::{BilledUsage, BillingError, Period, PricingFormula, Subscription, SubscriptionItem, Threshold};
use crate::pricing::{Aggregate, UnitPricing, Usage};
use crate::shared::{Amount, AmountError, CurrencyId, Timestamp};
use crate::storage::UnitOfWork;

/// A metered item whose price changes at `at`; `used` is what it was used until then, `billed` what that was billed now and before.
/// What is summed counts on at the new rate from where it stands, so that no tier is free twice. A highest or a last number stands for
/// all of the period: what was billed for it comes off what it costs at the new rate.
pub(super) fn carried(
    (item, period): (&SubscriptionItem, &Period),
    (rate, aggregate): (&UnitPricing<'_>, Aggregate),
    (used, billed): (u64, Amount),
    at: Timestamp,
) -> Result<BilledUsage, AmountError> {
    let amount = if aggregate == Aggregate::Sum { rate.charge(used)? } else { billed };
    Ok(BilledUsage { from: item.counts_from(period), until: at, amount, is_carried: true })
}

/// The subscription's amounts in another currency, before it is charged in that: what was billed of the period's usage counts for what
/// it costs there.
pub(super) async fn enter_currency(
    unit: &mut dyn UnitOfWork,
    subscription: &mut Subscription,
    currency: &CurrencyId,
) -> Result<(), BillingError> {
    let batch = BillingBatch::read(unit, std::slice::from_ref(subscription)).await?;
    let period = subscription.period;
    for item in &mut subscription.items {
        let Some(billed) = item.billed else { continue };
        let price = batch.prices.get(&item.price_id).ok_or(BillingError::Orphan)?;
        let (Some(Usage::Metered(aggregate)), Some(rate)) = (usage_of(price), price.rate_in(currency)) else { continue };
        let from = item.counts_from(&period);
        let amount = PricingFormula::of(&rate, unit.usage().used(&item.id, aggregate, from, billed.until).await?).amount()?;
        item.billed = Some(BilledUsage { from, until: billed.until, amount, is_carried: true });
    }
    subscription.billing_threshold = threshold_in(unit, subscription, currency).await?;
    Ok(())
}

/// When usage is billed early in a currency. An amount that was set in another one means nothing there: then it is what the terms of
/// the checkout ask for, if they ask for one.
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
    let (_, amount) = session.terms.amounts(currency.decimals)?;
    Ok((!amount.is_zero()).then_some(Threshold { amount, ..threshold }))
}
