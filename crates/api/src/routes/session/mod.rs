//! The browser session: the signed-in user, logout, and the claim of ownership.

mod api;

pub use api::SessionApi;
