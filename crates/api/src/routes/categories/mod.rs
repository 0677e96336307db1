//! The categories of the catalogue, for administrators. Everybody else reads them with the catalogue.

mod api;
mod model;

pub use api::ConsoleCategoriesApi;
