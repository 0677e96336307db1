//! Who is signed in, and how that ends.

mod api;

pub use api::SessionApi;
