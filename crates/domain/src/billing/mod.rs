//! Invoices. Subscriptions come to live here as well.

mod invoice;
mod paper;

pub use invoice::*;
pub use paper::*;
