//! Repeatable randomness.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use souk_domain::shared::Random;
use std::sync::{Mutex, PoisonError};

/// A generator that returns the same bytes for the same seed.
pub struct SeededRandom(Mutex<StdRng>);

impl SeededRandom {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}
