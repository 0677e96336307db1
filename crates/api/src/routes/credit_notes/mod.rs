//! Credit notes: what a store gives back of its invoices.

mod api;
mod model;

pub use api::CreditNotesApi;
pub use model::{CreditNoteModel, credit_note, credit_notes};
