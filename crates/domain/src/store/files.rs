//! Bundles and images, addressed by the SHA-256 of their content.

use crate::shared::StorageError;
use async_trait::async_trait;

/// Content-addressed files. A name is 64 lower-case hex digits and never taken from user input.
#[async_trait]
pub trait Files: Send + Sync {
    /// Stores the content durably and returns its name. Idempotent.
    async fn put(&self, content: &[u8]) -> Result<String, StorageError>;
    /// Opens the content; `None`: there is no such file.
    async fn open(&self, sha256: &str) -> Result<Option<OpenedFile>, StorageError>;
}

/// An open file and its size in bytes.
pub struct OpenedFile {
    pub file: std::fs::File,
    pub size: u64,
}
