//! Publishes versions: the state machine agrees, and the catalogue shows what the version says of itself.

use super::bundle::stored::{read_document, read_file};
use super::bundle::{AppDids, BundleReader, FileRole, Manifest, UploadedVersion, default_version, readme_language};
use super::review::{Refusal, ReviewError, ReviewRole, ReviewedApp, ReviewedVersion, Step, lock_involved, take_in};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::{CategoryId, StorageError, Text, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::{App, AppVersion, Developer, Files, Screenshot};
use semver::Version;

/// What a publication needs besides the context.
pub struct PublishPorts<'p> {
    pub dids: &'p dyn AppDids,
    pub reader: &'p dyn BundleReader,
    pub files: &'p dyn Files,
}

/// What the files of a version say, as the catalogue shows it.
struct Listing {
    manifest: Manifest,
    readme: Text,
    changelog: Text,
    logo: String,
    screenshots: Vec<Screenshot>,
}

/// Publishes a version of the caller. If it becomes the one that new installs get, the catalogue shows its texts and pictures. `category`
/// is needed if no reviewer has chosen one.
///
/// # Errors
/// The caller does not see the version or is no developer any more, the category is missing or unknown, or the version may not be
/// published. Then nothing has changed.
#[tracing::instrument(skip_all, fields(app = %app, version = %version))]
pub async fn publish_version(
    ctx: &Context,
    ports: &PublishPorts<'_>,
    caller: &Caller,
    app: &Did,
    version: &Version,
    category: Option<&CategoryId>,
) -> Result<ReviewedVersion, ReviewError> {
    let stored = ctx.store.read().await?.uploads().find_version(app, version).await?.ok_or(ReviewError::NotFound)?;
    // Before the unit of work: the files of a version do not change.
    let listing = read_listing(ports, &stored).await?;
    let mut unit = ctx.store.begin().await?;
    let mut involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    if involved.actor.role == ReviewRole::AppOwner && !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    let published = take_in(ctx, unit.as_mut(), &involved, &Step::Publish).await?;
    if involved.app.category.is_none() {
        let category = category.ok_or(Refusal::CategoryRequired)?;
        if !unit.apps().categories().await?.iter().any(|counted| counted.category.id == *category) {
            return Err(ReviewError::UnknownCategory);
        }
        unit.reviews().decide(app, category, None).await?;
        involved.app.category = Some(category.clone());
    }
    show(unit.as_mut(), &involved.app, &stored, listing, ctx.now()).await?;
    unit.commit().await?;
    Ok(published)
}

/// Writes the version into the catalogue. A version that new installs do not get, such as a pre-release, leaves the texts of its app.
async fn show(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    stored: &UploadedVersion,
    listing: Listing,
    now: Timestamp,
) -> Result<(), ReviewError> {
    let published = unit.uploads().published(&app.did).await?;
    let is_default = default_version(&published) == Some(&stored.version);
    let shown = unit.apps().find(&app.did).await?;
    if shown.as_ref().is_some_and(|shown| shown.developer.did != app.owner) {
        return Err(ReviewError::NotOwner);
    }
    let Listing { manifest, readme, changelog, logo, screenshots } = listing;
    if is_default {
        let category_id = app.category.clone().ok_or(Refusal::CategoryRequired)?;
        let owner = unit.users().find(&app.owner).await?;
        let row = App {
            did: app.did.clone(),
            name: manifest.name,
            title: Text::new(&manifest.title, ""),
            description: Text::new(&manifest.description, ""),
            category_id,
            developer: Developer { did: app.owner.clone(), name: owner.map(|owner| owner.full_name).unwrap_or_default(), verified: false },
            logo,
            screenshots,
            license: manifest.license,
            website: manifest.homepage,
            test_link: None,
            live_link: None,
            downloads: 0,
            version: stored.version.to_string(),
            size: stored.size,
            created_at: now,
            updated_at: now,
        };
        unit.apps().show(&row).await?;
    } else if shown.is_none() {
        return Ok(());
    }
    let version = AppVersion {
        id: stored.id.clone(),
        app: app.did.clone(),
        version: stored.version.to_string(),
        readme,
        changelog,
        sha256: stored.bundle.clone(),
        size: stored.size,
        published_at: now,
    };
    Ok(unit.apps().insert_version(&version).await?)
}

async fn read_listing(ports: &PublishPorts<'_>, version: &UploadedVersion) -> Result<Listing, StorageError> {
    let manifest = read_document(ports.reader, ports.dids, ports.files, version).await?;
    let of_role = |role: FileRole| version.files.iter().filter(move |file| file.role == role);
    let (mut readme, mut changelog) = (Text::default(), Text::default());
    for file in of_role(FileRole::Readme) {
        let text = || async { Ok::<_, StorageError>(String::from_utf8_lossy(&read_file(ports.files, &file.sha256).await?).into_owned()) };
        match readme_language(&file.path).as_deref() {
            // The file that is named after the format comes first, before a README for other readers.
            Some("en") if readme.en.is_empty() => readme.en = text().await?,
            Some("zh") if readme.zh.is_empty() => readme.zh = text().await?,
            _ => {}
        }
    }
    if let Some(file) = of_role(FileRole::Changelog).next() {
        changelog.en = String::from_utf8_lossy(&read_file(ports.files, &file.sha256).await?).into_owned();
    }
    let mut screenshots = Vec::new();
    for (number, file) in (1_u32..).zip(of_role(FileRole::Screenshot)) {
        let picture = ports.reader.measure(&read_file(ports.files, &file.sha256).await?);
        let (width, height) = picture.map_or((0, 0), |picture| (picture.width, picture.height));
        let alt = Text::new(format!("{}: screenshot {number}", manifest.title), format!("{}：截图 {number}", manifest.title));
        screenshots.push(Screenshot { file: file.sha256.clone(), width, height, alt });
    }
    let logo = of_role(FileRole::Logo).next().map(|file| file.sha256.clone()).unwrap_or_default();
    Ok(Listing { manifest, readme, changelog, logo, screenshots })
}
