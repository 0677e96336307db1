//! Payment methods, currencies, intents, attempts, and the rails that reach the networks.

mod intent;
mod manage_method;
mod method;
mod rail;

pub use intent::*;
pub use manage_method::*;
pub use method::*;
pub use rail::*;
