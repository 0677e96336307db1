//! What test mode pays against: stand-ins for the payment networks, seen only over their wires.

pub mod cards;
pub mod ledger;
pub mod store;
