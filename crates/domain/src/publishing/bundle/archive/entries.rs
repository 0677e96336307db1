//! The order of headers, and the rules about all paths together.

use super::super::path::BundlePath;
use super::header::{self, BLOCK, HeaderKind};
use super::pax::{self, Extension};
use super::{ArchiveError, ArchiveLimits, HeaderField};

/// Every path of a bundle is below this folder (reference/store.md 5.3).
const ROOT: &str = "package";
/// The name that GNU gives to the header of a long name.
const LONG_NAME_HEADER: &str = "././@LongLink";
/// The bytes of the records before one entry. A path has at most 255 bytes, and the other values are short.
const EXTENSION_MAX: u64 = 4_096;
/// The bytes of all paths together. They are kept until the end, so this bounds the memory of an inspection.
const PATHS_MAX: usize = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
}

/// A file or folder of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: BundlePath,
    pub kind: EntryKind,
    /// The bytes of a file.
    pub size: u64,
    /// Whether the owner of a file may run it.
    pub is_executable: bool,
}

/// What follows a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockRole {
    /// `size` bytes of an extended header, which [`ArchiveRules::extend`] reads.
    Extension {
        size: u64,
    },
    Entry(Entry),
}

struct Pending {
    kind: HeaderKind,
    /// `None` until the records are read.
    extension: Option<Extension>,
}

struct Seen {
    folded: String,
    path: BundlePath,
    kind: EntryKind,
}

/// Decides about the headers of an archive in their order.
pub struct ArchiveRules {
    limits: ArchiveLimits,
    headers: u64,
    entries: u64,
    pending: Option<Pending>,
    seen: Vec<Seen>,
    path_bytes: usize,
}

impl ArchiveRules {
    #[must_use]
    pub const fn new(limits: ArchiveLimits) -> Self {
        Self { limits, headers: 0, entries: 0, pending: None, seen: Vec::new(), path_bytes: 0 }
    }

    /// Takes the next header, which is not a block of zeros.
    ///
    /// # Errors
    /// The first rule that the header breaks.
    pub fn header(&mut self, block: &[u8; BLOCK]) -> Result<BlockRole, ArchiveError> {
        self.headers += 1;
        let entry = self.headers;
        let header = header::read(block, entry)?;
        let has_long_name = self.pending.as_ref().is_some_and(|pending| pending.extension.as_ref().is_some_and(|it| it.path.is_some()));
        if header.is_cut_off && !has_long_name {
            return Err(ArchiveError::NotUtf8 { entry });
        }
        // Some readers join the prefix to GNU's long name. The path of pax records replaces both for all.
        if header.has_prefix && self.pending.as_ref().is_some_and(|pending| pending.kind == HeaderKind::LongName) {
            return Err(ArchiveError::Header { entry, field: HeaderField::Prefix });
        }
        match header.kind {
            HeaderKind::Pax | HeaderKind::LongName => {
                if self.pending.is_some() {
                    return Err(ArchiveError::Extension { entry });
                }
                if header.size > EXTENSION_MAX {
                    return Err(ArchiveError::ExtensionTooLong { entry, max: EXTENSION_MAX });
                }
                // A reader that does not know extended headers unpacks them as files.
                if header.kind == HeaderKind::Pax || header.name != LONG_NAME_HEADER {
                    checked_path(&header.name, entry)?;
                }
                self.pending = Some(Pending { kind: header.kind, extension: None });
                Ok(BlockRole::Extension { size: header.size })
            }
            HeaderKind::File => {
                let entry = self.entry(&header.name, EntryKind::File, header.size)?;
                Ok(BlockRole::Entry(Entry { is_executable: header.is_executable, ..entry }))
            }
            HeaderKind::Folder => {
                let name = header.name.strip_suffix('/').unwrap_or(&header.name);
                if header.size != 0 {
                    return Err(ArchiveError::FolderWithContent { path: checked_path(name, entry)?.to_string() });
                }
                self.entry(name, EntryKind::Folder, 0).map(BlockRole::Entry)
            }
        }
    }

    /// Takes the content of the extended header that [`Self::header`] announced.
    ///
    /// # Errors
    /// The records are not of the accepted form.
    pub fn extend(&mut self, data: &[u8]) -> Result<(), ArchiveError> {
        let entry = self.headers;
        let Some(Pending { kind, extension: extension @ None }) = &mut self.pending else {
            return Err(ArchiveError::Extension { entry });
        };
        *extension = Some(match kind {
            HeaderKind::LongName => pax::read_long_name(data, entry)?,
            _ => pax::read_records(data, entry)?,
        });
        Ok(())
    }

    fn entry(&mut self, name: &str, kind: EntryKind, size: u64) -> Result<Entry, ArchiveError> {
        let entry = self.headers;
        self.entries += 1;
        if self.entries > self.limits.entries_max {
            return Err(ArchiveError::TooManyEntries { max: self.limits.entries_max });
        }
        let extension = match self.pending.take() {
            None => Extension::default(),
            Some(Pending { extension: Some(extension), .. }) => extension,
            Some(_) => return Err(ArchiveError::Extension { entry }),
        };
        if extension.size.is_some_and(|extended| extended != size) {
            return Err(ArchiveError::PaxSize { entry });
        }
        // A reader that does not know extended headers uses the name of the header, so it obeys the same rules. It may be cut off.
        let path = match &extension.path {
            None => checked_path(name, entry)?,
            Some(long) => {
                check_cut_off(name, entry)?;
                let long = if kind == EntryKind::Folder { long.strip_suffix('/').unwrap_or(long) } else { long };
                checked_path(long, entry)?
            }
        };
        let is_below = match kind {
            EntryKind::Folder if path.as_str() == ROOT => true,
            _ => path.as_str().strip_prefix(ROOT).is_some_and(|rest| rest.starts_with('/')),
        };
        if !is_below {
            return Err(ArchiveError::NotBelowPackage { entry, path: path.to_string() });
        }
        self.keep(path.clone(), kind)?;
        Ok(Entry { path, kind, size, is_executable: false })
    }

