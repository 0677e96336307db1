//! The saving of an upsell.

use super::RecurringInterval;
use crate::shared::Amount;

/// By how many percent `to` is cheaper than `from` repeated for the same time (payment-kit.md 5), rounded down. `None`: there is no saving,
/// or `from` is free or has the longer cycle.
#[must_use]
pub fn upsell_percent(from: (Amount, &RecurringInterval), to: (Amount, &RecurringInterval)) -> Option<u32> {
    let repeated = from.0.times(to.1.seconds().checked_div(from.1.seconds())?).ok()?;
    let saved = repeated.minus(to.0).ok()?;
    let percent = saved.times(100).ok()?.base_units().checked_div(repeated.base_units())?;
    u32::try_from(percent).ok().filter(|percent| *percent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{Anchoring, Interval};
    use proptest::prelude::*;

    fn percent(from: (u128, Interval), to: (u128, Interval)) -> Option<u32> {
        let cycle = |interval| RecurringInterval::new(interval, 1, Anchoring::Fixed).expect("a cycle");
        upsell_percent((Amount::new(from.0), &cycle(from.1)), (Amount::new(to.0), &cycle(to.1)))
    }

    #[test]
    fn the_saving_is_relative_to_the_repeated_shorter_cycle() {
        use Interval::{Day, Month, Week, Year};
        assert_eq!(percent((10, Month), (100, Year)), Some(16));
        assert_eq!(percent((10, Month), (99, Year)), Some(17));
        assert_eq!(percent((10, Day), (60, Week)), Some(14));
        assert_eq!(percent((10, Month), (0, Year)), Some(100));
    }

    #[test]
    fn without_a_saving_or_a_price_there_is_no_percentage() {
        use Interval::{Month, Week, Year};
        assert_eq!(percent((10, Week), (40, Month)), None);
        assert_eq!(percent((10, Month), (130, Year)), None);
        assert_eq!(percent((0, Month), (0, Year)), None);
        assert_eq!(percent((100, Year), (5, Month)), None);
        assert_eq!(percent((u128::MAX, Month), (1, Year)), None);
    }

    proptest! {
        #[test]
        fn a_saving_is_between_1_and_100_percent(from: u128, to: u128) {
            if let Some(percent) = percent((from, Interval::Month), (to, Interval::Year)) {
                prop_assert!((1..=100).contains(&percent));
            }
        }
    }
}
