//! Whether the clock of the store is trusted.

mod api;

pub use api::ClockApi;
