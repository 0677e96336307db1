//! The refusals of changes to categories.

use super::{Problem, conflict, rejected};
use souk_domain::store::{CATEGORIES_MAX, CATEGORY_NAME_MAX, CategoryError};

impl From<CategoryError> for Problem {
    fn from(error: CategoryError) -> Self {
        match error {
            CategoryError::NameRequired(language) => rejected(&error, "CATEGORY_NAME_REQUIRED").param("language", language.tag()),
            CategoryError::NameTooLong(language) => {
                rejected(&error, "CATEGORY_NAME_TOO_LONG").param("max", CATEGORY_NAME_MAX).param("language", language.tag())
            }
            CategoryError::NameCharacters(language) => rejected(&error, "CATEGORY_NAME_CHARACTERS").param("language", language.tag()),
            CategoryError::NameTaken { language, ref name } => {
                conflict(&error, "CATEGORY_NAME_TAKEN").param("name", name).param("language", language.tag())
            }
            CategoryError::TooMany => conflict(&error, "TOO_MANY_CATEGORIES").param("max", CATEGORIES_MAX),
            CategoryError::NotFound => Self::not_found(),
            CategoryError::InUse(apps) => conflict(&error, "CATEGORY_IN_USE").param("count", apps),
            CategoryError::Exists => conflict(&error, "CATEGORIES_EXIST"),
            CategoryError::Storage(error) => error.into(),
        }
    }
}
