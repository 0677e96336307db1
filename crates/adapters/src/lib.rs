//! Ports met by real technology.

pub mod files;
pub mod mail;
pub mod pdf;
