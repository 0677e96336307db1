//! Payment methods, currencies, intents, attempts, mandates, refunds, and the rails that reach the networks.

mod intent;
mod label;
mod manage_method;
mod mandate;
mod method;
mod pursue;
mod rail;
mod refund;
mod refusal;

pub use intent::*;
pub use label::*;
pub use manage_method::*;
pub use mandate::*;
pub use method::*;
pub use pursue::*;
pub use rail::*;
pub use refund::*;
