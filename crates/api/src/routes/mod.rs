//! One folder for each resource: `api.rs` the endpoints, `model.rs` what goes over the wire.

pub mod checkout_sessions;
pub mod connect;
pub mod customers;
pub mod invoices;
pub mod payment_intents;
pub mod payments;
pub mod session;
pub mod settings;
pub mod store;
