//! Mandate limits: the most that one charge of a subscription can amount to, which a wallet is asked to allow.

use super::{BillingError, BillingPolicy};
use crate::payment::CurrencyLimit;
use crate::pricing::{Price, UnitPricing};
use crate::shared::{Amount, AmountError, CurrencyId, CustomerId, MethodId, Mode, PriceId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;
use std::collections::{BTreeMap, HashMap};

/// The limit in multiples of the billing threshold: the report that reaches the threshold can exceed it, so the limit leaves room.
const THRESHOLD_FACTOR: u64 = 2;

/// The limit of one charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MandateLimit {
    pub amount: Amount,
    /// Part of it covers usage, so that most charges are smaller.
    pub by_usage: bool,
}

/// An item of a subscription, as [`mandate_limit`] needs it.
#[derive(Debug, Clone, Copy)]
pub struct ChargedItem<'a> {
    pub price: &'a Price,
    pub quantity: u64,
}

/// The most that the invoice of one period can charge. Usage is limited to `THRESHOLD_FACTOR` times the billing threshold if there is
/// one, else to the price of [`BillingPolicy::usage_limit`] units.
pub fn mandate_limit<'a>(
    policy: &BillingPolicy,
    items: impl IntoIterator<Item = ChargedItem<'a>>,
    threshold: Option<Amount>,
    currency: &CurrencyId,
) -> Result<MandateLimit, AmountError> {
    let (mut licensed, mut used, mut by_usage) = (Amount::ZERO, Amount::ZERO, false);
    for ChargedItem { price, quantity } in items {
        let Some(pricing) = price.pricing_in(currency) else { continue };
        match price.is_metered() {
            true => {
                by_usage = true;
                used = used.plus(max_usage_price(&pricing, policy.usage_limit)?)?;
            }
            false => licensed = licensed.plus(pricing.amount_for(quantity)?)?,
        }
    }
    if let (true, Some(threshold)) = (by_usage, threshold.filter(|threshold| !threshold.is_zero())) {
        used = threshold.times(THRESHOLD_FACTOR)?;
    }
    Ok(MandateLimit { amount: licensed.plus(used)?, by_usage })
}

/// The highest price of up to `units` units, not counting leading free units. The maximum can lie below `units`: with volume tiers, more
/// units can cost less.
fn max_usage_price(pricing: &UnitPricing<'_>, units: u64) -> Result<Amount, AmountError> {
    let UnitPricing::Tiered { tiers, .. } = pricing else { return pricing.amount_for(units) };
    let free = tiers.iter().take_while(|tier| tier.unit_amount.is_zero() && tier.flat_amount.is_zero());
    let units = units.saturating_add(free.filter_map(|tier| tier.up_to).max().unwrap_or_default());
    let ends = tiers.iter().filter_map(|tier| tier.up_to).filter(|end| *end < units);
    let mut most = pricing.amount_for(units)?;
    for end in ends {
        most = most.max(pricing.amount_for(end)?);
    }
    Ok(most)
}

/// The limits of a mandate, one for each currency of a method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MandateLimits {
    most: BTreeMap<CurrencyId, Amount>,
    pub by_usage: bool,
}

impl MandateLimits {
    /// The combined limits of a customer's live subscriptions with a method, except the subscription `excluded`.
    pub async fn of_customer(
        policy: &BillingPolicy,
        unit: &mut dyn UnitOfWork,
        customer: &CustomerId,
        method: &MethodId,
        excluded: Option<&SubscriptionId>,
    ) -> Result<Self, BillingError> {
        let mut live = unit.subscriptions().live_of(customer).await?;
        live.retain(|one| one.method_id == *method && Some(&one.id) != excluded);
        let mut ids: Vec<PriceId> = live.iter().flat_map(|one| one.items.iter().map(|item| item.price_id.clone())).collect();
        ids.sort();
        ids.dedup();
        let prices = if ids.is_empty() { Vec::new() } else { unit.prices().find_all(&ids).await? };
        let prices: HashMap<PriceId, Price> = prices.into_iter().map(|price| (price.id.clone(), price)).collect();
        let mut limits = Self::default();
        for one in &live {
            let items =
                one.items.iter().filter_map(|item| Some(ChargedItem { price: prices.get(&item.price_id)?, quantity: item.quantity }));
            limits.add(
                &one.currency_id,
                mandate_limit(policy, items, one.billing_threshold.map(|threshold| threshold.amount), &one.currency_id)?,
            )?;
        }
        Ok(limits)
    }

    pub fn add(&mut self, currency: &CurrencyId, mandate_limit: MandateLimit) -> Result<(), AmountError> {
        let most = self.most.entry(currency.clone()).or_default();
        *most = most.plus(mandate_limit.amount)?;
        self.by_usage |= mandate_limit.by_usage;
        Ok(())
    }

