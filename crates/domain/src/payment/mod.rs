//! Payment methods, currencies, intents, attempts, and the rails that reach the networks.

mod intent;
mod method;
mod rail;

pub use intent::*;
pub use method::*;
pub use rail::*;
