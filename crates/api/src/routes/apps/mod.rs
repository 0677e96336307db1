//! The store front: apps, categories, downloads and entitlements.

mod api;
mod download;
mod model;
mod plans;

pub use api::{AppsApi, CategoriesApi, EntitlementsApi};
pub use model::entitlement_status;
