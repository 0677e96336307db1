//! DID Connect v1: `/api/did/{action}/{token,status,timeout,auth}` (reference/did-connect.md 2), and the same calls of developers' tools
//! (reference/store.md 5.2 and 9).

mod api;
mod claims;
mod confirmation;
mod step;
mod tools;
mod wallet_actions;

pub use api::routes;
