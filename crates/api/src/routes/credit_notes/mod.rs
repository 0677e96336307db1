//! Credit notes.

mod api;
mod model;

pub use api::CreditNotesApi;
pub use model::{CreditNoteModel, credit_note, credit_notes};
