//! All apps of the store, for administrators.

mod api;
mod model;
mod names;

pub use api::ManagedAppsApi;
pub use model::LatestVersionModel;
pub use names::names_of;
