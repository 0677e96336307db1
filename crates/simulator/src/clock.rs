//! The clock of simulated processes.

use souk_adapters::system::SystemClock;
use souk_domain::shared::{Clock, Timestamp};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The machine's time plus an offset in seconds.
#[derive(Debug, Default)]
pub struct ShiftedClock(AtomicU64);

impl ShiftedClock {
    pub const fn by(seconds: u64) -> Self {
        Self(AtomicU64::new(seconds))
    }

    pub fn jump(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn seconds(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus(Duration::from_secs(self.seconds()))
    }
}
