//! What a cart costs, and whether its quantities can be had.

use super::Price;
use crate::shared::{Amount, AmountError, CurrencyId};

/// The most items of one cart.
pub const ITEMS_MAX: usize = 20;
/// The most units of one item.
pub const QUANTITY_MAX: u64 = 1_000_000;

/// A price and how many of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CartItem<'a> {
    pub price: &'a Price,
    pub quantity: u64,
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

/// What each item costs in a currency, in the order of the items.
pub fn line_amounts(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Vec<Amount>, CartError> {
    items
        .iter()
        .map(|item| {
            let rate = item.price.rate_in(currency).ok_or(CartError::CurrencyNotConfigured)?;
            Ok(rate.charge(item.quantity)?)
        })
        .collect()
}

/// What the cart costs in a currency.
pub fn cart_total(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Amount, CartError> {
    Ok(Amount::sum(line_amounts(items, currency)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{CurrencyOption, Metadata};
    use crate::shared::{Mode, PriceId, ProductId, Timestamp};

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
        let items = [CartItem { price: &price, quantity: 3 }];
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_own").expect("id")), Ok(Amount::new(21)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_other").expect("id")), Ok(Amount::new(27)));
        assert_eq!(cart_total(&items, &CurrencyId::parse("pc_none").expect("id")), Err(CartError::CurrencyNotConfigured));
    }
}
