//! What the use cases of bundles need from outside: a place for uploads in progress, and readers of formats.

use super::archive::{ArchiveError, ArchiveLimits};
use super::checks::Finding;
use super::picture::Picture;
use super::wanted::WantedFiles;
use crate::shared::{Json, StorageError, Timestamp};
use async_trait::async_trait;
use std::path::Path;

/// Where uploads wait until they are complete and checked.
#[async_trait]
pub trait Spool: Send + Sync {
    async fn create(&self) -> Result<Box<dyn SpoolWriter>, StorageError>;
    /// Removes what uploads of processes that died have left before this time. Returns the number of files.
    async fn remove_old(&self, before: Timestamp) -> Result<u64, StorageError>;
}

/// An upload in progress. Dropped, it is removed. No thread waits while no chunk is written.
#[async_trait]
pub trait SpoolWriter: Send {
    async fn write(&mut self, chunk: &[u8]) -> Result<(), StorageError>;
    async fn finish(self: Box<Self>) -> Result<Box<dyn Spooled>, StorageError>;
}

/// A complete upload. Dropped, it is removed.
pub trait Spooled: Send + Sync {
    fn path(&self) -> &Path;
    /// Lower-case hex.
    fn sha256(&self) -> &str;
    /// `sha512-` and the base64 digest.
    fn integrity(&self) -> &str;
    /// Bytes.
    fn size(&self) -> u64;
}

/// A file of a bundle that the store keeps on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractedFile {
    /// Below `package/`.
    pub path: String,
    pub content: Vec<u8>,
}

/// An archive that keeps the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectedBundle {
    pub entries: u64,
    /// The bytes of the tar stream.
    pub unpacked: u64,
    pub files: Vec<ExtractedFile>,
}

/// The content of a file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest {
    /// Below `package/`.
    pub path: String,
    /// Lower-case hex.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// What the checks read of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundleScan {
    /// Of the check of secrets, in the order of the files.
    pub secrets: Vec<Finding>,
    pub digests: Vec<FileDigest>,
}

/// Why an inspection has no result.
#[derive(Debug, thiserror::Error)]
pub enum InspectionError {
    #[error(transparent)]
    Refused(#[from] ArchiveError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Reads the formats of bundles.
#[async_trait]
pub trait BundleReader: Send + Sync {
    /// Reads JSON. The error is a sentence for the developer.
    fn parse_json(&self, bytes: &[u8]) -> Result<Json, String>;
    /// Reads YAML. The error is a sentence for the developer.
    fn parse_yaml(&self, bytes: &[u8]) -> Result<Json, String>;
    /// The SHA-256 in lower-case hex.
    fn sha256(&self, bytes: &[u8]) -> String;
    /// The format and size of a picture; `None`: a format that the store does not know.
    fn measure(&self, content: &[u8]) -> Option<Picture>;
    /// Checks every entry of an archive, and returns the wanted files. Few inspections run at a time; the others wait.
    async fn inspect(&self, bundle: &dyn Spooled, limits: &ArchiveLimits, wanted: &WantedFiles)
    -> Result<InspectedBundle, InspectionError>;
    /// Reads every file of an archive for its checks, with the limits of [`Self::inspect`].
    async fn scan(&self, bundle: &dyn Spooled, limits: &ArchiveLimits) -> Result<BundleScan, InspectionError>;
}
