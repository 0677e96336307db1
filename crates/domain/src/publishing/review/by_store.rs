//! Versions that the store publishes by itself, and what happens if it cannot.

use super::super::named::named;
use super::emails::tell_developer;
use super::records::{EntryKind, ReviewedApp, ReviewedVersion, THREAD_MAX, ThreadEntry};
use super::refusal::Refusal;
use super::state::VersionStatus;
use super::take::{Involved, ReviewError};
use crate::context::Context;
use crate::shared::{StorageError, Timestamp};
use crate::storage::UnitOfWork;

named! {
    /// Why the store has not published a version by itself, as the comment of the entry says it. Pages and emails have a text for each.
    Unpublished {
        ChecksFailed = "checks_failed",
        NotDeveloper = "not_developer",
        DepositRequired = "deposit_required",
        BlockedContent = "blocked_content",
        /// The store does not accept the price that would come into force.
        Terms = "terms",
        AppBlocked = "app_blocked",
        /// A higher version is published.
        Outdated = "outdated",
        Other = "other",
    }
}

impl Unpublished {
    /// `None`: the version was published, decided about or held for review meanwhile, which its developer learns otherwise.
    #[must_use]
    pub const fn of(error: &ReviewError) -> Option<Self> {
        Some(match error {
            ReviewError::NotDeveloper => Self::NotDeveloper,
            ReviewError::DepositRequired => Self::DepositRequired,
            ReviewError::BlockedContent(_) => Self::BlockedContent,
            ReviewError::Terms(_) => Self::Terms,
            ReviewError::Refused(Refusal::AppBlocked) => Self::AppBlocked,
            ReviewError::Refused(Refusal::Outdated) => Self::Outdated,
            ReviewError::Refused(
                Refusal::AlreadyPublished | Refusal::Rejected | Refusal::Cancelled | Refusal::AlreadyInReview | Refusal::NeedsReview(_),
            ) => return None,
            _ => Self::Other,
        })
    }
}

/// Whether the store publishes a version by itself as soon as it may be published: it is scheduled, or an update of an app with automatic
/// publishing. The first version is published by its developer, and so is one that the store has given up.
///
/// # Errors
/// The storage fails.
pub(in super::super) async fn is_due_by_store(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    version: &ReviewedVersion,
    now: Timestamp,
) -> Result<bool, StorageError> {
    if !is_open(version) {
        return Ok(false);
    }
    if version.review.publish_at.is_some() {
        return Ok(true);
    }
    if !publishes_updates(unit, app, now).await? {
        return Ok(false);
    }
    let thread = unit.reviews().thread(&version.id, THREAD_MAX).await?;
    Ok(!is_given_up(&thread))
}

/// Whether a version can be published yet.
pub(in super::super) const fn is_open(version: &ReviewedVersion) -> bool {
    use VersionStatus::{Approved, Draft, InReview, PendingReview};
    matches!(version.review.status, Draft | PendingReview | InReview | Approved)
}

/// Whether the store publishes the versions of an app that are not scheduled by itself: not its first one.
///
/// # Errors
/// The storage fails.
pub(in super::super) async fn publishes_updates(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(app.has_auto_publish(now) && !unit.uploads().offered(&app.did).await?.versions.is_empty())
}

/// Whether the store was not able to publish a version, and was not asked again by an approval.
fn is_given_up(thread: &[ThreadEntry]) -> bool {
    let last = thread.iter().rev().find(|entry| matches!(entry.kind, EntryKind::NotPublished | EntryKind::Approved));
    last.is_some_and(|entry| entry.kind == EntryKind::NotPublished)
}

/// Records that the store has not published a version by itself, and orders the email to its developer, who has to act. It says each reason
/// once.
pub(in super::super) async fn report_unpublished(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    involved: &Involved,
    why: Unpublished,
) -> Result<(), StorageError> {
    let thread = unit.reviews().thread(&involved.version.id, THREAD_MAX).await?;
    if thread.iter().any(|entry| entry.kind == EntryKind::NotPublished && entry.comment == why.name()) {
        return Ok(());
    }
    tell_developer(ctx, unit, involved, EntryKind::NotPublished, why.name()).await
}
