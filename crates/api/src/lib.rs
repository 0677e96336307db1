//! HTTP: routes, permissions, the wire forms of the domain.

pub mod auth;
mod idempotency;
mod limits;
pub mod lossless_json;
mod middleware;
pub mod problem;
pub mod routes;
mod service;
pub mod state;

pub use limits::Limits;

pub use service::{document, service};
