//! Publishes versions: the state machine agrees, and the catalogue shows what the version says of itself.

use super::bundle::checks::{CheckName, CheckResult, CheckState};
use super::bundle::stored::{read_document, read_file};
use super::bundle::{AppDids, BundleReader, Component, ComponentSource, FileRole, Manifest, UploadedVersion, readme_language};
use super::digests::reason_against;
use super::earlier::{Earlier, read_earlier, show_earlier};
use super::review::{
    Involved, Refusal, ReviewActor, ReviewError, ReviewRole, ReviewedApp, ReviewedVersion, Step, Unpublished, VersionStatus, facts_of,
    is_due_by_store, is_open, lock_involved, publishes_updates, report_unpublished, review_need, take_in,
};
use super::selling::{follow_app, release_prices};
use super::staking::lacks_app_deposit;
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::{CategoryId, StorageError, Text, Timestamp, VersionId};
use crate::storage::UnitOfWork;
use crate::store::{App, AppVersion, Availability, Developer, Files, Screenshot, VersionComponent, VersionFacts};
use semver::Version;
use std::time::Duration;

/// The longest period of automatic publishing, in days. The developer can extend or end it.
pub const AUTO_PUBLISH_DAYS_MAX: u32 = 365;

/// How long the store waits for the checks of a version that it publishes, and for one that has errored to be run again.
const CHECKS_DELAY: Duration = Duration::from_secs(2);
/// The longest time between two looks at checks that still have no result, a while after the upload.
const CHECKS_DELAY_MAX: Duration = Duration::from_secs(600);
const ERRORED_DELAY: Duration = Duration::from_secs(600);

/// Why automatic publication is not set.
#[derive(Debug, thiserror::Error)]
pub enum AutoPublishError {
    /// There is no such app of the caller.
    #[error("app not found")]
    NotFound,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    #[error("Automatic publishing lasts 1 to {AUTO_PUBLISH_DAYS_MAX} days")]
    Days,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What a publication needs besides the context.
pub struct PublishPorts<'p> {
    pub dids: &'p dyn AppDids,
    pub reader: &'p dyn BundleReader,
    pub files: &'p dyn Files,
}

/// What the files of a version say, as the catalogue shows it.
pub(super) struct Listing {
    manifest: Manifest,
    readme: Text,
    changelog: Text,
    logo: String,
    screenshots: Vec<Screenshot>,
}

/// What enters the catalogue with a version.
struct Content {
    listing: Listing,
    /// The other versions, if the app enters it.
    earlier: Vec<Earlier>,
}

async fn read_content(ctx: &Context, ports: &PublishPorts<'_>, stored: &UploadedVersion) -> Result<Content, StorageError> {
    Ok(Content { listing: read_listing(ports, stored).await?, earlier: read_earlier(ctx, ports, stored).await? })
}

/// Publishes a version of the caller. If it becomes the one that new installs get, the catalogue shows its texts and pictures. The terms that
/// its developer has proposed come into force with a stable version. `category` is needed if no reviewer has chosen one.
///
/// # Errors
/// The caller does not see the version or is no developer any more, the category is missing or unknown, the version contains blocked
/// content or was not checked for it, or it may not be published. Then nothing has changed.
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
    let content = read_content(ctx, ports, &stored).await?;
    let mut unit = ctx.store.begin().await?;
    let mut involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    if involved.actor.role == ReviewRole::AppOwner && !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    // The steps that are not legal are refused first, for their own reason.
    let published = take_in(ctx, unit.as_mut(), &involved, &Step::Publish).await?;
    refuse_unchecked(unit.as_mut(), &stored).await?;
    refuse_blocked(unit.as_mut(), &stored).await?;
    if lacks_app_deposit(unit.as_mut(), app).await? {
        return Err(ReviewError::DepositRequired);
    }
    if involved.app.category.is_none() {
        let category = category.ok_or(Refusal::CategoryRequired)?;
        if !unit.apps().hold_category(category).await? {
            return Err(ReviewError::UnknownCategory);
        }
        unit.reviews().decide(app, category, None).await?;
        involved.app.category = Some(category.clone());
    }
    show(unit.as_mut(), &involved.app, &stored, content, ctx.now()).await?;
    release_prices(ctx, unit.as_mut(), &involved.app, version).await?;
    unit.commit().await?;
    Ok(published)
}

