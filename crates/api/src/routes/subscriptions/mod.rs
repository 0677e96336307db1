//! Subscriptions.

mod api;
mod manage;
mod model;
mod payment;
mod plan;

pub use api::SubscriptionsApi;
pub use manage::ManageApi;
pub use model::{OverdueModel, SubscriptionReference, overdue_model};
pub use payment::PaymentChangesApi;
pub use plan::PlansApi;
