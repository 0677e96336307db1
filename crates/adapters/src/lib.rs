//! The outside world behind the domain's ports: databases, queues, networks, mail, files.

pub mod persistence;
pub mod queue;
#[cfg(feature = "testing")]
pub mod testing;
//! The outside world behind the domain's ports.

pub mod arcblock;
pub mod identity;
pub mod sandbox;
pub mod sandbox;
pub mod stripe;
#[cfg(feature = "testing")]
pub mod testing;
//! Ports met by real technology.

pub mod files;
pub mod mail;
pub mod pdf;
