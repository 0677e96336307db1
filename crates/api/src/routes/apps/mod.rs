//! The store front: apps, categories, downloads, what a customer owns.

mod api;
mod download;
mod model;

pub use api::{AppsApi, CategoriesApi, EntitlementsApi};
