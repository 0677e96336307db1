//! Errors of repositories.

/// A failure of storage. Business outcomes (not found, changed meanwhile) are results of port methods instead.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A unique index rejected the row. Contains the constraint or column as the database reports it.
    #[error("a row with this key exists already: {0}")]
    Duplicate(String),
    /// Stored data that cannot be decoded.
    #[error("stored {table}.{column} is not valid: {value}")]
    Corrupt { table: &'static str, column: &'static str, value: String },
    /// This unit of work was rolled back because of a deadlock or a concurrent change. It had no effect and can be retried.
    #[error("storage was contended")]
    Conflict,
    /// The database did not confirm the commit: the unit of work may have taken effect. It must not be repeated without a look at its
    /// objects.
    #[error("storage did not confirm a commit: {0}")]
    CommitUnknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full, or its remaining space is reserved. The call had no effect.
    #[error("no disk space is left: {0}")]
    NoSpace(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be reached, was busy, or rejected the statement.
    #[error("storage failed: {0}")]
    Driver(#[source] Box<dyn std::error::Error + Send + Sync>),
}
