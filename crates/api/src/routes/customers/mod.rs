//! The signed-in customer.

mod api;

pub use api::CustomersApi;
