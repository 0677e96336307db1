//! Public information about the store.

mod api;

pub use api::{AnalyticsModel, ErrorReportingModel, StoreApi, StoreModel};
