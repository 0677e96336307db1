//! One file per port; every case runs on SQLite and on PostgreSQL.

mod apps;
mod attempts;
mod beancount;
mod cards;
mod catalogue;
mod checkout_sessions;
mod connect_sessions;
mod customers;
mod entitlements;
mod facade;
mod idempotency_keys;
mod intents;
mod invoices;
mod journal;
mod ledger;
mod methods;
mod parity;
mod payment_links;
mod prices;
mod products;
mod queue;
mod queue_outage;
mod queue_processes;
mod till;
mod users;
mod verify;
