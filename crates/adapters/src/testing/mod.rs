//! Test support: a database per test, a fixed clock, and repeatable randomness.

mod clock;
mod databases;
mod random;

pub use clock::{FixedClock, RunningClock};
pub use databases::{TestDatabase, required};
pub use random::SeededRandom;
