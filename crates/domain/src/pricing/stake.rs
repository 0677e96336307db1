//! The stake that a wallet must place for a subscription.

use super::{CartError, CartItem};
use crate::shared::{Amount, CurrencyId};

/// The required stake: the larger of billing threshold and minimum stake if either is set, else the price of all recurring items for one
/// period.
#[must_use]
pub fn stake(threshold: Amount, minimum: Amount, recurring: Amount) -> Amount {
    let required = threshold.max(minimum);
    if required.is_zero() { recurring } else { required }
}

/// The price of a cart's recurring items for one period, licensed and metered ones alike.
pub fn recurring_sum(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Amount, CartError> {
    let recurring: Vec<_> = items.iter().filter(|item| item.price.is_recurring()).copied().collect();
    super::cart_total(&recurring, currency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_amount_replaces_the_price_of_a_period() {
        let stake = |threshold, minimum| stake(Amount::new(threshold), Amount::new(minimum), Amount::new(30)).base_units();
        assert_eq!(stake(0, 0), 30);
        assert_eq!(stake(10, 0), 10);
        assert_eq!(stake(10, 25), 25);
        assert_eq!(stake(50, 25), 50);
    }
}
