//! Blocked content, for administrators.

mod api;
mod model;

pub use api::BlockedDigestsApi;
