//! Implements the domain's [`Files`] port.

use super::FileStore;
use async_trait::async_trait;
use souk_domain::shared::StorageError;
use souk_domain::store::{Files, OpenedFile};

#[async_trait]
impl Files for FileStore {
    async fn put(&self, content: &[u8]) -> Result<String, StorageError> {
        let stored = Self::put(self, content).await.map_err(|error| StorageError::Driver(Box::new(error)))?;
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
