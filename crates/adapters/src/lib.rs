//! Implementations of the domain's ports: databases, queues, payment networks, mail, files.

pub mod arcblock;
pub mod backup;
pub mod beancount;
pub mod bundles;
pub mod ci_tokens;
pub mod concurrency_limit;
mod date_header;
pub mod demo;
pub mod disk;
pub mod files;
pub mod identity;
pub mod instances;
pub mod mail;
pub mod outbound;
pub mod pdf;
pub mod persistence;
pub mod queue;
pub mod realtime;
pub mod stripe;
pub mod system;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;
