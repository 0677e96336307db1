//! Files by content: bundles and pictures under the hash of what is in them.

mod atomic;
mod port;

pub(crate) use atomic::write_whole;

use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::{self, File};

/// A folder of files named by the SHA-256 of their content. The same content is kept once; nothing is ever changed.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
}

/// What identifies a stored file. `size` is in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub sha256: [u8; 32],
    pub size: u64,
}

impl FileStore {
    /// Creates the folder where it is absent.
    pub async fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder).await?;
        Ok(Self { folder })
    }

    /// Keeps `bytes`; returns when they would survive a power cut.
    pub async fn put(&self, bytes: &[u8]) -> io::Result<Stored> {
        let stored = Stored { sha256: Sha256::digest(bytes).into(), size: bytes.len() as u64 };
        let (folder, name) = self.place(&stored.sha256);
        let kept = fs::metadata(folder.join(&name)).await.is_ok_and(|kept| kept.len() == stored.size);
        if !kept {
            write_whole(&folder, &name, bytes).await?;
            // The name of a sub-folder made just now is itself a change, of the folder above it.
            File::open(&self.folder).await?.sync_all().await?;
        }
        Ok(stored)
    }

    /// The file with this hash for reading; `None` where it is not kept here.
    pub async fn get(&self, sha256: &[u8; 32]) -> io::Result<Option<File>> {
        let (folder, name) = self.place(sha256);
        match File::open(folder.join(name)).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The place comes from a hash alone, never from text that somebody sent. 256 sub-folders keep listings short.
    fn place(&self, sha256: &[u8; 32]) -> (PathBuf, String) {
        let name = hex::encode(sha256);
        (Path::new(&self.folder).join(&name[..2]), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    async fn what_was_put_comes_back_by_its_hash() {
        let folder = tempfile::tempdir().expect("has a folder");
        let store = FileStore::open(folder.path().join("files")).await.expect("opens");
        let stored = store.put(b"abc").await.expect("is kept");
        assert_eq!(hex::encode(stored.sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(stored.size, 3);
        assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"abc".as_slice()));
        assert_eq!(content(&store, &[0; 32]).await, None);
    }

    #[tokio::test]
    async fn many_writers_of_the_same_content_leave_one_file_and_no_scraps() {
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
    async fn a_file_cut_short_by_a_crash_is_written_again() {
        let folder = tempfile::tempdir().expect("has a folder");
        let store = FileStore::open(folder.path()).await.expect("opens");
        let stored = store.put(b"whole").await.expect("is kept");
        let (sub, name) = store.place(&stored.sha256);
        std::fs::write(sub.join(name), b"wh").expect("is cut");
        store.put(b"whole").await.expect("is kept");
        assert_eq!(content(&store, &stored.sha256).await.as_deref(), Some(b"whole".as_slice()));
    }
}
