//! The audit log, for administrators.

mod api;

pub use api::AuditLogApi;
