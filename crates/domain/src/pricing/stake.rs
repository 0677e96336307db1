//! What a wallet stakes for a subscription.

use super::{CartError, CartItem};
use crate::shared::{Amount, CurrencyId};

/// The larger of the billing threshold and the least stake if either is asked for, else what all recurring items cost in a period.
#[must_use]
pub fn stake(threshold: Amount, minimum: Amount, recurring: Amount) -> Amount {
    let least = threshold.max(minimum);
    if least.is_zero() { recurring } else { least }
}

/// What the recurring items of a cart cost in a period, licensed and metered ones alike.
pub fn recurring_sum(items: &[CartItem<'_>], currency: &CurrencyId) -> Result<Amount, CartError> {
    let recurring: Vec<_> = items.iter().filter(|item| item.price.is_recurring()).copied().collect();
    super::cart_total(&recurring, currency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_asks_for_beats_what_a_period_costs() {
        let stake = |threshold, minimum| stake(Amount::new(threshold), Amount::new(minimum), Amount::new(30)).base_units();
        assert_eq!(stake(0, 0), 30);
        assert_eq!(stake(10, 0), 10);
        assert_eq!(stake(10, 25), 25);
        assert_eq!(stake(50, 25), 50);
    }
}
