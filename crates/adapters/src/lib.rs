//! The outside world behind the domain's ports.

pub mod arcblock;
pub mod identity;
pub mod sandbox;
