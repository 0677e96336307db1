//! What this store is.

mod api;

pub use api::{AnalyticsModel, ErrorReportingModel, StoreApi, StoreModel};
