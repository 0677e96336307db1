//! Backups of a whole store: one archive with the rows of every table, the files, the sandbox and the key.
//!
//! An archive is a gzipped tar, encrypted with a passphrase in the format of `age` unless it is plain. Rows are stored as JSON lines, with
//! each value as SQLite stores it, so that an archive of either database can be restored into the other. `manifest.json` is the last
//! entry: an archive without it is incomplete. Parts:
//!
//! | entry | content |
//! |---|---|
//! | `secret.key` | the key of the store, as in its data folder |
//! | `database/TABLE/N.jsonl` | rows of a table, in chunks of at most a few megabytes |
//! | `sandbox/TABLE/N.jsonl` | the same of the sandbox's networks, if the store has them |
//! | `files/SHA256` | a bundle or picture |
//! | `manifest.json` | format, versions, time, tables with their columns and rows, and the digest of each entry |
//!
//! The queue is not part of it, because the database holds all due work, nor are emails that were written to the data folder.

mod archive;
mod manifest;
mod protection;
mod restore;
mod rows;
mod take;

pub use manifest::{Manifest, TableContent};
pub use protection::Passphrase;
pub use restore::{Inspected, RestoreTarget, inspect};
pub use take::{MissingFiles, Source, Summary, take};

use souk_domain::shared::StorageError;
use std::io;
use std::path::Path;

/// Tables of the store that are not copied, and why.
pub const EXCLUDED: [(&str, &str); 1] = [("clock_doubts", "belongs to running processes, and each process judges its own clock")];

/// Why a backup or a restore fails. No message contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error("the bucket of files: {0}")]
    Bucket(String),
    #[error(
        "{count} files of uploaded versions are not where this command looks for them, such as {example}: name the data folder and the \
         bucket of the running store, or omit them with --omit-missing-files"
    )]
    MissingFiles { count: usize, example: String },
    #[error("{0} exists already: choose another name, or move it away")]
    Exists(String),
    #[error("{0} is not a backup of Souk")]
    NotABackup(String),
    #[error("{0} is encrypted: name the file of its passphrase with --passphrase-file, or set SOUK_BACKUP_PASSPHRASE")]
    NeedsPassphrase(String),
    #[error("the passphrase does not open {0}")]
    WrongPassphrase(String),
    #[error("{path} is damaged or incomplete: {reason}")]
    Damaged { path: String, reason: String },
    #[error("{path} was written by a newer version of Souk ({what} {found}, this version knows {known}): use the newer version")]
    Newer { path: String, what: &'static str, found: i64, known: i64 },
    #[error("the backup has rows of {0}, which this version of Souk does not have")]
    UnknownTable(String),
    #[error("the table {0} of the database is not empty: a backup is restored into an empty database only")]
    NotEmpty(String),
    #[error("the backup failed: {0}")]
    Encryption(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl BackupError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File { path, error }
    }

    fn damaged(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.display().to_string(), reason: reason.to_string() }
    }
}

/// The two databases of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Store,
    Sandbox,
}

impl Part {
    const ALL: [Self; 2] = [Self::Store, Self::Sandbox];

    /// The name of its folder in archives.
    const fn folder(self) -> &'static str {
        match self {
            Self::Store => "database",
            Self::Sandbox => "sandbox",
        }
    }

    fn is_copied(self, table: &str) -> bool {
        self == Self::Sandbox || EXCLUDED.iter().all(|(excluded, _)| *excluded != table)
    }
}
