//! The public log of publications.

mod api;

pub use api::PublicationLogApi;
