//! The error of reading one object by its id.

use super::StorageError;

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// It does not exist, or is of the other mode.
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] StorageError),
}