/// What a job that publishes a version by the store does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorePublication {
    /// It was published, or there is nothing to do until another step of its review.
    Done,
    /// It is tried again at a time.
    Later(Timestamp),
}

/// Publishes a version that is scheduled for now or earlier, or whose app has automatic publishing. A version in review is published when it
/// is approved. If it cannot be published for another reason, or one of its checks has failed, its schedule is canceled or, without one, the
/// reason is recorded, and its developer gets an email.
///
/// # Errors
/// The storage fails. Then nothing has changed.
#[tracing::instrument(skip_all, fields(version = %id))]
pub async fn publish_by_store(ctx: &Context, ports: &PublishPorts<'_>, id: &VersionId) -> Result<StorePublication, StorageError> {
    let Some(stored) = ctx.store.read().await?.uploads().find_version_by_id(id).await? else { return Ok(StorePublication::Done) };
    match due_publication(ctx, &stored).await? {
        Due::Not => return Ok(StorePublication::Done),
        Due::Later(at) => return Ok(StorePublication::Later(at)),
        Due::Now => {}
        Due::Refused => return give_up(ctx, &stored, Unpublished::ChecksFailed).await.map(|()| StorePublication::Done),
    }
    let content = read_content(ctx, ports, &stored).await?;
    let mut unit = ctx.store.begin().await?;
    let Some(involved) = lock_for_store(unit.as_mut(), &stored).await? else { return Ok(StorePublication::Done) };
    let is_scheduled = involved.version.review.publish_at.is_some();
    // A new price has ended automatic publishing meanwhile, or its developer has.
    if !is_scheduled && !involved.app.has_auto_publish(ctx.now()) {
        return Ok(StorePublication::Done);
    }
    let refused = match publish_locked(ctx, unit.as_mut(), &involved, &stored, content).await {
        Ok(()) => {
            unit.commit().await?;
            return Ok(StorePublication::Done);
        }
        Err(ReviewError::Storage(error)) => return Err(error),
        Err(ReviewError::Refused(Refusal::NeedsReview(_) | Refusal::AlreadyInReview)) if is_waiting(&involved.version) => {
            return Ok(StorePublication::Done);
        }
        Err(error) => error,
    };
    tracing::warn!(error = %refused, "a version is not published by the store");
    drop(unit);
    match Unpublished::of(&refused) {
        Some(why) => give_up(ctx, &stored, why).await?,
        None if is_scheduled => give_up(ctx, &stored, Unpublished::Other).await?,
        None => {}
    }
    Ok(StorePublication::Done)
}

/// What becomes of an uploaded version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadOutcome {
    Published,
    /// The store publishes it once its checks have passed.
    BeingPublished,
    /// It waits for its developer, a reviewer or a time.
    Waiting,
}

/// Finds out whether an uploaded version is published, or will be published automatically.
///
/// # Errors
/// The storage fails.
pub async fn upload_outcome(ctx: &Context, app: &Did, version: &Version) -> Result<UploadOutcome, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    let Some(stored) = unit.uploads().find_version(app, version).await? else { return Ok(UploadOutcome::Waiting) };
    let Some(reviewed) = unit.reviews().find(app, version).await? else { return Ok(UploadOutcome::Waiting) };
    let Some(reviewed_app) = unit.reviews().find_app(app).await? else { return Ok(UploadOutcome::Waiting) };
    if reviewed.review.status == VersionStatus::Published && reviewed.review.yank.is_none() {
        return Ok(UploadOutcome::Published);
    }
    // One in review waits for its reviewer, and a scheduled one for its time.
    let is_waiting = is_waiting(&reviewed) || reviewed.review.publish_at.is_some();
    if is_waiting || !is_due_by_store(unit.as_mut(), &reviewed_app, &reviewed, now).await? {
        return Ok(UploadOutcome::Waiting);
    }
    drop(unit);
    Ok(match due_publication(ctx, &stored).await? {
        Due::Now => UploadOutcome::BeingPublished,
        // Its checks have no results yet.
        Due::Later(at) if at < now.plus(ERRORED_DELAY) => UploadOutcome::BeingPublished,
        Due::Later(_) | Due::Not | Due::Refused => UploadOutcome::Waiting,
    })
}

