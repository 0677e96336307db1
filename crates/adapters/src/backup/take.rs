//! Takes a backup of a running store.

use super::archive::ArchiveWriter;
use super::manifest::{FORMAT, Manifest, TableContent, is_hash};
use super::protection::Passphrase;
use super::{BackupError, Part, rows};
use crate::files::FileStore;
use crate::persistence::{Connection, Database, Table, dump, schema_version, tables};
use bytes::Bytes;
use futures_util::StreamExt;
use souk_domain::shared::Timestamp;
use souk_domain::store::OpenedFile;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// A chunk of rows ends after this many bytes.
const CHUNK: usize = 2 << 20;
/// Parts that wait for the writing thread.
const WAITING: usize = 2;

/// The files that uploaded versions name.
const NAMED: &str = "SELECT document AS hash FROM uploaded_versions UNION SELECT bundle FROM uploaded_versions
                     UNION SELECT sha256 FROM version_files";

/// What happens if a file that a version names is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFiles {
    /// There is no backup: the source may be wrong.
    Refuse,
    /// The backup is written without them: what the database says of money must not depend on a lost bundle.
    Omit,
}

/// A store to back up.
pub struct Source<'s> {
    pub database: &'s Database,
    /// The database of the sandbox; `None`: there is none.
    pub sandbox: Option<&'s Database>,
    /// The folder of bundles and pictures.
    pub files: PathBuf,
    /// The bucket of bundles and pictures, which takes the place of the folder.
    pub bucket: Option<&'s FileStore>,
    /// The key of the store, as hex digits.
    pub key: String,
    /// The store's DID.
    pub store: String,
    pub now: Timestamp,
    pub missing_files: MissingFiles,
}

/// What a backup contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    pub files: usize,
    /// The length of the archive, in bytes.
    pub bytes: u64,
    /// Files that versions name and that are missing.
    pub missing: usize,
}

enum Entry {
    Content {
        name: String,
        content: Vec<u8>,
    },
    File {
        hash: String,
        path: PathBuf,
    },
    /// A file of a bucket, whose content follows in parts.
    Stored {
        hash: String,
        bytes: u64,
        content: mpsc::Receiver<Bytes>,
    },
    End(Box<Manifest>),
}

/// Writes a backup to `destination`, which must not exist. It appears there complete or not at all. The database is read in one snapshot,
/// so that it is consistent although the store goes on.
///
/// # Errors
/// [`BackupError::MissingFiles`] if a file that an uploaded version names is not where the source says, unless such files are omitted.
pub async fn take(source: &Source<'_>, destination: &Path, passphrase: Option<Passphrase>) -> Result<Summary, BackupError> {
    let (to_writer, mut entries) = mpsc::channel(WAITING);
    let path = destination.to_owned();
    let writer = tokio::task::spawn_blocking(move || {
        let mut archive = ArchiveWriter::create(&path, passphrase.as_ref())?;
        while let Some(entry) = entries.blocking_recv() {
            match entry {
                Entry::Content { name, content } => archive.add(&name, &content)?,
                // A file that is gone since the folder was read belongs to no version: only such files are deleted.
                Entry::File { path, .. } if !path.exists() => {}
                Entry::File { hash, path } => archive.add_file(&hash, &path)?,
                Entry::Stored { hash, bytes, content } => archive.add_stored(&hash, bytes, Parts { content, part: Bytes::new() })?,
                Entry::End(manifest) => return archive.finish(*manifest).map(Some),
            }
        }
        Ok(None)
    });
    let sent = send(source, &to_writer).await;
    drop(to_writer);
    let written = writer.await.map_err(|error| BackupError::Encryption(error.to_string()))?;
    // If the writer has stopped, its error is the cause.
    let manifest = written?;
    let missing = sent?;
    let Some(manifest) = manifest else { return Err(BackupError::Encryption("the archive has no end".to_owned())) };
    let bytes = std::fs::metadata(destination).map_err(BackupError::file(destination))?.len();
    Ok(Summary { rows: manifest.rows(), files: manifest.files(), bytes, missing })
}

