//! Unpacks a bundle into a new folder, by the rules under which a store accepts it. Blocking, as [`inspect`] is.

use super::inspect::{InspectError, Inspected, classify, inspect};
use souk_domain::publishing::bundle::archive::{ArchiveError, ArchiveLimits, Entry};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The bytes that are written at a time.
const CHUNK: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error("{}: {error}", .path.display())]
    Write { path: PathBuf, error: io::Error },
}

impl UnpackError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::Write { path, error }
    }
}

/// Writes the files of a bundle of `compressed` bytes into `folder`, which exists and is empty, without the folder `package` around them.
/// Nothing is written elsewhere: the paths of a bundle that is accepted stay below `package`, and it contains no links. Files get neither
/// owners nor times, and no permissions besides that their owner may run them.
///
/// # Errors
/// The first rule that the bundle breaks, or a failure to read or write. The caller removes the folder.
pub fn unpack(bundle: impl Read, compressed: u64, limits: &ArchiveLimits, folder: &Path) -> Result<Inspected, UnpackError> {
    let mut failure = None;
    let inspected = inspect(bundle, compressed, limits, &mut |entry, content| match write(entry, content, folder) {
        Ok(()) => Ok(()),
        Err(UnpackError::Inspect(error)) => Err(error),
        Err(error @ UnpackError::Write { .. }) => {
            failure = Some(error);
            Err(InspectError::Read(io::Error::other("a file cannot be written")))
        }
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(inspected?),
    }
}

fn write(entry: &Entry, content: &mut dyn Read, folder: &Path) -> Result<(), UnpackError> {
    let Some((_, inside)) = entry.path.as_str().split_once('/') else { return Ok(()) };
    let path = folder.join(inside);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(UnpackError::at(parent))?;
    }
    let mode = if entry.is_executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).map_err(|error| match error.kind() {
        // Two paths that are one for this file system, or one that stands in the archive twice.
        ErrorKind::AlreadyExists => UnpackError::Inspect(ArchiveError::Repeated { path: entry.path.to_string() }.into()),
        _ => UnpackError::at(&path)(error),
    })?;
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match content.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(classify)?,
        };
        if count == 0 {
            return Ok(());
        }
        file.write_all(buffer.get(..count).unwrap_or_default()).map_err(UnpackError::at(&path))?;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_archive::{Block, Tar};
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn unpacked(tar: Tar, folder: &Path) -> Result<Inspected, UnpackError> {
        let bundle = tar.end().gzip();
        unpack(bundle.as_slice(), bundle.len() as u64, &ArchiveLimits::default(), folder)
    }

    #[test]
    fn files_are_written_without_their_outer_folder_and_keep_that_they_can_be_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Block::posix("package/bin/run", b'0', 3).with(100, b"0000755\0");
        let tar = Tar::default().file("package/lib/a.js", b"let a;").entry(program, b"#!x").file("package/empty", b"");
        assert_eq!(unpacked(tar, folder.path()).expect("unpacks").entries, 3);
        let file = |path: &str| {
            let path = folder.path().join(path);
            (fs::read(&path).expect("reads"), fs::metadata(&path).expect("exists").permissions().mode() & 0o100)
        };
        assert_eq!(file("lib/a.js"), (b"let a;".to_vec(), 0));
        assert_eq!(file("bin/run"), (b"#!x".to_vec(), 0o100));
        assert_eq!(file("empty"), (Vec::new(), 0));
    }

    #[test]
    fn nothing_is_written_outside_of_the_folder() {
        for name in ["package/../../evil", "/etc/evil", "other/evil", "package\\..\\evil"] {
            let home = tempfile::tempdir().expect("a folder");
            let folder = home.path().join("a/b");
            fs::create_dir_all(&folder).expect("creates");
            let refused = unpacked(Tar::default().file(name, b"evil"), &folder).expect_err(name);
            assert!(matches!(refused, UnpackError::Inspect(InspectError::Refused(_))), "{name}: {refused}");
            assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{name}");
            assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 1, "{name}");
        }
    }

    #[test]
    fn a_path_that_stands_twice_is_refused_and_a_file_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = unpacked(Tar::default().file("package/a", b"1").file("package/a", b"2"), folder.path()).expect_err("refused");
        let repeated = ArchiveError::Repeated { path: "package/a".to_owned() };
        assert!(matches!(refused, UnpackError::Inspect(InspectError::Refused(error)) if error == repeated));
        assert_eq!(fs::read(folder.path().join("a")).expect("reads"), b"1");
        let blocked = tempfile::tempdir().expect("a folder");
        fs::write(blocked.path().join("lib"), b"").expect("writes");
        let refused = unpacked(Tar::default().file("package/lib/a", b"1"), blocked.path()).expect_err("refused");
        assert!(matches!(refused, UnpackError::Write { .. }), "{refused}");
    }
}
