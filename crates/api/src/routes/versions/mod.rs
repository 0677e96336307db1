//! Uploaded versions, for their developers and for reviewers.

mod api;

pub use api::VersionChecksApi;
pub(in crate::routes) use api::{Named, named};