    fn keep(&mut self, path: BundlePath, kind: EntryKind) -> Result<(), ArchiveError> {
        let folded = path.folded();
        self.path_bytes += folded.len() + path.as_str().len();
        if self.path_bytes > PATHS_MAX {
            return Err(ArchiveError::PathsTooLong { max: PATHS_MAX });
        }
        self.seen.push(Seen { folded, path, kind });
        Ok(())
    }

    /// Ends the archive, and checks all paths against one another. Returns the number of entries.
    ///
    /// # Errors
    /// Two paths are the same for some file system, or one is a file and a folder.
    pub fn finish(mut self) -> Result<u64, ArchiveError> {
        if self.pending.is_some() {
            return Err(ArchiveError::Extension { entry: self.headers });
        }
        if self.entries == 0 {
            return Err(ArchiveError::Empty);
        }
        self.seen.sort_unstable_by(|one, other| one.folded.cmp(&other.folded));
        for pair in self.seen.windows(2) {
            let [one, other] = pair else { continue };
            if one.folded == other.folded {
                return Err(ArchiveError::Repeated { path: other.path.to_string() });
            }
            // What a folder contains follows it directly, because no character sorts before the separator.
            if one.kind == EntryKind::File && other.folded.strip_prefix(one.folded.as_str()).is_some_and(|rest| rest.starts_with('\0')) {
                return Err(ArchiveError::FileAndFolder { path: one.path.to_string() });
            }
        }
        check_spelling(&self.seen)?;
        Ok(self.entries)
    }
}

/// Folders that are spelled in two ways (`A/x`, `a/y`) are one folder on some file systems and two on others.
fn check_spelling(seen: &[Seen]) -> Result<(), ArchiveError> {
    for pair in seen.windows(2) {
        let [one, other] = pair else { continue };
        let folded = one.folded.split('\0').zip(other.folded.split('\0'));
        let spelled = one.path.as_str().split('/').zip(other.path.as_str().split('/'));
        for ((one_folded, other_folded), (one, spelling)) in folded.zip(spelled) {
            if one_folded != other_folded {
                break;
            }
            if one != spelling {
                return Err(ArchiveError::Repeated { path: other.path.to_string() });
            }
        }
    }
    Ok(())
}

fn checked_path(text: &str, entry: u64) -> Result<BundlePath, ArchiveError> {
    BundlePath::parse(text).map_err(|error| ArchiveError::path(entry, text, error))
}

/// Checks a name that may end in the middle of a segment.
fn check_cut_off(name: &str, entry: u64) -> Result<(), ArchiveError> {
    let name = name.strip_suffix('/').unwrap_or(name).trim_end_matches([' ', '.', '/']);
    checked_path(name, entry).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ArchiveLimits = ArchiveLimits { compressed_max: 1, entries_max: 3, unpacked_max: 1, ratio_max: 1 };

    type Case<'a> = (&'a [(&'a str, EntryKind)], Result<u64, ArchiveError>);

    fn outcome(entries: &[(&str, EntryKind)]) -> Result<u64, ArchiveError> {
        let mut rules = ArchiveRules::new(LIMITS);
        for (path, kind) in entries {
            rules.entry(path, *kind, 0)?;
        }
        rules.finish()
    }

    #[test]
    fn paths_that_collide_are_refused() {
        use EntryKind::{File, Folder};
        let repeated = |path: &str| Err(ArchiveError::Repeated { path: path.to_owned() });
        let cases: [Case<'_>; 9] = [
            (&[("package/a", File), ("package/b", File)], Ok(2)),
            (&[("package", Folder), ("package/a", Folder), ("package/a/b", File)], Ok(3)),
            (&[("package/a", File), ("package/a", File)], repeated("package/a")),
            (&[("package/a", File), ("package/A", Folder)], repeated("package/A")),
            (&[("package/B/x", File), ("package/b/y", File)], repeated("package/b/y")),
            (
                &[("package/a/b", File), ("package/a!", File), ("package/a", File)],
                Err(ArchiveError::FileAndFolder { path: "package/a".to_owned() }),
            ),
            (&[("other/a", File)], Err(ArchiveError::NotBelowPackage { entry: 0, path: "other/a".to_owned() })),
            (&[("package", File)], Err(ArchiveError::NotBelowPackage { entry: 0, path: "package".to_owned() })),
            (&[], Err(ArchiveError::Empty)),
        ];
        for (entries, expected) in cases {
            assert_eq!(outcome(entries).map_err(|error| (entries, error)), expected.map_err(|error| (entries, error)));
        }
    }

    #[test]
    fn entries_and_paths_are_counted() {
        let four = ["package/a", "package/b", "package/c", "package/d"].map(|path| (path, EntryKind::File));
        assert_eq!(outcome(&four), Err(ArchiveError::TooManyEntries { max: 3 }));
        let mut rules = ArchiveRules::new(ArchiveLimits::default());
        let refused = (0..100_000).find_map(|n| rules.entry(&format!("package/{n:0>240}"), EntryKind::File, 0).err());
        assert_eq!(refused, Some(ArchiveError::PathsTooLong { max: PATHS_MAX }));
    }
}
