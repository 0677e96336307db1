//! Circuit breakers: a network that does not answer gets no background calls for a while, except one at a time that tests it. Calls that a
//! customer waits for are always made, and their answers count too. A breaker only delays: nothing is declined, expired or counted as a try.

use super::{CALL_DEADLINE_MARGIN, Method, MethodKind, Outcome, RailError};
use crate::shared::{MethodId, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The calls in a row without an answer after which a breaker opens.
pub const FAILURES_MAX: u32 = 5;
/// How long a breaker stays open at first. The time doubles with each test that fails, up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(5);
pub const LONGEST_DELAY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerStatus {
    /// Calls are made.
    Closed,
    /// One call tests the network.
    HalfOpen,
    /// No call is made.
    Open,
}

/// The breaker of one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    status: BreakerStatus,
    /// Calls in a row without an answer. Counts up to [`FAILURES_MAX`].
    failures: u32,
    /// Tests in a row that failed.
    failed_tests: u32,
    /// When the next call may be made, unless the breaker is closed. While a call tests the network: when that call counts as lost.
    until: Timestamp,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { status: BreakerStatus::Closed, failures: 0, failed_tests: 0, until: Timestamp::from_seconds(0) }
    }
}

impl Breaker {
    #[must_use]
    pub const fn status(&self) -> BreakerStatus {
        self.status
    }

    /// When the next background call may be made; `None`: now.
    #[must_use]
    pub fn retry_at(&self, now: Timestamp) -> Option<Timestamp> {
        // A time further ahead was computed before the clock was set back.
        let is_ahead = self.until > now && self.until <= now.plus(LONGEST_DELAY);
        (self.status != BreakerStatus::Closed && is_ahead).then_some(self.until)
    }

    /// Requests a background call. The first one after the breaker's delay tests the network, and the others wait for its result.
    ///
    /// # Errors
    /// The time at which to request it again.
    pub fn admit(&mut self, now: Timestamp) -> Result<(), Timestamp> {
        if let Some(retry_at) = self.retry_at(now) {
            return Err(retry_at);
        }
        if self.status != BreakerStatus::Closed {
            (self.status, self.until) = (BreakerStatus::HalfOpen, now.plus(CALL_DEADLINE_MARGIN));
        }
        Ok(())
    }

    /// Records that a call was answered, with any answer.
    pub fn answered(&mut self) {
        *self = Self::default();
    }

    /// Records that a call was not answered. While the breaker is open, such calls began before it opened, or a customer waits for them.
    pub fn unanswered(&mut self, now: Timestamp) {
        match self.status {
            BreakerStatus::Open => return,
            BreakerStatus::HalfOpen => self.failed_tests = self.failed_tests.saturating_add(1),
            BreakerStatus::Closed => self.failures = self.failures.saturating_add(1),
        }
        if self.failures >= FAILURES_MAX {
            let delay = FIRST_DELAY.saturating_mul(2u32.saturating_pow(self.failed_tests)).min(LONGEST_DELAY);
            (self.status, self.until) = (BreakerStatus::Open, now.plus(delay));
        }
    }
}

/// The state of a network's breaker, for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkStatus {
    pub method: MethodId,
    pub kind: MethodKind,
    pub breaker: BreakerStatus,
}

/// The breakers of this process, one for each method. Every process learns by its own calls.
#[derive(Debug, Default)]
pub struct Breakers(Mutex<BTreeMap<MethodId, (MethodKind, Breaker)>>);

impl Breakers {
    /// Of `limit` rows that wait for a method's network, the number to start now: none while its breaker is open, one to test it.
    #[must_use]
    pub fn allowance(&self, method: &MethodId, now: Timestamp, limit: u32) -> u32 {
        let breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match breakers.get(method) {
            Some((_, breaker)) if breaker.retry_at(now).is_some() => 0,
            Some((_, breaker)) if breaker.status() != BreakerStatus::Closed => limit.min(1),
            _ => limit,
        }
    }

    /// As [`Breaker::admit`].
    ///
    /// # Errors
    /// The time at which to request the call again.
    pub fn admit(&self, method: &MethodId, now: Timestamp) -> Result<(), Timestamp> {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.get_mut(method).map_or(Ok(()), |(_, breaker)| breaker.admit(now))
    }

