//! Invoices. Subscriptions come to live here as well.

mod invoice;

pub use invoice::*;
