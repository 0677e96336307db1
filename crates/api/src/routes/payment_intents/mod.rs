//! Payments of the signed-in customer, and of the whole store for those who run it.

mod api;

pub use api::PaymentIntentsApi;
