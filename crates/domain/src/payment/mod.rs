//! Payment methods, currencies, intents, attempts, and the rails that reach the networks.

mod intent;
mod manage_method;
mod method;
mod rail;
mod refusal;

pub use intent::*;
pub use manage_method::*;
pub use method::*;
pub use rail::*;
