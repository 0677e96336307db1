//! The outside world behind the domain's ports.

pub mod sandbox;
pub mod stripe;
