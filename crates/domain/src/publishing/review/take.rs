//! Takes steps on stored versions. All steps on the versions of an app follow each other, because each locks the app.

use super::super::publication_log::{PublicationAction, PublicationFact};
use super::super::selling::{SellingTerms, TermsError};
use super::super::staking::lacks_app_deposit;
use super::emails::order_emails;
use super::machine::{Outcome, ReviewEvent, take_step};
use super::need::{RiskyDifferences, review_need};
use super::page_events::order_event;
use super::records::{EntryKind, ReviewedApp, ReviewedVersion, ThreadEntry};
use super::refusal::Refusal;
use super::state::{AppReviewFacts, ReviewActor, ReviewRole, Step, VersionStatus};
use crate::access::{Caller, Did, Role};
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::shared::{EventId, ReviewEntryId, StorageError, Timestamp, VersionId};
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
    /// Another version was published or yanked meanwhile.
    #[error("The app has changed meanwhile. Try again.")]
    Contended,
    #[error("A deposit is required to publish this app")]
    DepositRequired,
    /// Its files are not known before that check.
    #[error("The store has not checked yet whether this version contains blocked content. Try again once its checks have run.")]
    ChecksPending,
    /// For the reason of the administrator who has blocked it.
    #[error("This version contains content that is blocked: {0}")]
    BlockedContent(String),
    #[error("This app has no deposit that can be forfeited")]
    NoDeposit,
    /// A return of it is in flight.
    #[error("The deposit for this app is being returned")]
    DepositReturning,
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store does not sell on the terms that would come into force with the version.
    #[error(transparent)]
    Terms(#[from] TermsError),
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
    if involved.actor.role == ReviewRole::AppOwner
        && matches!(step, Step::Request | Step::Schedule { .. })
        && !caller.holds(Role::Developer)
    {
        return Err(ReviewError::NotDeveloper);
    }
    let taken = take_in(ctx, unit.as_mut(), &involved, step).await?;
    if matches!(step, Step::Schedule { .. }) && lacks_app_deposit(unit.as_mut(), app).await? {
        return Err(ReviewError::DepositRequired);
    }
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
pub(in super::super) fn actor_of(caller: &Caller, app: &ReviewedApp) -> Option<ReviewActor> {
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
        ReviewEvent::Requested => {
            taken.requested_at = Some(now);
            taken.need = review_need(&facts);
        }
        ReviewEvent::Published => taken.published_at = Some(now),
        ReviewEvent::Approved { category, review_type } => {
            if !unit.apps().hold_category(category).await? {
                return Err(ReviewError::UnknownCategory);
            }
            unit.reviews().decide(&app.did, category, *review_type).await?;
        }
        ReviewEvent::AppealGranted => exclude_from_latest(unit, app, &taken).await?,
        _ => {}
    }
    unit.reviews().update(&taken).await?;
    let entry = ThreadEntry {
        id: ReviewEntryId::new(now, ctx.random.as_ref()),
        version: version.id.clone(),
        kind: EntryKind::from(&event),
        actor: actor.did.clone(),
        role: actor.role,
        comment: comment_of(step),
        at: now,
    };
    unit.reviews().insert_entry(&entry).await?;
    order_event(ctx, unit, &taken, now).await?;
    order_emails(ctx, unit, version, &app.owner, &event, &entry).await?;
    match event {
        ReviewEvent::Scheduled => order_publication(ctx, unit, &version.id, taken.review.publish_at.unwrap_or(now)).await?,
        ReviewEvent::Approved { .. } if taken.review.publish_at.is_some() || app.has_auto_publish(now) => {
            order_publication(ctx, unit, &version.id, now).await?;
        }
        _ => {}
    }
    if let Some(action) = public_action(&event)
        && (action.concerns_version() || !unit.uploads().published(&app.did).await?.is_empty())
    {
        let uploaded = unit.uploads().find_version_by_id(&version.id).await?.ok_or(ReviewError::NotFound)?;
        unit.publication_log().append(&PublicationFact::new(action, &uploaded, now)).await?;
    }
    Ok(taken)
}

