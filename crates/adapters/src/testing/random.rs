//! Randomness that repeats itself.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use souk_domain::shared::Random;
use std::sync::{Mutex, PoisonError};

/// The same seed gives the same bytes.
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
