//! One folder for each resource: `api.rs` the endpoints, `model.rs` what goes over the wire.

pub mod apps;
pub mod checkout_sessions;
pub mod connect;
pub mod customers;
pub mod health;
pub mod input;
pub mod invoices;
pub mod payment_currencies;
pub mod payment_intents;
pub mod payment_links;
pub mod payment_methods;
pub mod payments;
pub mod prices;
pub mod products;
pub mod realtime;
pub mod refunds;
pub mod session;
pub mod settings;
pub mod store;
pub mod subscriptions;
pub mod test_clocks;
pub mod usage_records;
pub mod webhooks;
pub mod well_known;
