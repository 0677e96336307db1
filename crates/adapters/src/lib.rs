//! The outside world behind the domain's ports.

pub mod identity;
pub mod sandbox;