    /// Records whether a call to a method's network was answered.
    pub fn record(&self, method: &Method, is_answered: bool, now: Timestamp) {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, breaker) = breakers.entry(method.id.clone()).or_insert_with(|| (method.kind, Breaker::default()));
        let before = breaker.status();
        if is_answered {
            breaker.answered()
        } else {
            breaker.unanswered(now)
        }
        match (before, breaker.status()) {
            (BreakerStatus::Closed, BreakerStatus::Open) => {
                tracing::warn!(method = %method.id, "a payment network does not answer; background calls to it wait");
            }
            (BreakerStatus::Open | BreakerStatus::HalfOpen, BreakerStatus::Closed) => {
                tracing::info!(method = %method.id, "a payment network answers again");
            }
            _ => {}
        }
    }

    /// The networks that this process has called.
    #[must_use]
    pub fn statuses(&self) -> Vec<NetworkStatus> {
        let breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(method, (kind, breaker)): (&MethodId, &(MethodKind, Breaker))| NetworkStatus {
            method: method.clone(),
            kind: *kind,
            breaker: breaker.status(),
        };
        breakers.iter().map(status).collect()
    }
}

impl Outcome {
    /// Whether the network has answered.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

impl RailError {
    /// Whether the network has answered, or could not even be called because of the method's settings.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn opened(second: i64) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            assert_eq!(breaker.admit(at(second)), Ok(()));
            breaker.unanswered(at(second));
        }
        breaker
    }

    #[test]
    fn a_breaker_opens_after_calls_in_a_row_without_an_answer() {
        let mut breaker = Breaker::default();
        for _ in 0..10 {
            (1..FAILURES_MAX).for_each(|_| breaker.unanswered(at(0)));
            breaker.answered();
        }
        assert_eq!((breaker.status(), breaker.admit(at(0))), (BreakerStatus::Closed, Ok(())));
        let mut breaker = opened(0);
        assert_eq!((breaker.status(), breaker.admit(at(4))), (BreakerStatus::Open, Err(at(5))));
    }

    #[test]
    fn one_call_at_a_time_tests_the_network_after_delays_that_grow_to_a_limit() {
        let (mut breaker, mut now) = (opened(0), 0);
        for delay in [5, 10, 20, 40, 60, 60] {
            assert_eq!(breaker.admit(at(now + delay - 1)), Err(at(now + delay)));
            now += delay;
            assert_eq!((breaker.admit(at(now)), breaker.status()), (Ok(()), BreakerStatus::HalfOpen));
            assert_eq!(breaker.admit(at(now)), Err(at(now + 45)), "the others wait for the test");
            breaker.unanswered(at(now));
            breaker.unanswered(at(now + 1));
        }
        assert_eq!((breaker.admit(at(now + 60)), breaker.status()), (Ok(()), BreakerStatus::HalfOpen));
        breaker.answered();
        assert_eq!(breaker, Breaker::default());
    }

    #[test]
    fn a_test_that_never_ends_and_a_clock_that_was_set_back_do_not_keep_a_breaker_open() {
        let mut breaker = opened(1_000);
        assert_eq!(breaker.admit(at(1_005)), Ok(()));
        assert_eq!((breaker.admit(at(1_049)), breaker.admit(at(1_050))), (Err(at(1_050)), Ok(())));
        assert_eq!(opened(1_000).admit(at(0)), Ok(()));
    }

    #[test]
    fn an_open_breaker_delays_its_own_network_only() {
        let (breakers, hangs) = (Breakers::default(), MethodId::parse("pm_hangs").expect("an id"));
        let other = MethodId::parse("pm_other").expect("an id");
        breakers.0.lock().expect("a lock").insert(hangs.clone(), (MethodKind::Stripe, opened(0)));
        assert_eq!((breakers.allowance(&hangs, at(0), 200), breakers.allowance(&other, at(0), 200)), (0, 200));
        assert_eq!((breakers.allowance(&hangs, at(5), 200), breakers.allowance(&hangs, at(5), 0)), (1, 0));
        assert_eq!((breakers.admit(&hangs, at(0)), breakers.admit(&other, at(0))), (Err(at(5)), Ok(())));
    }

    proptest! {
        #[test]
        fn a_network_is_always_tested_again_in_time_and_an_answer_always_closes_the_breaker(
            events in proptest::collection::vec((0i64..400, 0u8..3), 1..60),
        ) {
            let (mut breaker, mut now) = (Breaker::default(), 0);
            for (seconds, event) in events {
                now += seconds;
                match event {
                    0 => {
                        let retry_at = breaker.retry_at(at(now));
                        prop_assert_eq!(breaker.admit(at(now)), retry_at.map_or(Ok(()), Err));
                    }
                    1 => breaker.unanswered(at(now)),
                    _ => {
                        breaker.answered();
                        prop_assert_eq!(breaker.status(), BreakerStatus::Closed);
                    }
                }
                let retry_at = breaker.retry_at(at(now)).unwrap_or(at(now));
                prop_assert!(retry_at <= at(now).plus(LONGEST_DELAY));
                let mut later = breaker;
                prop_assert_eq!(later.admit(retry_at), Ok(()));
            }
        }
    }
}