/// Whether its approval orders the publication again.
const fn is_waiting(version: &ReviewedVersion) -> bool {
    matches!(version.review.status, VersionStatus::PendingReview | VersionStatus::InReview)
}

/// Whether the store publishes a version now.
enum Due {
    Not,
    Later(Timestamp),
    Now,
    /// A check has failed.
    Refused,
}

async fn due_publication(ctx: &Context, stored: &UploadedVersion) -> Result<Due, StorageError> {
    let now = ctx.now();
    let mut unit = ctx.store.read().await?;
    let Some(app) = unit.reviews().find_app(&stored.app).await? else { return Ok(Due::Not) };
    let Some(version) = unit.reviews().find(&stored.app, &stored.version).await? else { return Ok(Due::Not) };
    if !is_open(&version) {
        return Ok(Due::Not);
    }
    match version.review.publish_at {
        Some(at) if at > now => return Ok(Due::Later(at)),
        Some(_) => {}
        // The first version is published by its developer. A draft that needs a review waits for it.
        None => {
            let is_update = publishes_updates(unit.as_mut(), &app, now).await?;
            let facts = facts_of(unit.as_mut(), &app, &version).await?;
            let is_allowed = version.review.status == VersionStatus::Approved || review_need(&facts).is_none();
            if !(is_update && is_allowed) {
                return Ok(Due::Not);
            }
        }
    }
    let checks = unit.uploads().checks(&stored.id).await?;
    let has = |state: CheckState| checks.iter().any(|check| check.state == state);
    Ok(if has(CheckState::Failed) {
        Due::Refused
    } else if has(CheckState::Errored) {
        Due::Later(now.plus(ERRORED_DELAY))
    } else if checks.len() < CheckName::ALL.len() {
        // The longer they take, the less often the store looks.
        Due::Later(now.plus(now.since(stored.uploaded_at).clamp(CHECKS_DELAY, CHECKS_DELAY_MAX)))
    } else {
        Due::Now
    })
}

async fn publish_locked(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    involved: &Involved,
    stored: &UploadedVersion,
    content: Content,
) -> Result<(), ReviewError> {
    let is_developer = unit.users().passports(&involved.app.owner).await?.iter().any(|passport| passport.role == Role::Developer);
    if !is_developer {
        return Err(ReviewError::NotDeveloper);
    }
    take_in(ctx, unit, involved, &Step::Publish).await?;
    // It can have been blocked after the checks that allowed the publication.
    refuse_blocked(unit, stored).await?;
    if lacks_app_deposit(unit, &involved.app.did).await? {
        return Err(ReviewError::DepositRequired);
    }
    show(unit, &involved.app, stored, content, ctx.now()).await?;
    release_prices(ctx, unit, &involved.app, &stored.version).await
}

/// A version whose check for blocked content has no result is not published: its files are not listed yet.
async fn refuse_unchecked(unit: &mut dyn UnitOfWork, version: &UploadedVersion) -> Result<(), ReviewError> {
    let checks = unit.uploads().checks(&version.id).await?;
    let is_known = |check: &CheckResult| check.name == CheckName::BlockedDigests && check.state != CheckState::Errored;
    if checks.iter().any(is_known) { Ok(()) } else { Err(ReviewError::ChecksPending) }
}

/// A version with blocked content is not offered.
pub(super) async fn refuse_blocked(unit: &mut dyn UnitOfWork, version: &UploadedVersion) -> Result<(), ReviewError> {
    reason_against(unit, version).await?.map_or(Ok(()), |reason| Err(ReviewError::BlockedContent(reason)))
}

