//! The price of a cart, and the availability of its quantities.

use super::{Price, UnitPricing};
use crate::shared::{Amount, AmountError, CurrencyId};

/// The most items in one cart.
pub const ITEMS_MAX: usize = 20;
/// The most units of one item.
pub const QUANTITY_MAX: u64 = 1_000_000;

/// A price with a quantity. An accepted upsell replaces the original price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CartItem<'a> {
    pub price: &'a Price,
    pub quantity: u64,
    /// The amount that the buyer chose for the whole item. Without it, a custom price costs its preset.
    pub custom_amount: Option<Amount>,
}

/// The amounts due for a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Due with the purchase.
    pub now: Amount,
    /// Due with each renewal, if metered items are used in their quantity.
    pub renew: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("Exceed inventory")]
    ExceedInventory,
    #[error("Exceed purchase limit")]
    ExceedPurchaseLimit,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CartError {
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error("Multiple items with custom unit amount are not supported")]
    SeveralCustomAmounts,
    #[error(transparent)]
    Amount(#[from] AmountError),
}

/// Checks the stock first, then the limit per checkout (SPEC.md 5). `reserved`: the quantity that this checkout has reserved already, which
/// is contained in `quantity_sold`.
pub fn check_quantity(price: &Price, quantity: u64, reserved: u64) -> Result<(), QuantityError> {
    let sold = price.quantity_sold.saturating_sub(reserved);
    if price.quantity_available > 0 && sold.saturating_add(quantity) > price.quantity_available {
        return Err(QuantityError::ExceedInventory);
    }
    if price.quantity_limit_per_checkout > 0 && quantity > price.quantity_limit_per_checkout {
        return Err(QuantityError::ExceedPurchaseLimit);
    }
    Ok(())
}