    /// Raises a currency's limit to at least `least`, and to at least one base unit: networks read a limit of zero as unlimited.
    pub fn raise(&mut self, currency: &CurrencyId, least: Amount) {
        let most = self.most.entry(currency.clone()).or_default();
        *most = (*most).max(least).max(Amount::new(1));
    }

    pub fn of(&self, currency: &CurrencyId) -> Option<Amount> {
        self.most.get(currency).copied()
    }

    /// The limits of a method's currencies, for the mandate request.
    pub async fn requested(&self, unit: &mut dyn UnitOfWork, mode: Mode, method: &MethodId) -> Result<RequestedLimits, StorageError> {
        let currencies = unit.methods().currencies(mode).await?;
        let of_method = currencies.into_iter().filter(|currency| currency.method_id == *method);
        let limits = of_method.filter_map(|currency| Some(CurrencyLimit { most: self.of(&currency.id)?, currency }));
        Ok(RequestedLimits { limits: limits.filter(|limit| !limit.most.is_zero()).collect(), by_usage: self.by_usage })
    }
}

/// The limits that a wallet is asked to allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedLimits {
    pub limits: Vec<CurrencyLimit>,
    /// Whether any of them depends on usage.
    pub by_usage: bool,
}

impl RequestedLimits {
    /// The limits as a mandate stores them.
    #[must_use]
    pub fn granted(&self) -> Vec<(CurrencyId, Amount)> {
        self.limits.iter().map(|limit| (limit.currency.id.clone(), limit.most)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{Aggregate, Anchoring, Interval, Metadata, Recurring, RecurringInterval, Tier, TiersMode, Usage};
    use crate::shared::{ProductId, Timestamp};

    fn currency() -> CurrencyId {
        CurrencyId::parse("pc_1").expect("an id")
    }

    fn price(unit: u128, usage: Usage) -> Price {
        let cycle = RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle");
        Price {
            id: PriceId::parse("price_1").expect("an id"),
            mode: Mode::Test,
            product_id: ProductId::parse("prod_1").expect("an id"),
            active: true,
            locked: false,
            replaced_by: None,
            nickname: String::new(),
            lookup_key: None,
            currency_id: currency(),
            unit_amount: Amount::new(unit),
            currency_options: Vec::new(),
            recurring: Some(Recurring { cycle, usage }),
            tiers_mode: None,
            tiers: Vec::new(),
            custom: None,
            upsells_to: None,
            stock_of: None,
            quantity_available: 0,
            quantity_sold: 0,
            quantity_limit_per_checkout: 0,
            metadata: Metadata::new(),
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        }
    }

    fn metered(unit: u128) -> Price {
        price(unit, Usage::Metered(Aggregate::Sum))
    }

    fn tiered(mode: TiersMode, tiers: &[(Option<u64>, u128)]) -> Price {
        let tier = |(up_to, unit): &(Option<u64>, u128)| Tier { up_to: *up_to, unit_amount: Amount::new(*unit), flat_amount: Amount::ZERO };
        Price { tiers_mode: Some(mode), tiers: tiers.iter().map(tier).collect(), ..metered(0) }
    }

    fn most(items: &[(&Price, u64)], threshold: Option<u128>) -> u128 {
        let items = items.iter().map(|(price, quantity)| ChargedItem { price, quantity: *quantity });
        let policy = BillingPolicy { usage_limit: 1_000, ..BillingPolicy::default() };
        mandate_limit(&policy, items, threshold.map(Amount::new), &currency()).expect("a limit").amount.base_units()
    }

    #[test]
    fn licensed_items_count_once_and_usage_up_to_the_policy_limit() {
        let (plan, relay) = (price(10, Usage::Licensed), metered(2));
        assert_eq!(most(&[(&plan, 3)], None), 30);
        assert_eq!(most(&[(&relay, 1)], None), 2_000);
        assert_eq!(most(&[(&plan, 3), (&relay, 1)], None), 2_030);
    }

    #[test]
    fn a_threshold_limits_usage_and_leaves_room_for_the_report_that_reaches_it() {
        let (plan, relay) = (price(10, Usage::Licensed), metered(2));
        assert_eq!(most(&[(&plan, 3), (&relay, 1)], Some(50)), 130);
        assert_eq!(most(&[(&plan, 3)], Some(50)), 30, "no metered item");
        assert_eq!(most(&[(&relay, 1)], Some(0)), 2_000, "no threshold");
    }

    #[test]
    fn free_units_and_cheaper_tiers_leave_the_limit_high_enough() {
        let free = tiered(TiersMode::Graduated, &[(Some(10_000), 0), (None, 3)]);
        assert_eq!(most(&[(&free, 1)], None), 3_000);
        let bulk = tiered(TiersMode::Volume, &[(Some(900), 10), (None, 1)]);
        assert_eq!(most(&[(&bulk, 1)], None), 9_000, "900 units cost more than 1,000");
    }
}
