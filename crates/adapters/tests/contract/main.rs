//! One file per port; every case runs on SQLite and on PostgreSQL.

mod apps;
mod catalogue;
mod entitlements;
mod cards;
mod facade;
mod parity;
mod prices;
mod products;
mod queue;
mod queue_processes;