/// The amount of each item in a currency, in the order of the items. A price with a custom amount must be the only item.
pub fn line_amounts(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Vec<Amount>, CartError> {
    if items.len() > 1 && items.iter().any(|item| item.price.is_custom()) {
        return Err(CartError::SeveralCustomAmounts);
    }
    items.iter().map(|item| item_amount(item, currency)).collect()
}

fn item_amount(item: &CartItem<'_>, currency: &CurrencyId) -> Result<Amount, CartError> {
    let pricing = item.price.pricing_in(currency).ok_or(CartError::CurrencyNotConfigured)?;
    match (pricing, item.custom_amount) {
        (UnitPricing::Custom(_), Some(chosen)) => Ok(chosen),
        (pricing, _) => Ok(pricing.amount_for(item.quantity)?),
    }
}

/// The amounts due for a cart, now and at each renewal. During a trial recurring items are due later; metered items always are.
pub fn due(items: &[CartItem<'_>], currency: &CurrencyId, trialing: bool) -> Result<Due, CartError> {
    let mut due = Due { now: Amount::ZERO, renew: Amount::ZERO };
    for (item, amount) in items.iter().zip(line_amounts(items, currency)?) {
        if item.price.is_recurring() {
            due.renew = due.renew.plus(amount)?;
        }
        if !(item.price.is_recurring() && (trialing || item.price.is_metered())) {
            due.now = due.now.plus(amount)?;
        }
    }
    Ok(due)
}

/// The total of the cart in a currency.
pub fn cart_total(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Amount, CartError> {
    Ok(Amount::sum(line_amounts(items, currency)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{Aggregate, Anchoring, CurrencyOption, CustomAmount, Interval, Metadata, Recurring, RecurringInterval, Usage};
    use crate::shared::{Mode, PriceId, ProductId, Timestamp};
    use proptest::prelude::*;

    fn price(available: u64, sold: u64, limit: u64) -> Price {
        Price {
            id: PriceId::parse("price_1").expect("id"),
            mode: Mode::Test,
            product_id: ProductId::parse("prod_1").expect("id"),
            active: true,
            locked: false,
            replaced_by: None,
            nickname: String::new(),
            lookup_key: None,
            currency_id: CurrencyId::parse("pc_own").expect("id"),
            unit_amount: Amount::new(7),
            currency_options: vec![CurrencyOption::per_unit(CurrencyId::parse("pc_other").expect("id"), Amount::new(9))],
            recurring: None,
            tiers_mode: None,
            tiers: Vec::new(),
            custom: None,
            upsells_to: None,
            stock_of: None,
            quantity_available: available,
            quantity_sold: sold,
            quantity_limit_per_checkout: limit,
            metadata: Metadata::new(),
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn insufficient_stock_is_reported_before_the_purchase_limit() {
        assert_eq!(check_quantity(&price(5, 4, 1), 2, 0), Err(QuantityError::ExceedInventory));
        assert_eq!(check_quantity(&price(5, 0, 1), 2, 0), Err(QuantityError::ExceedPurchaseLimit));
        assert_eq!(check_quantity(&price(5, 4, 0), 1, 0), Ok(()));
        assert_eq!(check_quantity(&price(0, 1_000, 0), 50, 0), Ok(()));
    }

    #[test]
    fn a_checkout_does_not_compete_with_its_own_reservation() {
        assert_eq!(check_quantity(&price(5, 5, 0), 2, 2), Ok(()));
        assert_eq!(check_quantity(&price(5, 5, 0), 3, 2), Err(QuantityError::ExceedInventory));
    }

    #[test]
    fn a_currency_option_replaces_the_base_amount_and_unknown_currencies_are_rejected() {
        let price = price(0, 0, 0);
        let items = [CartItem { price: &price, quantity: 3, custom_amount: None }];
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_own").expect("id")), Ok(Amount::new(21)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_other").expect("id")), Ok(Amount::new(27)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_none").expect("id")), Err(CartError::CurrencyNotConfigured));
    }

    fn base_currency() -> CurrencyId {
        CurrencyId::parse("pc_own").expect("id")
    }

    fn monthly(usage: Usage) -> Price {
        let cycle = RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle");
        Price { recurring: Some(Recurring { cycle, usage }), unit_amount: Amount::new(10), ..price(0, 0, 0) }
    }

    const fn item(price: &Price, quantity: u64) -> CartItem<'_> {
        CartItem { price, quantity, custom_amount: None }
    }

    fn due_of(items: &[CartItem<'_>], trialing: bool) -> Due {
        due(items, &base_currency(), trialing).expect("a due amount")
    }

    const fn amounts(now: u128, renew: u128) -> Due {
        Due { now: Amount::new(now), renew: Amount::new(renew) }
    }

    #[test]
    fn during_a_trial_only_one_time_items_are_due() {
        let (once, licensed) = (price(0, 0, 0), monthly(Usage::Licensed));
        let mixed = [item(&once, 1), item(&licensed, 2)];
        assert_eq!(due_of(&mixed, false), amounts(27, 20));
        assert_eq!(due_of(&mixed, true), amounts(7, 20));
        assert_eq!(due_of(&[item(&licensed, 1)], true), amounts(0, 10));
    }

    #[test]
    fn usage_is_due_at_renewal() {
        let (metered, licensed) = (monthly(Usage::Metered(Aggregate::Sum)), monthly(Usage::Licensed));
        assert_eq!(due_of(&[item(&metered, 4), item(&licensed, 1)], false), amounts(10, 50));
    }

    #[test]
    fn a_custom_amount_applies_to_the_whole_item() {
        let custom = CustomAmount { preset: Some(Amount::new(5)), ..CustomAmount::default() };
        let named = Price { custom: Some(custom), ..price(0, 0, 0) };
        assert_eq!(due_of(&[item(&named, 3)], false), amounts(5, 0));
        assert_eq!(due_of(&[CartItem { custom_amount: Some(Amount::new(42)), ..item(&named, 3) }], false), amounts(42, 0));
        let fixed = price(0, 0, 0);
        assert_eq!(due_of(&[CartItem { custom_amount: Some(Amount::new(42)), ..item(&fixed, 3) }], false), amounts(21, 0));
        assert_eq!(due(&[item(&named, 1), item(&fixed, 1)], &base_currency(), false), Err(CartError::SeveralCustomAmounts));
        assert_eq!(CartError::SeveralCustomAmounts.to_string(), "Multiple items with custom unit amount are not supported");
    }

    proptest! {
        #[test]
        fn a_trial_never_raises_the_amount_due_now(unit in 0u128..1_000, quantities in proptest::collection::vec(1u64..100, 1..6), trialing: bool) {
            let prices: Vec<_> = [monthly(Usage::Licensed), monthly(Usage::Metered(Aggregate::Max)), price(0, 0, 0)]
                .into_iter().map(|price| Price { unit_amount: Amount::new(unit), ..price }).collect();
            let items: Vec<_> = quantities.iter().enumerate().map(|(n, quantity)| item(&prices[n % 3], *quantity)).collect();
            let total = cart_total(&items, &base_currency()).expect("a total");
            let Due { now, renew } = due_of(&items, trialing);
            let in_trial = due_of(&items, true);
            prop_assert!(now <= due_of(&items, false).now);
            prop_assert!(now.max(renew) <= total);
            prop_assert_eq!(in_trial.now.plus(in_trial.renew), Ok(total));
        }
    }
}
