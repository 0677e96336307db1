//! Ports met by real technology.

pub mod demo;
pub mod files;
pub mod mail;
pub mod pdf;
