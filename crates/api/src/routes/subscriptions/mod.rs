//! Subscriptions: reading them and changing them.

mod api;
mod manage;
mod model;

pub use api::SubscriptionsApi;
pub use manage::ManageApi;
pub use model::{OverdueModel, SubscriptionReference, overdue_model};
