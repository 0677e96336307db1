//! The outside world behind the domain's ports: databases, queues, networks, mail, files.

pub mod persistence;
pub mod queue;
#[cfg(feature = "testing")]
pub mod testing;
