//! What tests stand on: databases of their own, a clock that stands still, randomness that repeats itself.

mod clock;
mod databases;
mod random;

pub use clock::{FixedClock, RunningClock};
pub use databases::{TestDatabase, required};
pub use random::SeededRandom;
