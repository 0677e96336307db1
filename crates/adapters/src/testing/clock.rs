//! Clocks for tests.

use souk_domain::shared::{Clock, Timestamp};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A clock that stands still until it is advanced. Starts at 2026-01-15T12:00:00Z by default.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.micros()))
    }

    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).expect("a test advances by less than 292,000 years");
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the clock back, as an operator does whose clock was ahead.
    pub fn set_back(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).expect("a test goes back by less than 292,000 years");
        self.0.fetch_sub(micros, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::at(Timestamp::from_seconds(1_768_478_400))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The system time, for tests in which several processes share a database.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunningClock;

impl Clock for RunningClock {
    #[expect(clippy::disallowed_methods, reason = "tests of several processes need one clock that all of them read")]
    fn now(&self) -> Timestamp {
        Timestamp::from_calendar(std::time::SystemTime::now().into())
    }
}
