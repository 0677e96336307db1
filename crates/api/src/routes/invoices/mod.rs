//! Invoices of the signed-in customer, and of the whole store for its admins.

mod api;
mod formula;
mod model;
mod overdue;
mod payments;

pub use api::InvoicesApi;
pub use formula::formula;
pub use model::InvoiceModel;
pub use overdue::OverdueApi;
