//! Usage records of metered items.

mod api;

pub use api::UsageRecordsApi;
