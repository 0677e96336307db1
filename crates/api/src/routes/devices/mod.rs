//! The computers on which a user is signed in with the command line.

mod api;

pub use api::DevicesApi;
