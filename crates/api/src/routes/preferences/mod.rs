//! The preferences of publishing, for administrators.

mod api;
mod model;

pub use api::PreferencesApi;
