//! What developers and reviewers see of reviews.

use super::by_store::is_due_by_store;
use super::need::{ReviewNeed, RiskyDifferences, review_need};
use super::records::{QueuedVersion, ReviewedApp, ReviewedVersion, THREAD_MAX, ThreadEntry};
use super::state::{ReviewRole, VersionStatus};
use super::take::{ReviewError, actor_of, facts_of};
use crate::access::{Caller, Did};
use crate::context::Context;
use crate::shared::{Listed, Page};
use semver::Version;
use std::collections::{BTreeMap, BTreeSet};

/// A version with everything that is decided about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewDetails {
    pub app: ReviewedApp,
    pub version: ReviewedVersion,
    /// In which role the caller acts.
    pub role: ReviewRole,
    /// Why it needs a review; `None`: it can be published without one.
    pub need: Option<ReviewNeed>,
    /// The version that new installs get.
    pub current: Option<Version>,
    /// The highest version that was published, also one that was yanked: a lower one is not published any more.
    pub latest_published: Option<Version>,
    /// The version with which it is compared; `None`: it is the first one, or is offered itself as that one.
    pub base: Option<Version>,
    /// What it adds to `base`.
    pub differences: RiskyDifferences,
    /// Whether the store publishes the version automatically as soon as it may.
    pub is_due_by_store: bool,
    /// Oldest first.
    pub thread: Vec<ThreadEntry>,
    /// The names of the developer and of those who have acted.
    pub names: BTreeMap<Did, String>,
}

/// # Errors
/// The version does not exist, or not for the caller.
pub async fn find_review(ctx: &Context, caller: &Caller, app: &Did, version: &Version) -> Result<ReviewDetails, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let app = unit.reviews().find_app(app).await?.ok_or(ReviewError::NotFound)?;
    let role = actor_of(caller, &app).ok_or(ReviewError::NotFound)?.role;
    let version = unit.reviews().find(&app.did, version).await?.ok_or(ReviewError::NotFound)?;
    let facts = facts_of(unit.as_mut(), &app, &version).await?;
    let offered = unit.uploads().offered(&app.did).await?;
    let latest_published = unit.uploads().published(&app.did).await?.into_iter().max();
    let is_due_by_store = is_due_by_store(unit.as_mut(), &app, &version, ctx.now()).await?;
    let thread = unit.reviews().thread(&version.id, THREAD_MAX).await?;
    let mut names = BTreeMap::new();
    for did in thread.iter().map(|entry| &entry.actor).chain([&app.owner]).collect::<BTreeSet<_>>() {
        if let Some(user) = unit.users().find(did).await? {
            names.insert(did.clone(), user.full_name);
        }
    }
    Ok(ReviewDetails {
        role,
        need: review_need(&facts),
        current: offered.current().cloned(),
        base: offered.base().filter(|base| **base != version.version).cloned(),
        is_due_by_store,
        latest_published,
        differences: facts.differences,
        thread,
        names,
        app,
        version,
    })
}

/// Which versions of the queue are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueFilter {
    /// Those that wait for a reviewer: pending or in review, and rejected ones with an open appeal.
    #[default]
    Open,
    /// Those that were decided.
    Decided,
}

/// The versions that reviewers judge.
///
/// # Errors
/// The caller is no reviewer: [`ReviewError::NotFound`].
pub async fn list_reviews(ctx: &Context, caller: &Caller, filter: QueueFilter, page: &Page) -> Result<Listed<QueuedVersion>, ReviewError> {
    if !caller.is_reviewer() {
        return Err(ReviewError::NotFound);
    }
    use VersionStatus::{Approved, InReview, PendingReview, Published, Rejected};
    let (statuses, appeals): (&[VersionStatus], _) = match filter {
        QueueFilter::Open => (&[PendingReview, InReview], true),
        QueueFilter::Decided => (&[Approved, Rejected, Published], false),
    };
    Ok(ctx.store.read().await?.reviews().queue(statuses, appeals, page).await?)
}

/// An app and its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedVersions {
    pub app: ReviewedApp,
    pub versions: Listed<ReviewedVersion>,
}

/// # Errors
/// The app does not exist, or not for the caller.
pub async fn list_uploads(ctx: &Context, caller: &Caller, app: &Did, page: &Page) -> Result<UploadedVersions, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let app = unit.reviews().find_app(app).await?.ok_or(ReviewError::NotFound)?;
    actor_of(caller, &app).ok_or(ReviewError::NotFound)?;
    let versions = unit.reviews().versions(&app.did, page).await?;
    Ok(UploadedVersions { app, versions })
}
