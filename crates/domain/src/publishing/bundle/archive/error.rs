//! Why an archive is refused.

use super::super::path::{PATH_MAX, PathError};

/// A field of a tar header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderField {
    Name,
    Mode,
    Uid,
    Gid,
    Size,
    Mtime,
    Checksum,
    Linkname,
    Magic,
    Uname,
    Gname,
    Device,
    Prefix,
    Padding,
}

impl std::fmt::Display for HeaderField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Mode => "mode",
            Self::Uid => "uid",
            Self::Gid => "gid",
            Self::Size => "size",
            Self::Mtime => "mtime",
            Self::Checksum => "checksum",
            Self::Linkname => "link name",
            Self::Magic => "magic and version",
            Self::Uname => "user name",
            Self::Gname => "group name",
            Self::Device => "device number",
            Self::Prefix => "prefix",
            Self::Padding => "padding",
        })
    }
}

/// Why a bundle is refused. Names come from the bundle, so they are quoted with escapes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// Contains what the reader reports.
    #[error("the bundle is not a gzip-compressed tar archive: {0}")]
    Malformed(String),
    #[error("the bundle has data after the end of its gzip member")]
    DataAfterGzip,
    #[error("the archive ends early")]
    Truncated,
    #[error("the archive has data after its end")]
    DataAfterEnd,
    #[error("the archive has no entries")]
    Empty,
    #[error("the bundle is larger than {max} bytes")]
    CompressedTooLarge { max: u64 },
    #[error("the archive has more than {max} entries")]
    TooManyEntries { max: u64 },
    #[error("the archive unpacks to more than {max} bytes")]
    UnpackedTooLarge { max: u64 },
    #[error("the archive unpacks to more than {max} times its size")]
    RatioTooHigh { max: u64 },
    #[error("the paths of the archive are longer than {max} bytes together")]
    PathsTooLong { max: usize },
    #[error("entry {entry}: the checksum of the header is wrong")]
    Checksum { entry: u64 },
    #[error("entry {entry}: the {field} of the header is not in the canonical form")]
    Header { entry: u64, field: HeaderField },
    #[error("entry {entry}: {kind} are not allowed")]
    Kind { entry: u64, kind: &'static str },
    #[error("entry {entry}: a pax record is malformed")]
    PaxMalformed { entry: u64 },
    #[error("entry {entry}: the pax key {key:?} is not allowed")]
    PaxKey { entry: u64, key: String },
    #[error("entry {entry}: the pax key {key:?} occurs twice")]
    PaxRepeated { entry: u64, key: String },
    #[error("entry {entry}: the size in the pax records differs from the size in the header")]
    PaxSize { entry: u64 },
    #[error("entry {entry}: the long name is malformed")]
    LongName { entry: u64 },
    #[error("entry {entry}: extended headers are longer than {max} bytes")]
    ExtensionTooLong { entry: u64, max: u64 },
    #[error("entry {entry}: an extended header does not precede an entry")]
    Extension { entry: u64 },
    #[error("entry {entry}: the path is not UTF-8")]
    NotUtf8 { entry: u64 },
    /// `path` is shortened to the longest path.
    #[error("entry {entry} ({path:?}): {error}")]
    Path { entry: u64, path: String, error: PathError },
    #[error("entry {entry} ({path:?}) is not below package/")]
    NotBelowPackage { entry: u64, path: String },
    #[error("{path:?} occurs twice, or differs from another path only in case or in Unicode normalization")]
    Repeated { path: String },
    #[error("{path:?} is a file and a folder")]
    FileAndFolder { path: String },
    #[error("the folder {path:?} has content")]
    FolderWithContent { path: String },
    #[error("{path:?} is missing in the bundle")]
    Missing { path: String },
    #[error("the archive has more than {max} texts and pictures of the listing")]
    TooManyListed { max: usize },
    #[error("{path:?} is larger than {max} bytes")]
    FileTooLarge { path: String, max: u64 },
}

impl ArchiveError {
    pub(super) fn path(entry: u64, path: &str, error: PathError) -> Self {
        Self::Path { entry, path: path.chars().take(PATH_MAX).collect(), error }
    }
}
