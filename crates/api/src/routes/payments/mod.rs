//! Wire models that several resources share: methods, currencies, payment details.

mod description;
mod model;

pub use description::{description_params, description_text, names_in_both, names_text};
pub use model::*;
