//! Subscriptions: reading them and changing them.

mod api;
mod manage;
mod model;
mod plan;

pub use api::SubscriptionsApi;
pub use manage::ManageApi;
pub use model::{OverdueModel, SubscriptionReference, overdue_model};
pub use plan::PlansApi;
