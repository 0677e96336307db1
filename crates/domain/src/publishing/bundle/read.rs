//! Who may read an uploaded version.

use super::super::review::VersionStatus;
use super::super::version::parse_version;
use super::records::{UploadedApp, UploadedVersion};
use crate::access::{Caller, Device, Did};
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

/// Who reads versions, and does nothing else with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionReader {
    user: Did,
    is_reviewer: bool,
}

impl VersionReader {
    /// The user of a computer, whose key signs what it reads.
    ///
    /// # Errors
    /// The storage fails.
    pub async fn on_device(ctx: &Context, device: &Device) -> Result<Self, StorageError> {
        let passports = ctx.store.read().await?.users().passports(&device.user).await?;
        Ok(Self { user: device.user.clone(), is_reviewer: passports.iter().any(|passport| passport.role.is_reviewer()) })
    }

    /// Whether all versions of an app exist for them, whatever was decided about each.
    #[must_use]
    pub fn is_involved_in(&self, app: &UploadedApp) -> bool {
        self.is_reviewer || self.user == app.owner
    }
}

impl From<&Caller> for VersionReader {
    fn from(caller: &Caller) -> Self {
        Self { user: caller.user.did.clone(), is_reviewer: caller.is_reviewer() }
    }
}

/// A version and its app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableVersion {
    pub app: UploadedApp,
    pub version: UploadedVersion,
    /// Whether the reader is its developer or reviews it.
    pub is_involved: bool,
}

/// Finds a version that somebody may read; `None`: a visitor. Everybody may read a published version, unless it is yanked or its app is
/// blocked. All others are for the developer of the app and for those who review it. To everybody else they do not exist.
///
/// # Errors
/// The storage fails.
pub async fn find_readable_version(
    ctx: &Context,
    app: &Did,
    choice: VersionChoice<'_>,
    reader: Option<&VersionReader>,
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
    let is_involved = reader.is_some_and(|reader| reader.is_involved_in(&app));
    Ok(version.filter(|version| is_involved || is_public(version)).map(|version| ReadableVersion { app, version, is_involved }))
}
