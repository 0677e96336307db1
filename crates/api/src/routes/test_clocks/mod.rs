//! Test clocks: simulated time for test-mode customers.

mod api;

pub use api::TestClocksApi;
