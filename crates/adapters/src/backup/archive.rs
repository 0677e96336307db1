//! Writes and reads the entries of an archive. Blocking: callers run it on a thread of its own.

use super::manifest::{EntryDigest, EntryName, FORMAT, Manifest, is_hash};
use super::protection::{self, Passphrase, ProtectedWriter};
use super::{BackupError, rows};
use crate::persistence::known_schema;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

/// Only the owner may read what a backup contains.
const MODE: u32 = 0o600;
/// The most bytes of an entry that is read into memory as a whole. Chunks of rows end long before it, unless a single row is longer.
const IN_MEMORY_MAX: u64 = 256 << 20;

/// An archive that is being written beside its destination. Dropped before [`ArchiveWriter::finish`], it is removed.
pub(super) struct ArchiveWriter {
    tar: Option<Builder<GzEncoder<ProtectedWriter>>>,
    draft: PathBuf,
    destination: PathBuf,
    entries: BTreeMap<String, EntryDigest>,
}

impl ArchiveWriter {
    pub fn create(destination: &Path, passphrase: Option<&Passphrase>) -> Result<Self, BackupError> {
        if destination.exists() {
            return Err(BackupError::Exists(destination.display().to_string()));
        }
        let name = destination.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = destination.with_file_name(format!(".{name}.{}.draft", std::process::id()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(MODE).open(&draft).map_err(BackupError::file(&draft))?;
        let mut writer = Self { tar: None, draft, destination: destination.to_owned(), entries: BTreeMap::new() };
        writer.tar = Some(Builder::new(GzEncoder::new(ProtectedWriter::new(file, passphrase)?, Compression::fast())));
        Ok(writer)
    }

    fn append(&mut self, name: &str, bytes: u64, content: impl Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(MODE);
        header.set_size(bytes);
        let mut content = Hashing { inner: content, digest: Sha256::new() };
        let Some(tar) = &mut self.tar else { return Ok(()) };
        tar.append_data(&mut header, name, &mut content)?;
        self.entries.insert(name.to_owned(), EntryDigest { bytes, sha256: hex::encode(content.digest.finalize()) });
        Ok(())
    }

    pub fn add(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        self.append(name, content.len() as u64, content).map_err(BackupError::file(&self.draft.clone()))
    }

    /// Adds a stored file, whose name is the hash of its content.
    pub fn add_file(&mut self, hash: &str, path: &Path) -> Result<(), BackupError> {
        let file = File::open(path).map_err(BackupError::file(path))?;
        let bytes = file.metadata().map_err(BackupError::file(path))?.len();
        self.append_file(hash, bytes, file, path)
    }

    /// Adds a file of a bucket.
    pub fn add_stored(&mut self, hash: &str, bytes: u64, content: impl Read) -> Result<(), BackupError> {
        self.append_file(hash, bytes, content, Path::new(hash))
    }

    fn append_file(&mut self, hash: &str, bytes: u64, content: impl Read, path: &Path) -> Result<(), BackupError> {
        let name = format!("files/{hash}");
        self.append(&name, bytes, content.take(bytes)).map_err(BackupError::file(path))?;
        match self.entries.get(&name) {
            Some(entry) if entry.sha256 == hash => Ok(()),
            _ => Err(BackupError::damaged(path, "the content of the file is not the one that its name says")),
        }
    }

    /// Adds the manifest and gives the archive its name.
    pub fn finish(mut self, manifest: Manifest) -> Result<Manifest, BackupError> {
        let manifest = Manifest { entries: std::mem::take(&mut self.entries), ..manifest };
        let content = serde_json::to_vec_pretty(&manifest).map_err(|error| BackupError::Encryption(error.to_string()))?;
        self.add("manifest.json", &content)?;
        let draft = self.draft.clone();
        if let Some(tar) = self.tar.take() {
            let written = tar.into_inner().and_then(GzEncoder::finish).and_then(ProtectedWriter::finish);
            written.map_err(BackupError::file(&draft))?;
        }
        // Somebody may have created the file meanwhile, and a link fails then.
        match fs::hard_link(&draft, &self.destination) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Exists(self.destination.display().to_string()));
            }
            Err(_) => fs::rename(&draft, &self.destination).map_err(BackupError::file(&self.destination))?,
            Ok(()) => {}
        }
        let folder = self.destination.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(BackupError::file(folder))?;
        Ok(manifest)
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.draft)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, draft = %self.draft.display(), "the draft of a backup was not removed");
        }
    }
}

