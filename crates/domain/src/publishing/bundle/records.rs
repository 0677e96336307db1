//! What the store records of uploaded apps and versions.

use super::super::review::{RiskProfile, VersionStatus};
use super::super::version::OfferedVersions;
use super::checks::{CheckResult, KnownName};
use super::manifest::Group;
use super::ports::FileDigest;
use super::wanted::FileRole;
use crate::access::Did;
use crate::shared::{StorageError, Timestamp, VersionId};
use async_trait::async_trait;
use semver::Version;

/// Where an upload came from (reference/store.md 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadSource {
    Website,
    Studio,
    Cli,
}

impl UploadSource {
    pub const ALL: [Self; 3] = [Self::Website, Self::Studio, Self::Cli];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Website => "WEBSITE",
            Self::Studio => "STUDIO",
            Self::Cli => "CLI",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name().eq_ignore_ascii_case(name))
    }
}

/// An app as its developer owns it. What customers see of it is its listing in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedApp {
    pub did: Did,
    pub name: String,
    /// The developer.
    pub owner: Did,
    /// The highest version that was uploaded.
    pub latest: Version,
    /// Why the app is blocked; `None`: it is not.
    pub block_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A file of a version that the store keeps beside the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFile {
    pub role: FileRole,
    /// Below `package/`.
    pub path: String,
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// An uploaded version. Only its status changes, and whether it is yanked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedVersion {
    pub id: VersionId,
    pub app: Did,
    pub version: Version,
    pub status: VersionStatus,
    pub is_yanked: bool,
    /// SHA-256 of the signed document, which is stored as it was sent.
    pub document: String,
    /// SHA-256 of the canonical manifest without signatures. A repeated upload has the same.
    pub content: String,
    /// SHA-256 of the bundle.
    pub bundle: String,
    /// The file name of the bundle.
    pub tarball: String,
    /// The SHA-512 of the bundle, as `sha512-` and base64.
    pub integrity: String,
    /// The bytes of the bundle.
    pub size: u64,
    pub entries: u64,
    /// The bytes of the tar stream.
    pub unpacked: u64,
    pub source: UploadSource,
    /// The DID of the key that signed the document.
    pub signer: Did,
    pub uploaded_at: Timestamp,
    /// Screenshots stand in the order of the manifest.
    pub files: Vec<VersionFile>,
}

impl UploadedVersion {
    /// The hashes of everything that the version keeps in storage, each once.
    #[must_use]
    pub fn stored(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| &file.sha256);
        let all: std::collections::BTreeSet<_> = files.chain([&self.document, &self.bundle]).cloned().collect();
        all.into_iter().collect()
    }
}

/// What is recorded with a new version for its review and for lists of apps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewVersion {
    pub risks: RiskProfile,
    /// `None`: it is a resource.
    pub group: Option<Group>,
    /// The reviewer who may not judge it: see [`super::super::review::Review::excluded_reviewer`].
    pub excluded_reviewer: Option<Did>,
}

/// The most files of a bundle that are compared: those that come first by their paths.
pub const BUNDLE_FILES_MAX: u32 = 20_000;

/// A file that two bundles do not have alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Below `package/`.
    pub path: String,
    /// Bytes; `None`: it is new.
    pub before: Option<u64>,
    /// Bytes; `None`: it was removed.
    pub after: Option<u64>,
}

/// How the files of two bundles differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleChanges {
    pub count: u64,
    /// The first ones by their paths.
    pub changes: Vec<ChangedFile>,
    /// One of the bundles has more files than are compared.
    pub is_cut: bool,
}

/// A file that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileClaim {
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