/// Ends the schedule of a version that the store cannot publish or, if it has none, tells its developer why.
async fn give_up(ctx: &Context, stored: &UploadedVersion, why: Unpublished) -> Result<(), StorageError> {
    let mut unit = ctx.store.begin().await?;
    let Some(involved) = lock_for_store(unit.as_mut(), stored).await? else { return Ok(()) };
    if involved.version.review.publish_at.is_none() {
        // Meanwhile its developer can have published it or ended automatic publishing.
        if is_open(&involved.version) && publishes_updates(unit.as_mut(), &involved.app, ctx.now()).await? {
            report_unpublished(ctx, unit.as_mut(), &involved, why).await?;
        }
        return unit.commit().await;
    }
    match take_in(ctx, unit.as_mut(), &involved, &Step::Unschedule).await {
        Ok(_) => unit.commit().await,
        Err(ReviewError::Storage(error)) => Err(error),
        // It is not scheduled.
        Err(_) => Ok(()),
    }
}

/// A version and its app, for a step of the store itself.
async fn lock_for_store(unit: &mut dyn UnitOfWork, stored: &UploadedVersion) -> Result<Option<Involved>, StorageError> {
    let Some(app) = unit.reviews().lock_app(&stored.app).await? else { return Ok(None) };
    let Some(version) = unit.reviews().find(&stored.app, &stored.version).await? else { return Ok(None) };
    let actor = ReviewActor { did: app.owner.clone(), role: ReviewRole::System };
    Ok(Some(Involved { app, version, actor }))
}

/// Sets for how many days from now the store publishes updates of the caller's app by itself, as soon as they may be published. `None`: it
/// does not any more. The first version of an app is published by its developer.
///
/// # Errors
/// The app is not the caller's, or the caller is no developer any more, or there are too many days.
#[tracing::instrument(skip_all, fields(app = %app, days = ?days))]
pub async fn set_auto_publish(ctx: &Context, caller: &Caller, app: &Did, days: Option<u32>) -> Result<ReviewedApp, AutoPublishError> {
    let now = ctx.now();
    if days.is_some_and(|days| !(1..=AUTO_PUBLISH_DAYS_MAX).contains(&days)) {
        return Err(AutoPublishError::Days);
    }
    let until = days.map(|days| now.plus(Duration::from_secs(u64::from(days) * 86_400)));
    let mut unit = ctx.store.begin().await?;
    let locked = unit.reviews().lock_app(app).await?.filter(|locked| locked.owner == caller.user.did);
    let locked = locked.ok_or(AutoPublishError::NotFound)?;
    if until.is_some() && !caller.holds(Role::Developer) {
        return Err(AutoPublishError::NotDeveloper);
    }
    unit.reviews().set_auto_publish(app, until, now).await?;
    unit.commit().await?;
    Ok(ReviewedApp { auto_publish_until: until, ..locked })
}

/// Sets whether the caller's app is private: lists and searches do not show it, but whoever has its link finds and installs it.
///
/// # Errors
/// The app is not the caller's: [`ReviewError::NotFound`]. The caller is no developer any more and wants to list it.
#[tracing::instrument(skip_all, fields(app = %app, private = is_private))]
pub async fn set_private(ctx: &Context, caller: &Caller, app: &Did, is_private: bool) -> Result<ReviewedApp, ReviewError> {
    let mut unit = ctx.store.begin().await?;
    let locked = unit.reviews().lock_app(app).await?.filter(|locked| locked.owner == caller.user.did);
    let locked = locked.ok_or(ReviewError::NotFound)?;
    if !is_private && !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    unit.reviews().set_private(app, is_private, ctx.now()).await?;
    unit.apps().set_listed(app, !is_private).await?;
    unit.commit().await?;
    Ok(ReviewedApp { is_private, ..locked })
}

