//! Bundles and images, addressed by the SHA-256 of their content.

use crate::shared::StorageError;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use std::fmt;
use std::path::Path;

/// The content of a stored file, in chunks.
pub type FileContent = BoxStream<'static, std::io::Result<Bytes>>;

/// Content-addressed files. A name is 64 lower-case hex digits and never taken from user input.
#[async_trait]
pub trait Files: Send + Sync {
    /// Stores the content durably and returns its name. Idempotent.
    async fn put(&self, content: &[u8]) -> Result<String, StorageError>;
    /// Stores the content of a local file under its SHA-256, which the caller has computed. Idempotent, durable, and atomic: no reader
    /// sees a part of it. The memory that it takes does not grow with the file.
    async fn put_file(&self, sha256: &str, path: &Path) -> Result<(), StorageError>;
    /// Opens the content; `None`: there is no such file.
    async fn open(&self, sha256: &str) -> Result<Option<OpenedFile>, StorageError>;
    /// As [`Self::open`], from a byte on that is within the file. The size is that of the whole file.
    async fn open_from(&self, sha256: &str, start: u64) -> Result<Option<OpenedFile>, StorageError>;
    /// Deletes the file, if there is one.
    async fn delete(&self, sha256: &str) -> Result<(), StorageError>;
}

/// An open file and its size in bytes.
pub struct OpenedFile {
    pub content: FileContent,
    pub size: u64,
}

impl fmt::Debug for OpenedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedFile").field("size", &self.size).finish_non_exhaustive()
    }
}
