//! The store front: apps, categories, downloads, what a customer owns.

mod api;
mod download;
mod model;
mod plans;

pub use api::{AppsApi, CategoriesApi, EntitlementsApi};
pub use model::entitlement_status;
