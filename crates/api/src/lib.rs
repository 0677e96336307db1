//! HTTP: routes, permissions, the wire forms of the domain.

pub mod auth;
pub mod exact;
mod idempotency;
mod outer;
pub mod problem;
pub mod routes;
mod service;
pub mod state;

pub use service::{document, service};
