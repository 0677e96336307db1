//! One file per port; every case runs on SQLite and on PostgreSQL.

mod cards;
mod facade;
