//! DID Connect v1: `/api/did/{action}/{token,status,timeout,auth}` (reference/did-connect.md 2).

mod api;
mod claims;
mod confirmation;
mod step;
mod wallet_actions;

pub use api::routes;
