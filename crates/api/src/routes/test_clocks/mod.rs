//! Test clocks: a test-mode customer's own time.

mod api;

pub use api::TestClocksApi;
