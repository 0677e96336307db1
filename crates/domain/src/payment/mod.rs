//! Payment methods, currencies, intents, attempts, and the rails that reach the networks.

mod method;
mod rail;

pub use method::*;
pub use rail::*;
