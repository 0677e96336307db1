//! Tests of the real binary: it is started, used, killed, and audited.

mod audit;
mod buyer;
mod commands;
mod crash;
mod drain;
mod history;
mod plans;
mod scale;
mod souk;
mod store_client;
mod storm;