#[async_trait]
pub trait Uploads: Send {
    async fn find_app(&mut self, did: &Did) -> Result<Option<UploadedApp>, StorageError>;
    async fn find_app_by_name(&mut self, name: &str) -> Result<Option<UploadedApp>, StorageError>;
    /// Inserts the app. False: another app has the DID or the name.
    async fn insert_app(&mut self, app: &UploadedApp) -> Result<bool, StorageError>;
    /// Replaces the highest version. False: it is not `from`, or the app is blocked.
    async fn advance(&mut self, app: &Did, from: &Version, to: &Version, now: Timestamp) -> Result<bool, StorageError>;
    /// Inserts the version and its files. False: the app has this version, or a bundle of this name, already.
    async fn insert_version(&mut self, version: &UploadedVersion, new: &NewVersion) -> Result<bool, StorageError>;
    async fn find_version(&mut self, app: &Did, version: &Version) -> Result<Option<UploadedVersion>, StorageError>;
    /// The version whose bundle has this file name.
    async fn find_by_tarball(&mut self, app: &Did, tarball: &str) -> Result<Option<UploadedVersion>, StorageError>;
    /// What of a version its users should agree to.
    async fn risks(&mut self, app: &Did, version: &Version) -> Result<Option<RiskProfile>, StorageError>;
    async fn find_version_by_id(&mut self, id: &VersionId) -> Result<Option<UploadedVersion>, StorageError>;
    /// The versions of an app that are published, yanked ones included.
    async fn published(&mut self, app: &Did) -> Result<Vec<Version>, StorageError>;
    /// The published versions of an app that are not yanked, and which of them new installs get.
    async fn offered(&mut self, app: &Did) -> Result<OfferedVersions, StorageError>;
    /// Sets the version that new installs get instead of the highest; `None`: the highest.
    async fn roll_back(&mut self, app: &Did, to: Option<&Version>) -> Result<(), StorageError>;
    /// The results of a version's checks, in the order of [`super::checks::CheckName::ALL`].
    async fn checks(&mut self, version: &VersionId) -> Result<Vec<CheckResult>, StorageError>;
    /// Records that the checks of a version are ordered. False: they were after a time `since`, and have no result yet.
    async fn order_checks(&mut self, version: &VersionId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError>;
    /// Replaces the results of a version's checks, which are not ordered any more.
    async fn set_checks(&mut self, version: &VersionId, results: &[CheckResult]) -> Result<(), StorageError>;
    /// Lists files of a bundle. Those that are listed already stay: a bundle never changes.
    async fn list_files(&mut self, version: &VersionId, files: &[FileDigest]) -> Result<(), StorageError>;
    /// Records that all files of a bundle are listed, and their number.
    async fn set_files_total(&mut self, version: &VersionId, total: u64) -> Result<(), StorageError>;
    /// How the files of two bundles differ, at most `limit` by name; `from` is `None`: all files are new. `None`: the files of one of them
    /// are not listed yet.
    async fn bundle_changes(&mut self, from: Option<&VersionId>, to: &VersionId, limit: u32)
    -> Result<Option<BundleChanges>, StorageError>;
    /// The names and titles of the apps that belong to other developers, at most `limit`. Private apps are left out: a finding would tell
    /// their names.
    async fn names_of_others(&mut self, owner: &Did, limit: u32) -> Result<Vec<KnownName>, StorageError>;
    /// Records that files are about to be stored, or are still used by an upload. False: one of them is just being deleted, so the caller
    /// tries again later.
    async fn claim_files(&mut self, files: &[FileClaim], now: Timestamp) -> Result<bool, StorageError>;
    /// Whether all these files are still there. Until the unit of work ends, none of them becomes an orphan.
    async fn confirm_files(&mut self, sha256s: &[String], now: Timestamp) -> Result<bool, StorageError>;
    /// Marks files for deletion that were claimed before a time and that nothing refers to, and returns them with those that were marked
    /// before, at most `limit`.
    async fn take_orphans(&mut self, before: Timestamp, limit: u32) -> Result<Vec<String>, StorageError>;
    /// Removes the records of deleted files.
    async fn forget_files(&mut self, sha256s: &[String]) -> Result<(), StorageError>;
}
