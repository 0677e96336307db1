//! Takes steps on stored versions. All steps on the versions of an app follow each other, because each locks the app.

use super::super::version::default_version;
use super::machine::{Outcome, ReviewEvent, take_step};
use super::records::{EntryKind, ReviewedApp, ReviewedVersion, ThreadEntry};
use super::refusal::Refusal;
use super::state::{AppReviewFacts, ReviewActor, ReviewRole, Step};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::shared::{ReviewEntryId, StorageError};
use crate::storage::UnitOfWork;
use semver::Version;

/// Why a step is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// There is no such version that the caller may see.
    #[error("version not found")]
    NotFound,
    #[error("Your developer passport not found or has been revoked")]
    NotDeveloper,
    /// The catalogue has an app of this DID that belongs to somebody else.
    #[error("This app belongs to another developer")]
    NotOwner,
    #[error("The category does not exist")]
    UnknownCategory,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Takes a step of a review. A publication is [`super::super::publication::publish_version`], which also shows the version.
///
/// # Errors
/// The caller does not see the version, or may not take the step, or the step is not legal. Then nothing has changed.
#[tracing::instrument(skip_all, fields(app = %app, version = %version))]
pub async fn take_review_step(
    ctx: &Context,
    caller: &Caller,
    app: &Did,
    version: &Version,
    step: &Step,
) -> Result<ReviewedVersion, ReviewError> {
    let mut unit = ctx.store.begin().await?;
    let involved = lock_involved(unit.as_mut(), caller, app, version).await?;
    if involved.actor.role == ReviewRole::AppOwner && matches!(step, Step::Request) && !caller.holds(Role::Developer) {
        return Err(ReviewError::NotDeveloper);
    }
    let taken = take_in(ctx, unit.as_mut(), &involved, step).await?;
    unit.commit().await?;
    Ok(taken)
}

/// A version, its app, and in which role the caller acts.
pub(in super::super) struct Involved {
    pub app: ReviewedApp,
    pub version: ReviewedVersion,
    pub actor: ReviewActor,
}

/// Finds a version that the caller may see, and locks its app.
pub(in super::super) async fn lock_involved(
    unit: &mut dyn UnitOfWork,
    caller: &Caller,
    app: &Did,
    version: &Version,
) -> Result<Involved, ReviewError> {
    let app = unit.reviews().lock_app(app).await?.ok_or(ReviewError::NotFound)?;
    let actor = actor_of(caller, &app).ok_or(ReviewError::NotFound)?;
    let version = unit.reviews().find(&app.did, version).await?.ok_or(ReviewError::NotFound)?;
    Ok(Involved { app, version, actor })
}

/// The role of the caller towards an app; `None`: its versions do not exist for them.
pub(super) fn actor_of(caller: &Caller, app: &ReviewedApp) -> Option<ReviewActor> {
    let held: Vec<_> = caller.passports.iter().map(|passport| passport.role).collect();
    let role = ReviewRole::of(caller.user.did == app.owner, &held)?;
    let sees = role == ReviewRole::AppOwner || role.is_staff();
    sees.then(|| ReviewActor { did: caller.user.did.clone(), role })
}

/// Takes a step in a unit of work that has locked the app.
pub(in super::super) async fn take_in(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    involved: &Involved,
    step: &Step,
) -> Result<ReviewedVersion, ReviewError> {
    let Involved { app, version, actor } = involved;
    let (now, facts) = (ctx.now(), facts_of(unit, app, version).await?);
    let Outcome { review, event } = take_step(&version.review, &facts, actor, step, now)?;
    let mut taken = ReviewedVersion { review, ..version.clone() };
    match &event {
        ReviewEvent::Requested => taken.requested_at = Some(now),
        ReviewEvent::Published => taken.published_at = Some(now),
        ReviewEvent::Approved { category, review_type } => {
            if !unit.apps().categories().await?.iter().any(|counted| counted.category.id == *category) {
                return Err(ReviewError::UnknownCategory);
            }
            unit.reviews().decide(&app.did, category, *review_type).await?;
        }
        _ => {}
    }
    unit.reviews().update(&taken).await?;
    let entry = ThreadEntry {
        id: ReviewEntryId::new(now, ctx.random.as_ref()),
        version: version.id.clone(),
        kind: EntryKind::from(&event),
        actor: actor.did.clone(),
        role: actor.role,
        comment: comment_of(step).trim().to_owned(),
        at: now,
    };
    unit.reviews().insert_entry(&entry).await?;
    Ok(taken)
}

/// What counts of the app of a version.
pub(super) async fn facts_of(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    version: &ReviewedVersion,
) -> Result<AppReviewFacts, StorageError> {
    let preferences = unit.preferences().find().await?.preferences;
    let published = unit.uploads().published(&app.did).await?;
    let differences = match default_version(&published) {
        Some(current) if *current != version.version => {
            let profile = unit.uploads().risks(&app.did, &version.version).await?.unwrap_or_default();
            profile.added_to(&unit.uploads().risks(&app.did, current).await?.unwrap_or_default())
        }
        _ => Default::default(),
    };
    Ok(AppReviewFacts {
        blocked: app.is_blocked,
        has_published: !published.is_empty(),
        has_published_higher: published.iter().any(|other| *other > version.version),
        has_uploaded_higher: app.latest > version.version,
        differences,
        ..AppReviewFacts::of_new_app(&preferences, app.review_type)
    })
}

const fn comment_of(step: &Step) -> &str {
    match step {
        Step::Comment { comment }
        | Step::RequestChanges { comment }
        | Step::Approve { comment, .. }
        | Step::Reject { comment }
        | Step::Appeal { comment }
        | Step::GrantAppeal { comment }
        | Step::DenyAppeal { comment }
        | Step::Yank { reason: comment }
        | Step::Block { reason: comment } => comment.as_str(),
        Step::ReplacedBy { version } => version.as_str(),
        Step::Request | Step::Start | Step::Renew | Step::TakeOver | Step::Cancel | Step::Publish | Step::UndoYank | Step::Unblock => "",
    }
}
