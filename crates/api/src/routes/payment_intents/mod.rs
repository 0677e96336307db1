//! Payments of the signed-in customer, and of the whole store for its admins.

mod api;
mod on_hold;

pub use api::PaymentIntentsApi;