/// Reads the store. Stops early if the writer has stopped. Returns how many files are missing.
async fn send(source: &Source<'_>, to: &mpsc::Sender<Entry>) -> Result<usize, BackupError> {
    // The sandbox's snapshot begins after the store's: networks may know more than the store, but not less.
    let mut store = source.database.snapshot().await?;
    let store_tables = copied(Part::Store, tables(&mut store).await?);
    let schema = schema_version(source.database).await?.unwrap_or_default();
    let mut sandbox = match source.sandbox {
        Some(database) => {
            let mut connection = database.snapshot().await?;
            let tables = copied(Part::Sandbox, tables(&mut connection).await?);
            Some((connection, tables))
        }
        None => None,
    };
    let key = Entry::Content { name: "secret.key".to_owned(), content: source.key.clone().into_bytes() };
    if to.send(key).await.is_err() {
        return Ok(0);
    }
    let database = send_tables(Part::Store, &mut store, &store_tables, to).await?;
    let mut missing = named_files(&mut store, &store_tables).await?;
    store.rollback().await?;
    let sandbox = match &mut sandbox {
        Some((connection, tables)) => Some(send_tables(Part::Sandbox, connection, tables, to).await?),
        None => None,
    };
    // Files never change, and those that the snapshot names existed before it.
    match source.bucket {
        Some(bucket) => send_bucket(bucket, to, &mut missing).await?,
        None => {
            for (hash, path) in stored_files(&source.files)? {
                missing.remove(&hash);
                if to.send(Entry::File { hash, path }).await.is_err() {
                    return Ok(0);
                }
            }
        }
    }
    if let Some(example) = missing.first().filter(|_| source.missing_files == MissingFiles::Refuse && !to.is_closed()) {
        return Err(BackupError::MissingFiles { count: missing.len(), example: example.clone() });
    }
    let manifest = Manifest {
        format: FORMAT,
        schema,
        souk: env!("CARGO_PKG_VERSION").to_owned(),
        store: source.store.clone(),
        taken_at: source.now.to_iso(),
        database,
        sandbox,
        entries: BTreeMap::new(),
    };
    // A writer that has stopped reports why.
    drop(to.send(Entry::End(Box::new(manifest))).await);
    Ok(missing.len())
}

fn copied(part: Part, tables: Vec<Table>) -> Vec<Table> {
    tables.into_iter().filter(|table| part.is_copied(&table.name)).collect()
}

async fn send_tables(
    part: Part,
    connection: &mut Connection,
    tables: &[Table],
    to: &mpsc::Sender<Entry>,
) -> Result<BTreeMap<String, TableContent>, BackupError> {
    let mut contents = BTreeMap::new();
    for table in tables {
        let (mut chunk, mut number, mut count) = (Vec::new(), 0_u32, 0);
        let mut rows = dump::rows(connection, table);
        loop {
            let row = rows.next().await.transpose()?;
            let is_last = row.is_none();
            if let Some(row) = row {
                rows::write(row, &mut chunk);
                count += 1;
            }
            if chunk.len() >= CHUNK || is_last && !chunk.is_empty() {
                number += 1;
                let name = format!("{}/{}/{number:06}.jsonl", part.folder(), table.name);
                if to.send(Entry::Content { name, content: std::mem::take(&mut chunk) }).await.is_err() {
                    return Ok(contents);
                }
            }
            if is_last {
                break;
            }
        }
        drop(rows);
        contents.insert(table.name.clone(), TableContent { columns: table.column_names(), rows: count });
    }
    Ok(contents)
}

/// The files that the versions of a snapshot name. A schema before uploads has none.
async fn named_files(store: &mut Connection, tables: &[Table]) -> Result<BTreeSet<String>, BackupError> {
    if !tables.iter().any(|table| table.name == "version_files") {
        return Ok(BTreeSet::new());
    }
    Ok(store.query(NAMED).all().await?.iter().map(|row| row.get("hash")).collect::<Result<_, _>>()?)
}

/// Sends every file of a bucket, and removes it from `missing`. Stops early if the writer has stopped.
async fn send_bucket(bucket: &FileStore, to: &mpsc::Sender<Entry>, missing: &mut BTreeSet<String>) -> Result<(), BackupError> {
    let failed = |error: io::Error| BackupError::Bucket(error.to_string());
    let mut hashes = bucket.list();
    while let Some(hash) = hashes.next().await {
        let hash = hash.map_err(failed)?;
        // See the deletion of files in a folder.
        let Some(OpenedFile { mut content, size }) = bucket.get(&hash).await.map_err(failed)? else { continue };
        let (parts, received) = mpsc::channel(WAITING);
        missing.remove(&hex::encode(hash));
        if to.send(Entry::Stored { hash: hex::encode(hash), bytes: size, content: received }).await.is_err() {
            return Ok(());
        }
        while let Some(part) = content.next().await {
            if parts.send(part.map_err(failed)?).await.is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Reads the parts of a file on the writing thread.
struct Parts {
    content: mpsc::Receiver<Bytes>,
    part: Bytes,
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            let Some(part) = self.content.blocking_recv() else { return Ok(0) };
            self.part = part;
        }
        let part = self.part.split_to(self.part.len().min(buffer.len()));
        buffer[..part.len()].copy_from_slice(&part);
        Ok(part.len())
    }
}

/// The hashes and paths of the stored files, without those that are being written.
fn stored_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, BackupError> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    let read = |folder: &Path| std::fs::read_dir(folder).map_err(BackupError::file(folder));
    for sub_folder in read(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for entry in read(&sub_folder)?.flatten() {
            let hash = entry.file_name().to_string_lossy().into_owned();
            if is_hash(&hash) {
                files.push((hash, entry.path()));
            }
        }
    }
    Ok(files)
}
