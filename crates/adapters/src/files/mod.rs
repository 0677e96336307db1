//! Content-addressed storage of bundles and pictures.

mod atomic;
mod port;

pub(crate) use atomic::write_atomic;

use sha2::{Digest, Sha256};
use souk_domain::operation::{DiskSpace, UnlimitedDisk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::fs::{self, File};

/// A folder of files named by the SHA-256 of their content. Equal content is stored once, and files never change.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
    /// Refuses uploads while the disk is short.
    disk: Arc<dyn DiskSpace>,
}

/// The identity of a stored file. `size` is in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub sha256: [u8; 32],
    pub size: u64,
}

impl FileStore {
    /// Opens the folder and creates it if absent.
    pub async fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder).await?;
        Ok(Self { folder, disk: Arc::new(UnlimitedDisk) })
    }

    /// Refuses uploads while the disk has less free space than its reserve.
    #[must_use]
    pub fn with_reserve(mut self, disk: Arc<dyn DiskSpace>) -> Self {
        self.disk = disk;
        self
    }

    /// Stores `bytes`. Once this returns, they survive a power failure.
    pub async fn put(&self, bytes: &[u8]) -> io::Result<Stored> {
        let stored = Stored { sha256: Sha256::digest(bytes).into(), size: bytes.len() as u64 };
        let FilePath { folder, name } = self.path_of(&stored.sha256);
        let is_stored = fs::metadata(folder.join(&name)).await.is_ok_and(|file| file.len() == stored.size);
        if !is_stored {
            write_atomic(&folder, &name, bytes).await?;
            // If the write created the sub-folder, its entry in the parent folder must be synced too.
            File::open(&self.folder).await?.sync_all().await?;
        }
        Ok(stored)
    }

    /// Opens the file with this hash for reading. Returns `None` if it is not stored here.
    pub async fn get(&self, sha256: &[u8; 32]) -> io::Result<Option<File>> {
        let FilePath { folder, name } = self.path_of(sha256);
        match File::open(folder.join(name)).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns where a file is. The path is built from a hash only, never from text sent by a client. 256 sub-folders keep
    /// directories small.
    fn path_of(&self, sha256: &[u8; 32]) -> FilePath {
        let name = hex::encode(sha256);
        FilePath { folder: Path::new(&self.folder).join(&name[..2]), name }
    }
}

struct FilePath {
    folder: PathBuf,
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDisk;
    use souk_domain::shared::StorageError;
    use souk_domain::store::Files;
    use tokio::io::AsyncReadExt;

    async fn content(store: &FileStore, sha256: &[u8; 32]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        store.get(sha256).await.expect("is answered")?.read_to_end(&mut bytes).await.expect("is read");
        Some(bytes)
    }

    fn files_below(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).expect("is a folder").map(|entry| entry.expect("is an entry").path());
        entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
    }

    #[tokio::test]
    async fn stored_content_is_found_by_its_hash() {
        let folder = tempfile::tempdir().expect("has a folder");
        let store = FileStore::open(folder.path().join("files")).await.expect("opens");
        let stored = store.put(b"abc").await.expect("is kept");
        assert_eq!(hex::encode(stored.sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(stored.size, 3);
        assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"abc".as_slice()));
        assert_eq!(content(&store, &[0; 32]).await, None);
    }

    #[tokio::test]
    async fn concurrent_writers_of_equal_content_create_one_file_and_no_leftovers() {
        let folder = tempfile::tempdir().expect("has a folder");
        let store = FileStore::open(folder.path()).await.expect("opens");
        let bytes = vec![7; 300_000];
        let writers = (0..8).map(|_| store.put(&bytes));
        let stored: Vec<_> = futures_util::future::try_join_all(writers).await.expect("are kept");
        assert!(stored.iter().all(|one| one == &stored[0]));
        assert_eq!(files_below(folder.path()), 1);
        assert_eq!(content(&store, &stored[0].sha256).await, Some(bytes));
    }

    #[tokio::test]
    async fn a_truncated_file_is_written_again() {
        let folder = tempfile::tempdir().expect("has a folder");
        let store = FileStore::open(folder.path()).await.expect("opens");
        let stored = store.put(b"whole").await.expect("is kept");
        let FilePath { folder, name } = store.path_of(&stored.sha256);
        std::fs::write(folder.join(name), b"wh").expect("is cut");
        store.put(b"whole").await.expect("is kept");
        assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"whole".as_slice()));
    }

    #[tokio::test]
    async fn uploads_are_refused_below_the_reserve_and_stored_files_can_be_read() {
        let (folder, disk) = (tempfile::tempdir().expect("has a folder"), Arc::new(TestDisk::default()));
        let store = FileStore::open(folder.path()).await.expect("opens").with_reserve(disk.clone());
        let name = Files::put(&store, b"kept").await.expect("is kept");
        disk.set_short(true);
        let refused = Files::put(&store, b"new").await;
        assert!(matches!(refused, Err(StorageError::NoSpace(_))), "{refused:?}");
        assert_eq!(Files::open(&store, &name).await.expect("is answered").expect("exists").size, 4);
        disk.set_short(false);
        Files::put(&store, b"new").await.expect("is kept");
    }
}
