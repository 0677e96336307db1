//! The access tokens of the signed-in developer.

mod api;
mod model;

pub use api::AccessTokensApi;
pub use model::{AccessTokenModel, CreatedTokenModel, read_apps, read_scopes};
