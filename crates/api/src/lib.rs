//! The HTTP interface: routes, permissions, and the wire format of domain objects.

mod audit;
pub mod auth;
mod client_address;
mod counted_downloads;
mod cross_origin;
mod idempotency;
mod limits;
pub mod lossless_json;
mod middleware;
pub mod problem;
mod rates;
pub mod routes;
mod service;
pub mod state;
mod upload_slots;

pub use limits::Limits;
pub use middleware::is_upload;

pub use service::{document, service};
