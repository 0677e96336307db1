//! The compatibility layer of published tools (reference/store.md 1 and 5): they upload, read and install apps here.

mod body;
mod read;
mod store_info;
mod upload;

pub use store_info::store_json;

use poem::{Route, get, post};

/// Below `/api/blocklets`. A path's second segment is a version or the file name of a bundle.
#[must_use]
pub fn routes() -> Route {
    Route::new()
        .at("/upload", post(upload::upload))
        .at("/:did/blocklet.json", get(read::default_manifest))
        .at("/:did/instances", get(super::blocklet_instances::list))
        .at("/:did/:version", get(read::default_bundle))
        .at("/:did/:version/blocklet.json", get(read::manifest))
        .at("/:did/:version/:tarball", get(read::bundle))
}
