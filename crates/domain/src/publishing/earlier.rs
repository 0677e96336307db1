//! Versions that were published before their app entered the catalogue: its pre-releases. They enter it together with the first stable
//! version, so that customers can install them by their names.

use super::bundle::UploadedVersion;
use super::publication::{Listing, PublishPorts, catalogue_version, read_listing};
use super::review::ReviewError;
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;
use semver::Version;

/// The most versions that enter the catalogue together with their app, the highest ones.
const EARLIER_MAX: usize = 100;

/// Such a version, and what it says of itself.
pub(super) struct Earlier {
    version: UploadedVersion,
    published_at: Timestamp,
    listing: Listing,
}

/// Reads the versions that enter the catalogue if `stored` is published: none if the app is there already.
///
/// # Errors
/// The storage fails.
pub(super) async fn read_earlier(ctx: &Context, ports: &PublishPorts<'_>, stored: &UploadedVersion) -> Result<Vec<Earlier>, StorageError> {
    let mut unit = ctx.store.read().await?;
    if !stored.version.pre.is_empty() || unit.apps().find(&stored.app).await?.is_some() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for version in published_besides(unit.as_mut(), stored).await? {
        let uploaded = unit.uploads().find_version(&stored.app, &version).await?;
        let reviewed = unit.reviews().find(&stored.app, &version).await?;
        found.extend(uploaded.zip(reviewed.and_then(|reviewed| reviewed.published_at)));
    }
    drop(unit);
    let mut earlier = Vec::new();
    for (version, published_at) in found {
        let listing = read_listing(ports, &version).await?;
        earlier.push(Earlier { version, published_at, listing });
    }
    Ok(earlier)
}

/// Writes them into the catalogue, which the app has just entered with `stored`.
///
/// # Errors
/// [`ReviewError::Contended`]: another one was published since they were read. Then the caller changes nothing.
pub(super) async fn show_earlier(unit: &mut dyn UnitOfWork, stored: &UploadedVersion, earlier: Vec<Earlier>) -> Result<(), ReviewError> {
    let published = published_besides(unit, stored).await?;
    if published.iter().any(|version| earlier.iter().all(|one| one.version.version != *version)) {
        return Err(ReviewError::Contended);
    }
    for Earlier { version, published_at, listing } in earlier {
        // It can have been yanked since it was read.
        let is_yanked = unit.uploads().find_version_by_id(&version.id).await?.is_none_or(|now| now.is_yanked);
        let row = catalogue_version(&version, listing, published_at, is_yanked);
        unit.apps().insert_version(&row).await?;
    }
    Ok(())
}

async fn published_besides(unit: &mut dyn UnitOfWork, stored: &UploadedVersion) -> Result<Vec<Version>, StorageError> {
    let mut published = unit.uploads().published(&stored.app).await?;
    published.retain(|version| *version != stored.version);
    published.sort_unstable_by(|one, other| other.cmp(one));
    published.truncate(EARLIER_MAX);
    Ok(published)
}
