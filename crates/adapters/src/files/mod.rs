//! Content-addressed storage of bundles and pictures, in a local folder or in an S3-compatible store.

mod atomic;
mod port;
mod remote;
mod spool;
#[cfg(test)]
mod tests;

pub(crate) use atomic::write_atomic;
pub use remote::{Bucket, BucketKeys};
pub use spool::{SpoolFolder, SpooledFile};

use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt, PutPayload};
use sha2::{Digest, Sha256};
use souk_domain::operation::{DiskSpace, UnlimitedDisk};
use souk_domain::shared::Timestamp;
use souk_domain::store::{FileContent, OpenedFile};
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::fs::{self, File};
use tokio::io::{AsyncSeekExt, AsyncWriteExt, BufReader};
use tokio_util::io::ReaderStream;

/// The bytes that are read and written at a time. S3 wants parts of at least 5 MiB.
const PART: usize = 8 << 20;
/// Parts of one file that are written at the same time. With [`PART`], this bounds the memory of a write.
const PARTS_AT_ONCE: usize = 2;
/// The bytes of a chunk that is sent to a client.
const CHUNK: usize = 256 << 10;

/// Files named by the SHA-256 of their content. Equal content is stored once, and files never change.
#[derive(Debug, Clone)]
pub struct FileStore {
    objects: Arc<dyn ObjectStore>,
    /// Of a bucket; empty for a folder.
    prefix: ObjectPath,
    /// `None`: the files are in a bucket.
    folder: Option<PathBuf>,
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
        let objects = LocalFileSystem::new_with_prefix(&folder).map_err(io::Error::other)?.with_fsync(true);
        Ok(Self { objects: Arc::new(objects), prefix: ObjectPath::default(), folder: Some(folder), disk: Arc::new(UnlimitedDisk) })
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
        let path = self.path_of(&stored.sha256);
        if !self.is_stored(&path, stored.size).await? {
            self.objects.put(&path, PutPayload::from(bytes.to_vec())).await.map_err(io_error)?;
        }
        Ok(stored)
    }

    /// Stores the content of a local file, part by part.
    pub async fn put_file(&self, sha256: &[u8; 32], file: &Path) -> io::Result<()> {
        let (path, file) = (self.path_of(sha256), File::open(file).await?);
        let size = file.metadata().await?.len();
        if self.is_stored(&path, size).await? {
            return Ok(());
        }
        let writer = BufWriter::with_capacity(Arc::clone(&self.objects), path, PART);
        let mut writer = writer.with_max_concurrency(PARTS_AT_ONCE);
        // Until the writer is shut down, no reader sees the file.
        let copied = tokio::io::copy_buf(&mut BufReader::with_capacity(CHUNK, file), &mut writer).await;
        match copied {
            Ok(count) if count == size => writer.shutdown().await,
            failed => {
                if let Err(error) = writer.abort().await {
                    tracing::warn!(%error, "the parts of a file that could not be stored were not removed");
                }
                failed.and(Err(io::Error::other("the file changed while it was stored")))
            }
        }
    }

    /// Opens the file with this hash for reading. Returns `None` if it is not stored here.
    pub async fn get(&self, sha256: &[u8; 32]) -> io::Result<Option<OpenedFile>> {
        self.get_from(sha256, 0).await
    }

    /// As [`Self::get`], from a byte on that is within the file.
    pub async fn get_from(&self, sha256: &[u8; 32], start: u64) -> io::Result<Option<OpenedFile>> {
        let options = GetOptions { range: (start > 0).then_some(GetRange::Offset(start)), ..GetOptions::default() };
        let found = match self.objects.get_opts(&self.path_of(sha256), options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(io_error(error)),
        };
        let size = found.meta.size;
        let content: FileContent = match found.payload {
            GetResultPayload::File(file, _) => {
                let mut file = File::from_std(file);
                if start > 0 {
                    file.seek(SeekFrom::Start(start)).await?;
                }
                ReaderStream::with_capacity(file, CHUNK).boxed()
            }
            GetResultPayload::Stream(stream) => stream.map_err(io_error).boxed(),
        };
        Ok(Some(OpenedFile { content, size }))
    }

    pub async fn delete(&self, sha256: &[u8; 32]) -> io::Result<()> {
        match self.objects.delete(&self.path_of(sha256)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(io_error(error)),
        }
    }

    /// The hashes of all stored files. Files that are being written are not among them.
    pub fn list(&self) -> BoxStream<'static, io::Result<[u8; 32]>> {
        let named = |meta: object_store::ObjectMeta| -> Option<[u8; 32]> {
            hex::decode(meta.location.filename().unwrap_or_default()).ok()?.try_into().ok()
        };
        let found = self.objects.list(Some(&self.prefix)).map_err(io_error);
        found.try_filter_map(move |meta| std::future::ready(Ok(named(meta)))).boxed()
    }

    /// Removes what writers that died have left in the folder and not changed since. A bucket has rules of its own for unfinished
    /// uploads. Returns the number of files.
    pub async fn remove_unfinished(&self, before: Timestamp) -> io::Result<u64> {
        let Some(folder) = self.folder.clone() else { return Ok(0) };
        let before = system_time(before);
        tokio::task::spawn_blocking(move || remove_unfinished(&folder, before)).await.map_err(io::Error::other)?
    }

    async fn is_stored(&self, path: &ObjectPath, size: u64) -> io::Result<bool> {
        match self.objects.head(path).await {
            Ok(meta) => Ok(meta.size == size),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(io_error(error)),
        }
    }

    /// Returns where a file is. The path is built from a hash only, never from text sent by a client. 256 sub-folders keep
    /// directories small.
    fn path_of(&self, sha256: &[u8; 32]) -> ObjectPath {
        let name = hex::encode(sha256);
        self.prefix.clone().join(&name[..2]).join(name.as_str())
    }
}

/// A time as file systems record it.
fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(at.micros()).unwrap_or_default())
}

/// Files whose names are no hashes, in the folders of hashes.
fn remove_unfinished(folder: &Path, before: SystemTime) -> io::Result<u64> {
    let mut removed = 0;
    for group in std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for entry in std::fs::read_dir(&group)?.flatten() {
            let is_finished = hex::decode(entry.file_name().to_string_lossy().as_bytes()).is_ok_and(|hash| hash.len() == 32);
            let is_old = || entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|changed| changed < before);
            if !is_finished && is_old() {
                std::fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// The error of the system behind an error of the storage, so that a full disk is recognized.
fn io_error(error: object_store::Error) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref::<io::Error>() {
            return io::Error::new(found.kind(), error);
        }
        cause = next.source();
    }
    io::Error::other(error)
}
