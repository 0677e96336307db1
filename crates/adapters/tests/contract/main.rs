//! One file per port; every case runs on SQLite and on PostgreSQL.

mod facade;
mod parity;
mod queue;
mod queue_outage;
mod queue_processes;
