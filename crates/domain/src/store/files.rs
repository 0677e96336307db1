//! Bundles and pictures, by the SHA-256 of their content.

use crate::shared::StorageError;
use async_trait::async_trait;

/// Content-addressed files. A name is 64 lower-case hex digits, never text from outside.
#[async_trait]
pub trait Files: Send + Sync {
    /// Stores the content durably and answers its name. The same content again changes nothing.
    async fn put(&self, content: &[u8]) -> Result<String, StorageError>;
    /// Opens the content; `None` when there is none.
    async fn open(&self, sha256: &str) -> Result<Option<OpenedFile>, StorageError>;
}

/// A file that can be read, and its size in bytes.
pub struct OpenedFile {
    pub file: std::fs::File,
    pub size: u64,
}
