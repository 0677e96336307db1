//! What a cart costs, and whether its quantities can be had.

use super::{Price, UnitPricing};
use crate::shared::{Amount, AmountError, CurrencyId};

/// The most items of one cart.
pub const ITEMS_MAX: usize = 20;
/// The most units of one item.
pub const QUANTITY_MAX: u64 = 1_000_000;

/// A price and how many of it. An accepted upsell stands in the place of the price that it grew from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CartItem<'a> {
    pub price: &'a Price,
    pub quantity: u64,
    /// What the buyer chose to pay, for the whole item; without it a custom price costs its preset.
    pub custom_amount: Option<Amount>,
}

/// What a cart asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// With the purchase.
    pub now: Amount,
    /// With each renewal; metered prices as if their quantity was used.
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

/// Inventory first, then the limit (SPEC.md 5). `held` is what this checkout holds already: it counts as sold.
pub fn check_quantity(price: &Price, quantity: u64, held: u64) -> Result<(), QuantityError> {
    let sold = price.quantity_sold.saturating_sub(held);
    if price.quantity_available > 0 && sold.saturating_add(quantity) > price.quantity_available {
        return Err(QuantityError::ExceedInventory);
    }
    if price.quantity_limit_per_checkout > 0 && quantity > price.quantity_limit_per_checkout {
        return Err(QuantityError::ExceedPurchaseLimit);
    }
    Ok(())
}

/// What each item costs in a currency, in the order of the items. A price whose amount the buyer names must be alone.
pub fn line_amounts(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Vec<Amount>, CartError> {
    if items.len() > 1 && items.iter().any(|item| item.price.is_custom()) {
        return Err(CartError::SeveralCustomAmounts);
    }
    items.iter().map(|item| item_amount(item, currency)).collect()
}

fn item_amount(item: &CartItem<'_>, currency: &CurrencyId) -> Result<Amount, CartError> {
    let rate = item.price.rate_in(currency).ok_or(CartError::CurrencyNotConfigured)?;
    match (rate, item.custom_amount) {
        (UnitPricing::Custom(_), Some(chosen)) => Ok(chosen),
        (rate, _) => Ok(rate.charge(item.quantity)?),
    }
}

/// What a cart asks for now and at each renewal. In a trial the recurring items are due later, and metered ones always are.
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

/// What the cart costs in a currency.
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
            quantity_available: available,
            quantity_sold: sold,
            quantity_limit_per_checkout: limit,
            metadata: Metadata::new(),
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn inventory_is_named_before_the_purchase_limit() {
        assert_eq!(check_quantity(&price(5, 4, 1), 2, 0), Err(QuantityError::ExceedInventory));
        assert_eq!(check_quantity(&price(5, 0, 1), 2, 0), Err(QuantityError::ExceedPurchaseLimit));
        assert_eq!(check_quantity(&price(5, 4, 0), 1, 0), Ok(()));
        assert_eq!(check_quantity(&price(0, 1_000, 0), 50, 0), Ok(()));
    }

    #[test]
    fn what_the_checkout_holds_itself_is_not_in_its_own_way() {
        assert_eq!(check_quantity(&price(5, 5, 0), 2, 2), Ok(()));
        assert_eq!(check_quantity(&price(5, 5, 0), 3, 2), Err(QuantityError::ExceedInventory));
    }

    #[test]
    fn an_option_beats_the_own_amount_and_an_unknown_currency_is_refused() {
        let price = price(0, 0, 0);
        let items = [CartItem { price: &price, quantity: 3, custom_amount: None }];
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_own").expect("id")), Ok(Amount::new(21)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_other").expect("id")), Ok(Amount::new(27)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_none").expect("id")), Err(CartError::CurrencyNotConfigured));
    }

    fn own() -> CurrencyId {
        CurrencyId::parse("pc_own").expect("id")
    }

    fn monthly(usage: Usage) -> Price {
        let cycle = RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).expect("a cycle");
        Price { recurring: Some(Recurring { cycle, usage }), unit_amount: Amount::new(10), ..price(0, 0, 0) }
    }

    const fn item(price: &Price, quantity: u64) -> CartItem<'_> {
        CartItem { price, quantity, custom_amount: None }
    }

    fn due_of(items: &[CartItem<'_>], trialing: bool) -> (u128, u128) {
        let due = due(items, &own(), trialing).expect("a due amount");
        (due.now.base_units(), due.renew.base_units())
    }

    #[test]
    fn in_a_trial_only_what_is_paid_once_is_due() {
        let (once, licensed) = (price(0, 0, 0), monthly(Usage::Licensed));
        let mixed = [item(&once, 1), item(&licensed, 2)];
        assert_eq!(due_of(&mixed, false), (27, 20));
        assert_eq!(due_of(&mixed, true), (7, 20));
        assert_eq!(due_of(&[item(&licensed, 1)], true), (0, 10));
    }

    #[test]
    fn usage_is_due_afterwards() {
        let (metered, licensed) = (monthly(Usage::Metered(Aggregate::Sum)), monthly(Usage::Licensed));
        assert_eq!(due_of(&[item(&metered, 4), item(&licensed, 1)], false), (10, 50));
    }

    #[test]
    fn an_amount_the_buyer_names_is_of_the_whole_item() {
        let custom = CustomAmount { preset: Some(Amount::new(5)), ..CustomAmount::default() };
        let named = Price { custom: Some(custom), ..price(0, 0, 0) };
        assert_eq!(due_of(&[item(&named, 3)], false), (5, 0));
        assert_eq!(due_of(&[CartItem { custom_amount: Some(Amount::new(42)), ..item(&named, 3) }], false), (42, 0));
        let fixed = price(0, 0, 0);
        assert_eq!(due_of(&[CartItem { custom_amount: Some(Amount::new(42)), ..item(&fixed, 3) }], false), (21, 0));
        assert_eq!(due(&[item(&named, 1), item(&fixed, 1)], &own(), false), Err(CartError::SeveralCustomAmounts));
        assert_eq!(CartError::SeveralCustomAmounts.to_string(), "Multiple items with custom unit amount are not supported");
    }

    proptest! {
        #[test]
        fn a_trial_never_makes_a_purchase_dearer(unit in 0u128..1_000, quantities in proptest::collection::vec(1u64..100, 1..6), trialing: bool) {
            let prices: Vec<_> = [monthly(Usage::Licensed), monthly(Usage::Metered(Aggregate::Max)), price(0, 0, 0)]
                .into_iter().map(|price| Price { unit_amount: Amount::new(unit), ..price }).collect();
            let items: Vec<_> = quantities.iter().enumerate().map(|(n, quantity)| item(&prices[n % 3], *quantity)).collect();
            let whole = cart_total(&items, &own()).expect("a total");
            let (now, renew) = due_of(&items, trialing);
            prop_assert!(now <= due_of(&items, false).0);
            prop_assert!(now.max(renew) <= whole.base_units());
            prop_assert_eq!(due_of(&items, true).0 + due_of(&items, true).1, whole.base_units());
        }
    }
}
