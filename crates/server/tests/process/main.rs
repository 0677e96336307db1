//! Tests of the real binary: it is started, used, killed, and audited.

mod audit;
mod automatic_publication;
mod backup;
mod bucket;
mod buyer;
mod commands;
mod connections;
mod crash;
mod customer;
mod developer;
mod disk;
mod drain;
mod folder;
mod history;
mod metrics;
mod plans;
mod publisher;
mod restored;
mod rotate_key;
mod sandbox_off;
mod scale;
mod soak;
mod souk;
mod store_client;
mod storm;
