//! What this store is.

mod api;

pub use api::StoreApi;
