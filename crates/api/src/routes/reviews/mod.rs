//! Reviews of versions, for their developers and for reviewers.

mod api;
mod comparison;
mod model;

pub use api::{ConsoleReviewsApi, DeveloperAppsApi, ReviewsApi};
