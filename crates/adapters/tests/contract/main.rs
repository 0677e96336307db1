//! One file per port; every case runs on SQLite and on PostgreSQL.

mod apps;
mod cards;
mod catalogue;
mod entitlements;
mod facade;
mod ledger;
mod parity;
mod prices;
mod products;
mod queue;
mod queue_processes;
