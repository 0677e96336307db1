//! What several commands report.

use std::io;
use std::path::{Path, PathBuf};

/// A command that was carried out, and whose result is that something is not in order. It was printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

/// A file or a folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", .path.display())]
pub struct FileError {
    pub path: PathBuf,
    pub error: io::Error,
}

impl FileError {
    /// For `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self { path, error }
    }
}
