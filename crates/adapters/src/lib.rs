//! Ports met by real technology.

pub mod pdf;
