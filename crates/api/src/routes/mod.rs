//! One folder for each resource: `api.rs` the endpoints, `model.rs` what goes over the wire.

pub mod checkout_sessions;
pub mod customers;
pub mod payment_intents;
pub mod payments;
pub mod settings;
