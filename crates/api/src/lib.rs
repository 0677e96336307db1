//! HTTP: routes, permissions, the wire forms of the domain.

pub mod auth;
pub mod exact;
mod idempotency;
mod limits;
mod outer;
pub mod problem;
pub mod routes;
mod service;
pub mod state;

pub use limits::Limits;

pub use service::{document, service};
