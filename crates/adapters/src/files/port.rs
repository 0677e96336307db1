//! Implements the domain's [`Files`] port.

use super::FileStore;
use async_trait::async_trait;
use souk_domain::shared::StorageError;
use souk_domain::store::{Files, OpenedFile};
use std::io::{self, ErrorKind};
use std::path::Path;

#[async_trait]
impl Files for FileStore {
    async fn put(&self, content: &[u8]) -> Result<String, StorageError> {
        self.check_space()?;
        let stored = Self::put(self, content).await.map_err(storage_error)?;
        Ok(hex::encode(stored.sha256))
    }

    async fn put_file(&self, sha256: &str, path: &Path) -> Result<(), StorageError> {
        self.check_space()?;
        let hash = hash_of(sha256).ok_or_else(|| StorageError::Driver("not the name of a file".into()))?;
        Self::put_file(self, &hash, path).await.map_err(storage_error)
    }

    async fn open(&self, sha256: &str) -> Result<Option<OpenedFile>, StorageError> {
        self.open_from(sha256, 0).await
    }

    async fn open_from(&self, sha256: &str, start: u64) -> Result<Option<OpenedFile>, StorageError> {
        let Some(hash) = hash_of(sha256) else { return Ok(None) };
        self.get_from(&hash, start).await.map_err(storage_error)
    }

    async fn delete(&self, sha256: &str) -> Result<(), StorageError> {
        let Some(hash) = hash_of(sha256) else { return Ok(()) };
        Self::delete(self, &hash).await.map_err(storage_error)
    }
}

impl FileStore {
    fn check_space(&self) -> Result<(), StorageError> {
        match self.disk.shortage() {
            None => Ok(()),
            Some(disk) => Err(StorageError::NoSpace(format!("{} bytes are free in {}", disk.free_bytes, disk.folder).into())),
        }
    }
}

fn hash_of(sha256: &str) -> Option<[u8; 32]> {
    hex::decode(sha256).ok().and_then(|bytes| bytes.try_into().ok())
}

pub(super) fn storage_error(error: io::Error) -> StorageError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::NoSpace(Box::new(error)),
        _ => StorageError::Driver(Box::new(error)),
    }
}
