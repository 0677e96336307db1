//! Whether the store has enough disk space.

mod api;

pub use api::DiskApi;
