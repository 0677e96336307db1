//! Who may read an uploaded version.

use super::super::review::VersionStatus;
use super::super::version::parse_version;
use super::records::{UploadedApp, UploadedVersion};
use crate::access::{Caller, Did};
use crate::context::Context;
use crate::shared::StorageError;

/// Which version of an app is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionChoice<'a> {
    /// The one that a new install gets.
    Default,
    Named(&'a str),
    /// The one whose bundle has this file name.
    Tarball(&'a str),
}

/// A version and its app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableVersion {
    pub app: UploadedApp,
    pub version: UploadedVersion,
}

/// Finds a version that the caller may read. Everybody may read a published version, unless it is yanked or its app is blocked. All others are for the
/// developer of the app and for those who review it. To everybody else they do not exist.
///
/// # Errors
/// The storage fails.
pub async fn find_readable_version(
    ctx: &Context,
    app: &Did,
    choice: VersionChoice<'_>,
    caller: Option<&Caller>,
) -> Result<Option<ReadableVersion>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let Some(app) = unit.uploads().find_app(app).await? else { return Ok(None) };
    let version = match choice {
        VersionChoice::Tarball(tarball) => unit.uploads().find_by_tarball(&app.did, tarball).await?,
        VersionChoice::Named(text) => match parse_version(text) {
            Some(version) => unit.uploads().find_version(&app.did, &version).await?,
            None => None,
        },
        VersionChoice::Default => {
            let offered = unit.uploads().offered(&app.did).await?;
            match offered.current() {
                Some(version) => unit.uploads().find_version(&app.did, version).await?,
                None => None,
            }
        }
    };
    let is_public =
        |version: &UploadedVersion| version.status == VersionStatus::Published && !version.is_yanked && app.block_reason.is_none();
    let is_involved = caller.is_some_and(|caller| caller.is_reviewer() || caller.user.did == app.owner);
    Ok(version.filter(|version| is_involved || is_public(version)).map(|version| ReadableVersion { app, version }))
}
