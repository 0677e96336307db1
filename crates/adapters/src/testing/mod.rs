//! Test support: a database per test, a fixed clock, and repeatable randomness.

mod ci_issuer;
mod clock;
mod databases;
mod disk;
mod moto;
mod random;
mod site;
pub mod upload;

pub use ci_issuer::{StandInIssuer, sign as sign_ci_token};
pub use clock::{FixedClock, RunningClock};
pub use databases::{TestDatabase, required};
pub use disk::TestDisk;
pub use moto::Moto;
pub use random::SeededRandom;
pub use site::{SiteAnswer, site};
