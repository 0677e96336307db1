//! The trusted publishers of the signed-in developer, and the exchange of CI tokens.

mod api;
mod exchange;
mod model;

pub use api::TrustedPublishersApi;
pub use exchange::TrustedPublishingApi;
