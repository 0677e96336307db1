//! Uploaded versions, for their developers and for reviewers.

mod api;

pub use api::VersionChecksApi;