/// Hashes what is read.
struct Hashing<R> {
    inner: R,
    digest: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digest.update(&buffer[..count]);
        Ok(count)
    }
}

/// Receives the entries of an archive, in its order.
pub(super) trait EntrySink {
    /// A key, rows or a manifest.
    fn content(&mut self, name: &EntryName, content: Vec<u8>) -> Result<(), BackupError>;
    /// A stored file. Its content is not verified yet when it is read: see [`EntrySink::file_end`].
    fn file(&mut self, hash: &str, content: &mut dyn Read) -> Result<(), BackupError>;
    /// The content of the last file is the one that its name says.
    fn file_end(&mut self, hash: &str) -> Result<(), BackupError>;
}

/// Reads a whole archive. Returns the digests of its entries, except the manifest.
fn walk(path: &Path, passphrase: Option<&Passphrase>, sink: &mut dyn EntrySink) -> Result<BTreeMap<String, EntryDigest>, BackupError> {
    let damaged = |reason: String| BackupError::damaged(path, reason);
    let unreadable = |error: io::Error| damaged(error.to_string());
    let mut archive = Archive::new(GzDecoder::new(protection::open(path, passphrase)?));
    let (mut entries, mut is_complete) = (BTreeMap::new(), false);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let text = entry.path().ok().and_then(|name| name.to_str().map(ToOwned::to_owned)).unwrap_or_default();
        let name = EntryName::parse(&text).filter(|_| entry.header().entry_type() == EntryType::Regular);
        let name = name.ok_or_else(|| damaged(format!("it has an entry that no backup has: {text:?}")))?;
        if is_complete || entries.contains_key(&text) {
            return Err(damaged(format!("it has an entry twice, or after its end: {text:?}")));
        }
        let bytes = entry.size();
        let mut content = Hashing { inner: entry.by_ref(), digest: Sha256::new() };
        if let EntryName::File(hash) = &name {
            sink.file(hash, &mut content)?;
        } else {
            if bytes > IN_MEMORY_MAX {
                return Err(damaged(format!("{text} is too long")));
            }
            let mut all = Vec::new();
            content.read_to_end(&mut all).map_err(unreadable)?;
            if all.len() as u64 != bytes {
                return Err(damaged(format!("{text} is incomplete")));
            }
            sink.content(&name, all)?;
        }
        let sha256 = hex::encode(content.digest.finalize());
        if let EntryName::File(hash) = &name {
            if sha256 != *hash {
                return Err(damaged(format!("the content of {text} is not the one that its name says")));
            }
            sink.file_end(hash)?;
        }
        is_complete = name == EntryName::Manifest;
        if !is_complete {
            entries.insert(text, EntryDigest { bytes, sha256 });
        }
    }
    // Reads to the checksum at the end.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
    match is_complete {
        true => Ok(entries),
        false => Err(damaged("its end is missing".to_owned())),
    }
}

/// What [`verify`] needs of an archive.
#[derive(Default)]
struct Inspection {
    key: Option<String>,
    manifest: Option<Vec<u8>>,
    /// The number of rows of each table.
    rows: BTreeMap<(super::Part, String), u64>,
}

