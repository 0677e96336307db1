//! Becoming a developer by a deposit, the deposits for apps, and users whom the store has blocked.

mod api;
mod app_deposits;
mod blocked_users;
mod model;

pub use api::DeveloperProgramApi;
pub use app_deposits::AppDepositsApi;
pub use blocked_users::BlockedUsersApi;
