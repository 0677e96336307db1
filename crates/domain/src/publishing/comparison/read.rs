//! Reads two versions and compares them.

use super::facts::{ComparedFacts, compare_facts};
use super::pictures::{ComparedPicture, compare_pictures};
use super::texts::{ComparedText, ReadVersion, compare_texts};
use crate::access::{Caller, Did};
use crate::context::Context;
use crate::publishing::bundle::stored::read_document;
use crate::publishing::bundle::{BundleChanges, FileRole, OfferedVersions, UploadedVersion, VersionFile};
use crate::publishing::publication::PublishPorts;
use crate::publishing::review::{ReviewError, actor_of};
use crate::publishing::selling::{AppTerms, terms_of};
use crate::storage::UnitOfWork;
use semver::Version;

/// The most changed files that are named.
const FILES_MAX: u32 = 500;

/// The files of two bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparedFiles {
    /// The checks have not listed the files of one of them yet.
    NotListed,
    Changes(BundleChanges),
}

/// What differs between a version and the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionComparison {
    pub version: Version,
    /// See [`OfferedVersions::base`]; of a version that is offered itself, the highest one below it. `None`: there is none, and everything
    /// is new.
    pub base: Option<Version>,
    pub facts: ComparedFacts,
    pub texts: Vec<ComparedText>,
    /// Of each mode in which the app ever had a price.
    pub terms: Vec<AppTerms>,
    pub files: ComparedFiles,
    pub pictures: Vec<ComparedPicture>,
}

/// Compares a version with the published one, for its developer and for reviewers. The work is bounded, whatever the versions contain.
///
/// # Errors
/// The version does not exist, or not for the caller: [`ReviewError::NotFound`].
#[tracing::instrument(skip_all, fields(app = %app, version = %version))]
pub async fn compare_version(
    ctx: &Context,
    ports: &PublishPorts<'_>,
    caller: &Caller,
    app: &Did,
    version: &Version,
) -> Result<VersionComparison, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let after = find_involved(unit.as_mut(), caller, app, version).await?;
    let base = base_of(&unit.uploads().offered(app).await?, version);
    let before = match &base {
        Some(base) => unit.uploads().find_version(app, base).await?,
        None => None,
    };
    let files = match &before {
        Some(before) => unit.uploads().bundle_changes(Some(&before.id), &after.id, FILES_MAX).await?,
        None => unit.uploads().bundle_changes(None, &after.id, FILES_MAX).await?,
    };
    let terms = terms_of(unit.as_mut(), app).await?;
    drop(unit);
    let before = match before {
        Some(version) => Some(read(ports, version).await?),
        None => None,
    };
    let after = read(ports, after).await?;
    Ok(VersionComparison {
        version: after.version.version.clone(),
        base,
        facts: compare_facts(before.as_ref().map(|before| &before.manifest), &after.manifest),
        texts: compare_texts(ports.files, before.as_ref(), &after).await?,
        terms,
        files: files.map_or(ComparedFiles::NotListed, ComparedFiles::Changes),
        pictures: compare_pictures(before.as_ref().map(|before| &before.version), &after.version),
    })
}

/// Finds a picture of a version by its SHA-256, for its developer and for reviewers.
///
/// # Errors
/// There is no such picture, or not for the caller: [`ReviewError::NotFound`].
pub async fn find_picture(ctx: &Context, caller: &Caller, app: &Did, version: &Version, sha256: &str) -> Result<VersionFile, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let found = find_involved(unit.as_mut(), caller, app, version).await?;
    let is_picture = |file: &VersionFile| matches!(file.role, FileRole::Logo | FileRole::Screenshot) && file.sha256 == sha256;
    found.files.into_iter().find(is_picture).ok_or(ReviewError::NotFound)
}

async fn find_involved(unit: &mut dyn UnitOfWork, caller: &Caller, app: &Did, version: &Version) -> Result<UploadedVersion, ReviewError> {
    let reviewed = unit.reviews().find_app(app).await?.ok_or(ReviewError::NotFound)?;
    actor_of(caller, &reviewed).ok_or(ReviewError::NotFound)?;
    unit.uploads().find_version(app, version).await?.ok_or(ReviewError::NotFound)
}

/// The version to compare with.
fn base_of(offered: &OfferedVersions, version: &Version) -> Option<Version> {
    let below = || offered.versions.iter().filter(|other| *other < version).max();
    let base = if offered.versions.contains(version) { below() } else { offered.base() };
    base.cloned()
}

async fn read(ports: &PublishPorts<'_>, version: UploadedVersion) -> Result<ReadVersion, ReviewError> {
    let manifest = read_document(ports.reader, ports.dids, ports.files, &version).await?;
    Ok(ReadVersion { version, manifest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_with_the_one_that_users_have() {
        let version = |text: &str| Version::parse(text).expect("a version");
        let offered = |rolled_back_to: Option<&str>| OfferedVersions {
            versions: ["1.0.0", "1.1.0", "2.0.0"].map(version).to_vec(),
            rolled_back_to: rolled_back_to.map(version),
        };
        for (rolled_back_to, compared, expected) in [
            (None, "2.1.0", Some("2.0.0")),
            (Some("1.1.0"), "2.1.0", Some("1.1.0")),
            // Published versions, with the one below them.
            (None, "2.0.0", Some("1.1.0")),
            (None, "1.1.0", Some("1.0.0")),
            (None, "1.0.0", None),
        ] {
            assert_eq!(base_of(&offered(rolled_back_to), &version(compared)), expected.map(version), "{compared}");
        }
        let beta = OfferedVersions { versions: vec![version("1.0.0-beta")], rolled_back_to: None };
        assert_eq!(base_of(&beta, &version("1.0.0")), Some(version("1.0.0-beta")));
        let none = OfferedVersions { versions: Vec::new(), rolled_back_to: None };
        assert_eq!(base_of(&none, &version("1.0.0")), None);
    }
}