impl EntrySink for Inspection {
    fn content(&mut self, name: &EntryName, content: Vec<u8>) -> Result<(), BackupError> {
        match name {
            EntryName::Key => self.key = String::from_utf8(content).ok(),
            EntryName::Manifest => self.manifest = Some(content),
            EntryName::Rows { part, table } => {
                let rows = content.iter().filter(|byte| **byte == b'\n').count() as u64;
                *self.rows.entry((*part, table.clone())).or_default() += rows;
            }
            EntryName::File(_) => {}
        }
        Ok(())
    }

    fn file(&mut self, _: &str, content: &mut dyn Read) -> Result<(), BackupError> {
        io::copy(content, &mut io::sink())
            .map(drop)
            .map_err(|error| BackupError::Damaged { path: "a file".to_owned(), reason: error.to_string() })
    }

    fn file_end(&mut self, _: &str) -> Result<(), BackupError> {
        Ok(())
    }
}

/// A verified archive: its manifest, and the key of its store.
pub(super) struct Verified {
    pub manifest: Manifest,
    pub key: String,
}

/// Reads an archive from its beginning to its end, and compares all of it with the manifest.
pub(super) fn verify(path: &Path, passphrase: Option<&Passphrase>) -> Result<Verified, BackupError> {
    let damaged = |reason: String| BackupError::damaged(path, reason);
    let mut inspection = Inspection::default();
    let entries = walk(path, passphrase, &mut inspection)?;
    let manifest = inspection.manifest.unwrap_or_default();
    let version = serde_json::from_slice::<serde_json::Value>(&manifest).ok().and_then(|json| json["format"].as_i64());
    let newer = |what, found, known| BackupError::Newer { path: path.display().to_string(), what, found, known };
    match version {
        None => return Err(damaged("its manifest cannot be read".to_owned())),
        Some(format) if format > FORMAT => return Err(newer("format", format, FORMAT)),
        Some(_) => {}
    }
    let manifest: Manifest = serde_json::from_slice(&manifest).map_err(|error| damaged(format!("its manifest cannot be read: {error}")))?;
    if manifest.schema > known_schema() {
        return Err(newer("schema", manifest.schema, known_schema()));
    }
    if let Some(name) = entries.keys().chain(manifest.entries.keys()).find(|name| entries.get(*name) != manifest.entries.get(*name)) {
        return Err(damaged(format!("{name} is not what the manifest says")));
    }
    for part in super::Part::ALL {
        for (table, content) in manifest.tables(part).into_iter().flatten() {
            let rows = inspection.rows.remove(&(part, table.clone())).unwrap_or_default();
            if rows != content.rows {
                return Err(damaged(format!("{table} has {rows} rows instead of {}", content.rows)));
            }
        }
    }
    if let Some((_, table)) = inspection.rows.into_keys().next() {
        return Err(damaged(format!("its manifest does not name the table {table}")));
    }
    let key =
        inspection.key.map(|key| key.trim().to_owned()).filter(|key| is_hash(key)).ok_or_else(|| damaged("it has no key".to_owned()))?;
    Ok(Verified { manifest, key })
}

/// Reads a verified archive again. Fails if it is no longer the same.
pub(super) fn read(path: &Path, passphrase: Option<&Passphrase>, manifest: &Manifest, sink: &mut dyn EntrySink) -> Result<(), BackupError> {
    let entries = walk(path, passphrase, sink)?;
    if entries == manifest.entries { Ok(()) } else { Err(BackupError::damaged(path, "it has changed while it was read")) }
}

/// Splits a chunk into rows.
pub(super) fn rows_of(path: &Path, content: &[u8], columns: usize) -> Result<Vec<Vec<crate::persistence::dump::Cell>>, BackupError> {
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| rows::read(line, columns).map_err(|reason| BackupError::damaged(path, reason))).collect()
}

/// Writes a file completely or not at all, for its owner only.
pub(super) fn write_file(path: &Path, draft: &Path, content: &mut dyn Read) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(draft)?;
    io::copy(content, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    debug_assert_eq!(path.parent(), draft.parent());
    Ok(())
}
