//! What a longer cycle saves.

use super::RecurringInterval;
use crate::shared::Amount;

/// How many per cent less `to` costs than `from` repeated for as long (payment-kit.md 5): a whole number, rounded down.
/// `None` when it saves nothing, or `from` costs nothing or recurs less often.
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
    fn a_longer_cycle_is_measured_by_the_shorter_one_repeated() {
        use Interval::{Day, Month, Week, Year};
        assert_eq!(percent((10, Month), (100, Year)), Some(16));
        assert_eq!(percent((10, Month), (99, Year)), Some(17));
        assert_eq!(percent((10, Day), (60, Week)), Some(14));
        assert_eq!(percent((10, Month), (0, Year)), Some(100));
    }

    #[test]
    fn no_saving_and_no_price_are_not_told() {
        use Interval::{Month, Week, Year};
        assert_eq!(percent((10, Week), (40, Month)), None);
        assert_eq!(percent((10, Month), (130, Year)), None);
        assert_eq!(percent((0, Month), (0, Year)), None);
        assert_eq!(percent((100, Year), (5, Month)), None);
        assert_eq!(percent((u128::MAX, Month), (1, Year)), None);
    }

    proptest! {
        #[test]
        fn a_saving_is_between_1_and_100_per_cent(from: u128, to: u128) {
            if let Some(percent) = percent((from, Interval::Month), (to, Interval::Year)) {
                prop_assert!((1..=100).contains(&percent));
            }
        }
    }
}
