//! Implements the domain's [`Files`] port.

use super::FileStore;
use async_trait::async_trait;
use souk_domain::shared::StorageError;
use souk_domain::store::{Files, OpenedFile};
use std::io::ErrorKind;

#[async_trait]
impl Files for FileStore {
    async fn put(&self, content: &[u8]) -> Result<String, StorageError> {
        if let Some(disk) = self.disk.shortage() {
            return Err(StorageError::NoSpace(format!("{} bytes are free in {}", disk.free_bytes, disk.folder).into()));
        }
        let stored = Self::put(self, content).await.map_err(|error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::NoSpace(Box::new(error)),
            _ => StorageError::Driver(Box::new(error)),
        })?;
        Ok(hex::encode(stored.sha256))
    }

    async fn open(&self, sha256: &str) -> Result<Option<OpenedFile>, StorageError> {
        let driver = |error: std::io::Error| StorageError::Driver(Box::new(error));
        let Some(name) = hex::decode(sha256).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) else { return Ok(None) };
        let Some(file) = self.get(&name).await.map_err(driver)? else { return Ok(None) };
        let size = file.metadata().await.map_err(driver)?.len();
        Ok(Some(OpenedFile { file: file.into_std().await, size }))
    }
}
