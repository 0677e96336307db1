//! Wire models that several resources share: methods, currencies, payment details.

mod model;

pub use model::*;
