//! The system's clocks and its random number generator. No other code reads them.

use souk_domain::operation::UptimeClock;
use souk_domain::shared::{Clock, Random, Timestamp};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the port's one real implementation")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The time since the machine was started, time asleep included. Unlike the wall clock, nobody can set it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemUptime;

impl UptimeClock for SystemUptime {
    fn uptime(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
    }
}

/// The name of this machine; empty if it has none.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A cryptographically secure generator of each thread, which the operating system's generator seeds and reseeds. A batch of renewals needs
/// more than a thousand ids, and a call of the system for each takes longer.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        use rand::Rng;
        rand::rng().fill_bytes(bytes);
    }
}
