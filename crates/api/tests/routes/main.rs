//! Tests of the API, organized by URL path.

#[path = "../app/mod.rs"]
mod app;

mod admin;
mod api_keys;
mod apps;
mod audit_log;
mod balances;
mod checkout_sessions;
mod clock;
mod connect;
mod connect_actions_with_gas;
mod connect_confirmation;
mod connect_cross_origin;
mod connect_deadline;
mod connect_orders;
mod connect_undecided;
mod credit_notes;
mod customers;
mod disk;
mod disputes;
mod doctor;
mod email_confirmations;
mod idempotency;
mod invoices;
mod logins;
mod mail_links;
mod mails;
mod malformed;
mod middleware;
mod openapi;
mod payment_method_gas;
mod payments_on_hold;
mod privacy;
mod realtime;
mod refund_limits;
mod refunds;
mod restored;
mod sandbox_off;
mod session;
mod slow_networks;
mod subscriptions;
mod visitor_limits;
mod webhooks;
mod well_known;
mod wire;