/// Writes a version into the catalogue. A version that new installs do not get, such as a pre-release, leaves the texts of its app.
async fn show(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    stored: &UploadedVersion,
    Content { listing, earlier }: Content,
    now: Timestamp,
) -> Result<(), ReviewError> {
    if stored.version.pre.is_empty() {
        // An update ends a rollback.
        unit.uploads().roll_back(&app.did, None).await?;
    }
    let offered = unit.uploads().offered(&app.did).await?;
    let is_new = unit.apps().find(&app.did).await?.is_none();
    if offered.current() == Some(&stored.version) {
        show_app(unit, app, stored, &listing, now).await?;
    } else if is_new {
        return Ok(());
    }
    unit.apps().insert_version(&catalogue_version(stored, listing, now, false)).await?;
    if is_new { show_earlier(unit, stored, earlier).await } else { Ok(()) }
}

/// A version as the catalogue has it.
pub(super) fn catalogue_version(stored: &UploadedVersion, listing: Listing, published_at: Timestamp, is_yanked: bool) -> AppVersion {
    AppVersion {
        id: stored.id.clone(),
        app: stored.app.clone(),
        version: stored.version.to_string(),
        facts: Some(facts_of_listing(&listing)),
        readme: listing.readme,
        changelog: listing.changelog,
        sha256: stored.bundle.clone(),
        size: stored.size,
        published_at,
        is_yanked,
    }
}

/// Makes the catalogue show what the version that new installs get says of itself.
pub(super) async fn show_app(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    stored: &UploadedVersion,
    listing: &Listing,
    now: Timestamp,
) -> Result<(), ReviewError> {
    let shown = unit.apps().find(&app.did).await?;
    if shown.as_ref().is_some_and(|shown| shown.developer.did != app.owner) {
        return Err(ReviewError::NotOwner);
    }
    let Listing { manifest, logo, screenshots, .. } = listing;
    let owner = unit.users().find(&app.owner).await?;
    let row = App {
        did: app.did.clone(),
        availability: if app.block_reason.is_some() { Availability::Blocked } else { Availability::Available },
        is_listed: !app.is_private,
        name: manifest.name.clone(),
        title: Text::new(&manifest.title, ""),
        description: Text::new(&manifest.description, ""),
        category_id: app.category.clone().ok_or(Refusal::CategoryRequired)?,
        developer: Developer { did: app.owner.clone(), name: owner.map(|owner| owner.full_name).unwrap_or_default(), verified: false },
        logo: logo.clone(),
        screenshots: screenshots.clone(),
        license: manifest.license.clone(),
        website: manifest.homepage.clone(),
        test_link: None,
        live_link: None,
        downloads: 0,
        version: stored.version.to_string(),
        size: stored.size,
        created_at: now,
        // Offering another version again is no update.
        updated_at: shown.as_ref().filter(|shown| shown.version == stored.version.to_string()).map_or(now, |shown| shown.updated_at),
    };
    unit.apps().show(&row).await?;
    match &shown {
        Some(shown) => Ok(follow_app(unit, shown, &row, now).await?),
        None => Ok(()),
    }
}

fn facts_of_listing(listing: &Listing) -> VersionFacts {
    let (manifest, requirements) = (&listing.manifest, &listing.manifest.requirements);
    VersionFacts {
        screenshots: listing.screenshots.clone(),
        license: manifest.license.clone(),
        website: manifest.homepage.clone(),
        has_docker: manifest.has_docker,
        server: requirements.server.clone(),
        nodejs: requirements.nodejs.clone(),
        os: requirements.os.clone(),
        cpu: requirements.cpu.clone(),
        components: manifest.components.iter().map(component).collect(),
    }
}

fn component(component: &Component) -> VersionComponent {
    let (name, version) = match &component.source {
        ComponentSource::Url(url) => (url, ""),
        ComponentSource::Store { name, version, .. } => (name, version.as_str()),
    };
    let title = if component.title.is_empty() { name } else { &component.title };
    VersionComponent { title: title.clone(), version: version.to_owned(), is_required: component.required }
}

pub(super) async fn read_listing(ports: &PublishPorts<'_>, version: &UploadedVersion) -> Result<Listing, StorageError> {
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
