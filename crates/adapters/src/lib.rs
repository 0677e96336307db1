//! The outside world behind the domain's ports: databases, queues, networks, mail, files.

pub mod arcblock;
pub mod files;
pub mod identity;
pub mod mail;
pub mod pdf;
pub mod persistence;
pub mod queue;
pub mod sandbox;
pub mod stripe;
#[cfg(feature = "testing")]
pub mod testing;
