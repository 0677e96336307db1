//! Payments of the signed-in customer, and of the whole store for its admins.

mod api;

pub use api::PaymentIntentsApi;
