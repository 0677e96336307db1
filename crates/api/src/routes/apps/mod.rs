//! The store front: apps, categories, downloads and entitlements.

mod api;
mod download;
mod model;
mod plans;

pub use api::{AppsApi, CategoriesApi, EntitlementsApi};
pub use download::{BinaryResponse, private_picture};
pub(in crate::routes) use download::{Bundle, SentBundle, count_download, has_current, send, send_bundle};
pub use model::entitlement_status;
