//! The rules of bundles: manifests, archives, names and versions (reference/store.md 5).

pub mod archive;
pub mod checks;
mod limits;
mod manifest;
mod name;
mod path;
mod picture;
mod ports;
mod read;
mod records;
mod risks;
pub(super) mod stored;
mod sweep;
mod upload;
mod wanted;

pub use super::version::{OfferedVersions, VERSION_MAX, default_version, parse_version};
pub use limits::UploadLimits;
pub use manifest::*;
pub use name::{NAME_MAX, NameError, check_name};
pub use path::{BundlePath, PATH_MAX, PathError};
pub use picture::{Picture, PictureError, PictureFormat, PictureLimits, check_logo, check_screenshot};
pub use ports::{BundleReader, BundleScan, ExtractedFile, FileDigest, InspectedBundle, InspectionError, Spool, SpoolWriter, Spooled};
pub use read::{ReadableVersion, VersionChoice, VersionReader, find_readable_version};
pub use records::{
    BUNDLE_FILES_MAX, BundleChanges, ChangedFile, FileClaim, NewVersion, UploadSource, UploadedApp, UploadedVersion, Uploads, VersionFile,
};
pub use risks::risks_of;
pub use sweep::{ORPHAN_AGE, sweep_files};
pub use upload::{AdmittedUpload, UploadError, UploadPorts, admit_upload, check_space, complete_upload};
pub use wanted::{FileRole, Wanted, WantedFiles, readme_language};
