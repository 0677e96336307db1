//! Files that only the user of this computer can read: access tokens, and the keys of computers.

use crate::error::FileError;
use crate::project::read_bounded;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
const FILE_MAX: usize = 1 << 20;
/// The permissions of others.
const OF_OTHERS: u32 = 0o077;

#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("{} can be read by other users of this computer: run `chmod 600` on it", .0.display())]
    Readable(PathBuf),
    #[error("{} is larger than {FILE_MAX} bytes: remove it", .0.display())]
    TooLarge(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Reads a file; `None`: there is none.
///
/// # Errors
/// Others can read it, or it is too large.
pub fn read_private(path: &Path) -> Result<Option<Vec<u8>>, PrivateFileError> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(FileError::at(path))?,
    };
    if metadata.permissions().mode() & OF_OTHERS != 0 {
        return Err(PrivateFileError::Readable(path.to_owned()));
    }
    read_bounded(path, FILE_MAX)?.ok_or_else(|| PrivateFileError::TooLarge(path.to_owned())).map(Some)
}

/// Writes a file, and its folder if there is none. A reader sees the former content or this one.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!(".{name}.{}", std::process::id()));
    create(&part, content).and_then(|()| fs::rename(&part, path)).map_err(FileError::at(path))
}

/// Waits until no other process holds the lock of these files, and holds it until the file is dropped.
pub fn lock_private(path: &Path) -> Result<File, FileError> {
    create_private_folder(path.parent().unwrap_or(Path::new(".")))?;
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    open.and_then(|file| file.lock().map(|()| file)).map_err(FileError::at(path))
}

fn create_private_folder(folder: &Path) -> Result<(), FileError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(FileError::at(folder))
}

fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_is_for_this_user_only() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("souk/key.json");
        assert!(matches!(read_private(&path), Ok(None)));
        write_private(&path, b"1").expect("writes");
        write_private(&path, b"2").expect("writes again");
        assert_eq!(read_private(&path).expect("reads"), Some(b"2".to_vec()));
        let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
        assert_eq!(fs::read_dir(home.path().join("souk")).expect("a folder").count(), 1, "nothing else remains");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("sets the mode");
        assert!(read_private(&path).expect_err("refused").to_string().contains("chmod 600"));
    }
}
