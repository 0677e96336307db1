//! The API as its callers see it, in the tree of its addresses.

#[path = "../app/mod.rs"]
mod app;

mod api_keys;
mod apps;
mod balances;
mod checkout_sessions;
mod connect;
mod credit_notes;
mod customers;
mod disputes;
mod idempotency;
mod invoices;
mod mails;
mod office;
mod openapi;
mod outer;
mod payments_on_hold;
mod realtime;
mod refunds;
mod session;
mod strange;
mod subscriptions;
mod webhooks;
mod well_known;
mod wire;
