//! Free trials.

use crate::pricing::DAY_SECONDS;
use crate::shared::{CurrencyId, CustomerId, ProductId, StorageError, SubscriptionId, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// The longest trial, in days.
pub const TRIAL_DAYS_MAX: u32 = 730;

/// The trial terms of a checkout. Zero days and no end: there is no trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialTerms {
    pub days: u32,
    /// A fixed end; takes precedence over `days` while it lies in the future.
    pub end: Option<Timestamp>,
    /// Only payments in these currencies get a trial; empty: all do.
    pub currencies: Vec<CurrencyId>,
}

impl TrialTerms {
    /// The end of the trial of a subscription that begins now; `None`: it has none.
    #[must_use]
    pub fn end_at(&self, now: Timestamp, currency: &CurrencyId) -> Option<Timestamp> {
        if !self.currencies.is_empty() && !self.currencies.contains(currency) {
            return None;
        }
        let by_days = || (self.days > 0).then(|| now.plus(Duration::from_secs(DAY_SECONDS * u64::from(self.days))));
        self.end.filter(|end| *end > now).or_else(by_days)
    }
}

/// The products that customers have tried: each customer gets one free trial per product.
#[async_trait]
pub trait Trials: Send {
    /// Starts the trial of a product by a subscription. False: the customer has tried it already, and nothing is written.
    async fn start(
        &mut self,
        customer: &CustomerId,
        product: &ProductId,
        subscription: &SubscriptionId,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// The products among these that the customer has tried, ended trials included.
    async fn used(&mut self, customer: &CustomerId, products: &[ProductId]) -> Result<Vec<ProductId>, StorageError>;
}

/// The displayed length of a trial (SPEC.md 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialLength {
    Minutes(u64),
    Hours(u64),
    Days(u64),
}

impl TrialLength {
    /// In minutes below an hour, in hours below a day, else in days. Started units count as full ones.
    #[must_use]
    pub fn until(end: Timestamp, now: Timestamp) -> Option<Self> {
        let remaining = end.since(now);
        let seconds = remaining.as_secs() + u64::from(remaining.subsec_nanos() > 0);
        match seconds {
            0 => None,
            1..3_600 => Some(Self::Minutes(seconds.div_ceil(60))),
            3_600..DAY_SECONDS => Some(Self::Hours(seconds.div_ceil(3_600))),
            _ => Some(Self::Days(seconds.div_ceil(DAY_SECONDS))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn currency(name: &str) -> CurrencyId {
        CurrencyId::parse(&format!("pc_{name}")).expect("an id")
    }

    #[test]
    fn a_future_end_takes_precedence_over_days_and_a_past_one_does_not() {
        let terms = TrialTerms { days: 7, end: Some(at(1_000)), currencies: Vec::new() };
        assert_eq!(terms.end_at(at(0), &currency("tba")), Some(at(1_000)));
        assert_eq!(terms.end_at(at(1_000), &currency("tba")), Some(at(1_000 + 7 * 86_400)));
        assert_eq!(TrialTerms { days: 0, ..terms }.end_at(at(1_000), &currency("tba")), None);
        assert_eq!(TrialTerms::default().end_at(at(0), &currency("tba")), None);
    }

    #[test]
    fn currencies_that_are_not_listed_have_no_trial() {
        let terms = TrialTerms { days: 7, end: Some(at(9)), currencies: vec![currency("usd"), currency("eur")] };
        assert_eq!(terms.end_at(at(0), &currency("tba")), None);
        assert_eq!(terms.end_at(at(0), &currency("eur")), Some(at(9)));
    }

    #[test]
    fn the_length_is_shown_in_minutes_hours_or_days() {
        let shown = |seconds| TrialLength::until(at(seconds), at(0));
        assert_eq!(shown(0), None);
        assert_eq!(shown(1), Some(TrialLength::Minutes(1)));
        assert_eq!(shown(3_599), Some(TrialLength::Minutes(60)));
        assert_eq!(shown(3_600), Some(TrialLength::Hours(1)));
        assert_eq!(shown(86_399), Some(TrialLength::Hours(24)));
        assert_eq!(shown(86_400), Some(TrialLength::Days(1)));
        assert_eq!(shown(86_401), Some(TrialLength::Days(2)));
        assert_eq!(TrialLength::until(Timestamp::from_micros(1), at(0)), Some(TrialLength::Minutes(1)));
    }

    proptest! {
        #[test]
        fn a_trial_ends_after_it_begins(days in 0..=TRIAL_DAYS_MAX, end in proptest::option::of(-1_000i64..1_000), now in -1_000i64..1_000) {
            let terms = TrialTerms { days, end: end.map(at), currencies: Vec::new() };
            match terms.end_at(at(now), &currency("tba")) {
                Some(end) => prop_assert!(end > at(now) && TrialLength::until(end, at(now)).is_some()),
                None => prop_assert!(days == 0 && end.is_none_or(|end| end <= now)),
            }
        }

        #[test]
        fn the_shown_length_is_never_less_than_the_remaining_time(seconds in 1u64..100_000_000) {
            let shown = match TrialLength::until(at(seconds as i64), at(0)) {
                Some(TrialLength::Minutes(n)) => n * 60,
                Some(TrialLength::Hours(n)) => n * 3_600,
                Some(TrialLength::Days(n)) => n * 86_400,
                None => 0,
            };
            prop_assert!(shown >= seconds);
        }
    }
}
