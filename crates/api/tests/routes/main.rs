//! The API as its callers see it, in the tree of its addresses.

#[path = "../app/mod.rs"]
mod app;

mod api_keys;
mod apps;
mod checkout_sessions;
mod connect;
mod customers;
mod idempotency;
mod invoices;
mod office;
mod openapi;
mod outer;
mod realtime;
mod session;
mod strange;
mod subscriptions;
mod webhooks;
mod well_known;
mod wire;