/// A higher version can have been uploaded while the appeal was open: whoever has rejected the lower one does not judge it either. Only the
/// highest version is reviewed.
async fn exclude_from_latest(unit: &mut dyn UnitOfWork, app: &ReviewedApp, rejected: &ReviewedVersion) -> Result<(), StorageError> {
    if app.latest == rejected.version {
        return Ok(());
    }
    let Some(mut latest) = unit.reviews().find(&app.did, &app.latest).await? else { return Ok(()) };
    if matches!(latest.review.status, VersionStatus::Draft | VersionStatus::PendingReview | VersionStatus::InReview) {
        latest.review.excluded_reviewer = rejected.review.excluded_from_next();
        unit.reviews().update(&latest).await?;
    }
    Ok(())
}

/// Lets the store publish a version at a time.
pub(in super::super) async fn order_publication(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    version: &VersionId,
    at: Timestamp,
) -> Result<(), StorageError> {
    let now = ctx.now();
    let message = Message::new(Topic::PublishVersion, at).with("version", version);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// What the public log says of an event; `None`: nothing.
const fn public_action(event: &ReviewEvent) -> Option<PublicationAction> {
    match event {
        ReviewEvent::Published => Some(PublicationAction::Publish),
        ReviewEvent::Yanked => Some(PublicationAction::Yank),
        ReviewEvent::YankUndone => Some(PublicationAction::UndoYank),
        ReviewEvent::RolledBack => Some(PublicationAction::RollBack),
        ReviewEvent::AppBlocked => Some(PublicationAction::Block),
        ReviewEvent::AppUnblocked => Some(PublicationAction::Unblock),
        _ => None,
    }
}

/// What counts of the app of a version.
pub(in super::super) async fn facts_of(
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    version: &ReviewedVersion,
) -> Result<AppReviewFacts, StorageError> {
    let preferences = unit.preferences().find().await?.preferences;
    let published = unit.uploads().published(&app.did).await?;
    let offered = unit.uploads().offered(&app.did).await?;
    let differences = match offered.base() {
        Some(base) if *base != version.version => {
            let profile = unit.uploads().risks(&app.did, &version.version).await?.unwrap_or_default();
            let added = profile.added_to(&unit.uploads().risks(&app.did, base).await?.unwrap_or_default());
            // A pre-release brings no price into force.
            RiskyDifferences { price: version.version.pre.is_empty() && proposes_price(unit, app).await?, ..added }
        }
        _ => Default::default(),
    };
    Ok(AppReviewFacts {
        blocked: app.block_reason.is_some(),
        has_published: !offered.versions.is_empty(),
        has_published_higher: published.iter().any(|other| *other > version.version),
        has_uploaded_higher: app.latest > version.version,
        differences,
        is_current: offered.current() == Some(&version.version),
        has_category: app.category.is_some(),
        ..AppReviewFacts::of_new_app(&preferences, app.review_type)
    })
}

/// Whether the app has another price, or other shares, once its next stable version is published.
async fn proposes_price(unit: &mut dyn UnitOfWork, app: &ReviewedApp) -> Result<bool, StorageError> {
    let sales = unit.app_sales().of_app(&app.did).await?;
    Ok(sales.iter().any(|sale| matches!(sale.proposed, Some(SellingTerms::OneTime(_)))))
}

/// What the thread says of a step besides its kind.
fn comment_of(step: &Step) -> String {
    match step {
        Step::Comment { comment }
        | Step::RequestChanges { comment }
        | Step::Approve { comment, .. }
        | Step::Reject { comment }
        | Step::Appeal { comment }
        | Step::GrantAppeal { comment }
        | Step::DenyAppeal { comment }
        | Step::Yank { reason: comment }
        | Step::Block { reason: comment } => comment.trim().to_owned(),
        Step::ReplacedBy { version } => version.clone(),
        Step::Schedule { at } => at.to_iso(),
        Step::Request | Step::Start | Step::Renew | Step::TakeOver | Step::Cancel => String::new(),
        Step::Publish | Step::Unschedule | Step::UndoYank | Step::RollBack | Step::Unblock => String::new(),
    }
}
