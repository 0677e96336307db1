//! Writes a bundle: a gzip tar in portable form. The same files give the same bytes: no times, no users, and one order.

use super::files::SourceFile;
use crate::error::FileError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256, Sha512};
use souk_domain::publishing::bundle::Spooled;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

#[derive(Debug, thiserror::Error)]
pub enum ArchiveWriteError {
    #[error("{path} has changed while it was packed: pack again")]
    Changed { path: String },
    #[error(transparent)]
    File(#[from] FileError),
}

/// A bundle on the disk. As long as it is not kept, it is removed when it is dropped.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    sha256: String,
    integrity: String,
    size: u64,
    is_kept: bool,
}

impl Bundle {
    /// Gives the bundle its name, under which it stays.
    pub fn keep(&mut self, name: &Path) -> Result<(), FileError> {
        std::fs::rename(&self.path, name).map_err(FileError::at(name))?;
        self.path = name.to_owned();
        self.is_kept = true;
        Ok(())
    }
}

impl Spooled for Bundle {
    fn path(&self) -> &Path {
        &self.path
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

impl Drop for Bundle {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.path);
        }
    }
}

/// Removes a file that is not needed. What cannot be removed is in a folder of temporary files.
fn remove(path: &Path) {
    #[expect(clippy::let_underscore_must_use, reason = "the reason why the command fails is reported, and not this one")]
    let _ = std::fs::remove_file(path);
}

/// Packs files into a new archive at `path`.
///
/// # Errors
/// A file cannot be read or has changed, or the archive cannot be written. Then there is no archive.
pub fn write(files: &[SourceFile], path: &Path) -> Result<Bundle, ArchiveWriteError> {
    let written = write_to(files, path);
    if written.is_err() {
        remove(path);
    }
    written
}

fn write_to(files: &[SourceFile], path: &Path) -> Result<Bundle, ArchiveWriteError> {
    // What an interrupted command has left; a link is not followed.
    remove(path);
    let file = File::create_new(path).map_err(FileError::at(path))?;
    let hashed = Hashed { inner: BufWriter::new(file), sha256: Sha256::new(), sha512: Sha512::new(), size: 0 };
    let mut tar = Builder::new(GzBuilder::new().mtime(0).write(hashed, Compression::default()));
    for file in files {
        append(&mut tar, file, path)?;
    }
    let mut hashed = tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(FileError::at(path))?;
    hashed.flush().map_err(FileError::at(path))?;
    Ok(Bundle {
        path: path.to_owned(),
        sha256: hex::encode(hashed.sha256.finalize()),
        integrity: format!("sha512-{}", STANDARD.encode(hashed.sha512.finalize())),
        size: hashed.size,
        is_kept: false,
    })
}

fn append(tar: &mut Builder<impl Write>, file: &SourceFile, archive: &Path) -> Result<(), ArchiveWriteError> {
    // A link that has taken the place of the file since it was found is not followed.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let source = OpenOptions::new().read(true).custom_flags(flags).open(&file.source).map_err(FileError::at(&file.source))?;
    // One of the form of POSIX keeps a part of a path that does not fit, beside the long name that follows.
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(if file.is_executable { 0o755 } else { 0o644 });
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(file.size);
    let mut content = Counted { inner: BufReader::new(source).take(file.size.saturating_add(1)), count: 0 };
    tar.append_data(&mut header, file.path.as_str(), &mut content).map_err(FileError::at(archive))?;
    if content.count != file.size {
        return Err(ArchiveWriteError::Changed { path: file.name().to_owned() });
    }
    Ok(())
}

struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// Hashes and counts what is written.
struct Hashed<W> {
    inner: W,
    sha256: Sha256,
    sha512: Sha512,
    size: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        let written = buffer.get(..count).unwrap_or_default();
        self.sha256.update(written);
        self.sha512.update(written);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
