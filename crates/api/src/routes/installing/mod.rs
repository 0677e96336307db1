//! What command lines read to install apps: the store's signed statements about versions, and licenses.

mod api;

pub use api::InstallingApi;
