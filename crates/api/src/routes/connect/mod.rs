//! DID Connect v1: `/api/did/{action}/{token,status,timeout,auth}` (reference/did-connect.md 2).

mod api;
mod claims;
mod deeds;
mod step;

pub use api::routes;
