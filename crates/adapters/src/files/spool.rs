//! Where uploads wait until they are complete and checked.

use super::port::storage_error;
use super::system_time;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256, Sha512};
use souk_domain::publishing::bundle::{Spool, SpoolWriter, Spooled};
use souk_domain::shared::{Random, StorageError, Timestamp};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// A folder of files that belong to uploads in progress of this process.
#[derive(Clone)]
pub struct SpoolFolder {
    folder: PathBuf,
    random: Arc<dyn Random>,
}

impl SpoolFolder {
    /// The first upload creates the folder. Several processes may share it.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, random: Arc<dyn Random>) -> Self {
        Self { folder: folder.into(), random }
    }

    async fn remove_old(&self, before: Timestamp) -> io::Result<u64> {
        let mut entries = match fs::read_dir(&self.folder).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let (before, mut removed) = (system_time(before), 0);
        while let Some(entry) = entries.next_entry().await? {
            // An upload in progress writes at least every 30 seconds.
            let changed = match entry.metadata().await.and_then(|metadata| metadata.modified()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                changed => changed?,
            };
            if changed >= before {
                continue;
            }
            match fs::remove_file(entry.path()).await {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => {
                    result?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

#[async_trait]
impl Spool for SpoolFolder {
    async fn create(&self) -> Result<Box<dyn SpoolWriter>, StorageError> {
        fs::create_dir_all(&self.folder).await.map_err(storage_error)?;
        let path = self.folder.join(hex::encode(self.random.bytes::<16>()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path).await.map_err(storage_error)?;
        Ok(Box::new(Writing { file, spooled: SpooledFile(path), sha256: Sha256::new(), sha512: Sha512::new(), size: 0 }))
    }

    async fn remove_old(&self, before: Timestamp) -> Result<u64, StorageError> {
        Self::remove_old(self, before).await.map_err(storage_error)
    }
}

/// A file that is removed when nothing needs it any longer.
#[derive(Debug)]
pub struct SpooledFile(PathBuf);

impl SpooledFile {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SpooledFile {
    fn drop(&mut self) {
        // Unlinking takes no time worth a thread, and a drop cannot wait for one.
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "an uploaded file was not removed");
        }
    }
}

struct Writing {
    file: File,
    spooled: SpooledFile,
    sha256: Sha256,
    sha512: Sha512,
    size: u64,
}

#[async_trait]
impl SpoolWriter for Writing {
    async fn write(&mut self, chunk: &[u8]) -> Result<(), StorageError> {
        self.sha256.update(chunk);
        self.sha512.update(chunk);
        self.size += chunk.len() as u64;
        self.file.write_all(chunk).await.map_err(storage_error)
    }

    async fn finish(self: Box<Self>) -> Result<Box<dyn Spooled>, StorageError> {
        let Self { mut file, spooled, sha256, sha512, size } = *self;
        // The storage copies the file and makes the copy durable.
        file.flush().await.map_err(storage_error)?;
        let integrity = format!("sha512-{}", STANDARD.encode(sha512.finalize()));
        Ok(Box::new(Finished { spooled, sha256: hex::encode(sha256.finalize()), integrity, size }))
    }
}

struct Finished {
    spooled: SpooledFile,
    sha256: String,
    integrity: String,
    size: u64,
}

impl Spooled for Finished {
    fn path(&self) -> &Path {
        self.spooled.path()
    }

    fn sha256(&self) -> &str {
        &self.sha256
    }

    fn integrity(&self) -> &str {
        &self.integrity
    }

    fn size(&self) -> u64 {
        self.size
    }
}
