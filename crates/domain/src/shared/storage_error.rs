//! How a repository fails.

/// A failure of storage. Business outcomes (not found, lost a race) are in the results of port methods instead.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// A unique index refused the row. Names the constraint or column as the database told it.
    #[error("a row with this key exists already: {0}")]
    Duplicate(String),
    /// Stored data that no code of ours writes.
    #[error("stored {table}.{column} is not valid: {value}")]
    Corrupt { table: &'static str, column: &'static str, value: String },
    /// This unit of work was given up, because it and others waited for each other, or because what it changes was changed meanwhile:
    /// nothing of it has happened, and it may be done again.
    #[error("storage was contended")]
    Conflict,
    /// The database could not be reached, was busy, or refused the statement.
    #[error("storage failed: {0}")]
    Driver(#[source] Box<dyn std::error::Error + Send + Sync>),
}
