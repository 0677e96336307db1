//! What metered items were used.

mod api;

pub use api::UsageRecordsApi;
