//! Rules and ports of Souk: no async runtime, no database, no HTTP, no clock of its own.

pub mod access;
pub mod events;
pub mod payment;
pub mod shared;
