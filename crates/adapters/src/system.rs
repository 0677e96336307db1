//! The system clock and the system's random number generator. No other code reads either.

use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use souk_domain::shared::{Clock, Random, Timestamp};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the port's one real implementation")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The operating system's random number generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        use rand::Rng;
        UnwrapErr(SysRng).fill_bytes(bytes);
    }
}
