//! The state of a store that was restored from a backup.

mod api;

pub use api::RestoreApi;
