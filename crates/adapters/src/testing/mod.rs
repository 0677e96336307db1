//! Test support: a database per test, a fixed clock, and repeatable randomness.

mod clock;
mod databases;
mod disk;
mod random;
pub mod upload;

pub use clock::{FixedClock, RunningClock};
pub use databases::{TestDatabase, required};
pub use disk::TestDisk;
pub use random::SeededRandom;
