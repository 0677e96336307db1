//! Invoices of the signed-in customer, and of the whole store for those who run it.

mod api;
mod debts;
mod formula;
mod model;

pub use api::InvoicesApi;
pub use debts::DebtsApi;
pub use formula::{formula, formula_text};
pub use model::InvoiceModel;
