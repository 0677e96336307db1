//! The emails about steps: to the developer of the app, and to those who review it.

use super::by_store::is_due_by_store;
use super::machine::ReviewEvent;
use super::page_events::order_event;
use super::records::{EntryKind, ReviewedVersion, ThreadEntry};
use super::state::{ReviewRole, VersionStatus};
use super::take::Involved;
use crate::access::{Did, Role};
use crate::billing::Recipient;
use crate::context::Context;
use crate::events::{Message, NewMessage, Topic};
use crate::mail::{Delivery, MailingError};
use crate::shared::{EventId, ReviewEntryId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use semver::Version;

/// The most reviewers who learn of one step.
pub(super) const REVIEWERS_MAX: u32 = 50;

/// The roles that review.
pub(super) const STAFF: [Role; 3] = [Role::Reviewer, Role::Admin, Role::Owner];

/// An email about a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewEmail {
    /// The user who gets it.
    pub to: Did,
    pub recipient: Recipient,
    /// Whether the recipient is the developer of the app; otherwise they review it.
    pub is_developer: bool,
    pub entry: ReviewEntryId,
    pub kind: EntryKind,
    pub app: Did,
    pub app_name: String,
    pub version: Version,
    /// Whether the store publishes the version by itself, or it is published already.
    pub is_published_by_store: bool,
    /// What the step says; may be empty.
    pub comment: String,
    pub at: Timestamp,
}

#[async_trait]
pub trait ReviewMailer: Send + Sync {
    async fn send_review(&self, email: &ReviewEmail, delivery: Delivery) -> Result<(), MailingError>;
}

/// To whom a step matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Nobody,
    Developer,
    /// The reviewer to whom the review belonged before the step, or who has decided about the version.
    ItsReviewer,
    Reviewers,
}

const fn audience(event: &ReviewEvent, by: ReviewRole) -> Audience {
    let is_by_developer = matches!(by, ReviewRole::AppOwner);
    match event {
        ReviewEvent::Requested | ReviewEvent::Appealed => Audience::Reviewers,
        ReviewEvent::Cancelled | ReviewEvent::Replaced | ReviewEvent::TakenOver => Audience::ItsReviewer,
        ReviewEvent::Commented if is_by_developer => Audience::ItsReviewer,
        ReviewEvent::Renewed | ReviewEvent::Scheduled => Audience::Nobody,
        // Those who publish or withdraw their own version know it.
        ReviewEvent::Published | ReviewEvent::Unscheduled | ReviewEvent::RolledBack if is_by_developer => Audience::Nobody,
        ReviewEvent::Yanked | ReviewEvent::YankUndone if is_by_developer => Audience::Nobody,
        _ => Audience::Developer,
    }
}

/// Orders the emails about a step. Who has taken it gets none.
pub(super) async fn order_emails(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: &ReviewedVersion,
    owner: &Did,
    event: &ReviewEvent,
    entry: &ThreadEntry,
) -> Result<(), StorageError> {
    let review = &before.review;
    let its_reviewer = review.claim.as_ref().map(|claim| &claim.reviewer).or(review.decided_by.as_ref());
    let mut to = match audience(event, entry.role) {
        Audience::Nobody => Vec::new(),
        Audience::Developer => vec![owner.clone()],
        Audience::ItsReviewer => its_reviewer.cloned().into_iter().collect(),
        Audience::Reviewers => unit.users().holders(&STAFF, REVIEWERS_MAX).await?,
    };
    // An appeal is not answered by the one who has rejected the version. The owner of an app does not review it.
    let is_appeal = *event == ReviewEvent::Appealed;
    let is_publication = *event == ReviewEvent::Published;
    // The owner of the store is the last instance, also against their own decision, and learns of each publication
    // (reference/store.md 6.5).
    let owners = if is_appeal || is_publication { unit.users().holders(&[Role::Owner], REVIEWERS_MAX).await? } else { Vec::new() };
    let is_own_decision = |did: &Did| is_appeal && review.decided_by.as_ref() == Some(did) && !owners.contains(did);
    let for_developer = audience(event, entry.role) == Audience::Developer;
    let is_actor = |did: &Did| entry.role != ReviewRole::System && *did == entry.actor;
    to.retain(|did| !is_actor(did) && !is_own_decision(did) && (for_developer || did != owner));
    if is_publication {
        to.extend(owners.iter().filter(|did| *did != owner).cloned());
    }
    let message = |did: &Did| NewMessage {
        id: EventId::new(entry.at, ctx.random.as_ref()),
        message: Message::new(Topic::ReviewMail, entry.at).with("entry", &entry.id).with("to", did),
    };
    let messages: Vec<_> = to.iter().map(message).collect();
    if messages.is_empty() { Ok(()) } else { unit.outbox().publish_all(&messages, entry.at).await }
}

/// Records what has happened to a version besides the steps of its review, and orders the email to its developer.
pub(in super::super) async fn tell_developer(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    involved: &Involved,
    kind: EntryKind,
    comment: &str,
) -> Result<(), StorageError> {
    let (now, Involved { app, version, actor }) = (ctx.now(), involved);
    let entry = ThreadEntry {
        id: ReviewEntryId::new(now, ctx.random.as_ref()),
        version: version.id.clone(),
        kind,
        actor: actor.did.clone(),
        role: actor.role,
        comment: comment.to_owned(),
        at: now,
    };
    unit.reviews().insert_entry(&entry).await?;
    order_event(ctx, unit, version, now).await?;
    let message = Message::new(Topic::ReviewMail, now).with("entry", &entry.id).with("to", &app.owner);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await
}

/// Composes an email about a step. `None`: the recipient has no address, or neither owns the app nor reviews any more.
pub async fn compose_review_email(ctx: &Context, entry: &ReviewEntryId, to: &Did) -> Result<Option<ReviewEmail>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let Some(entry) = unit.reviews().find_entry(entry).await? else { return Ok(None) };
    let Some(version) = unit.uploads().find_version_by_id(&entry.version).await? else { return Ok(None) };
    let Some(app) = unit.reviews().find_app(&version.app).await? else { return Ok(None) };
    let is_developer = app.owner == *to;
    let reviews = unit.users().passports(to).await?.iter().any(|passport| STAFF.contains(&passport.role));
    let user = unit.users().find(to).await?.filter(|user| (is_developer || reviews) && !user.email.is_empty());
    let Some(reviewed) = unit.reviews().find(&app.did, &version.version).await? else { return Ok(None) };
    let is_published = reviewed.review.status == VersionStatus::Published;
    let is_published_by_store = is_published || is_due_by_store(unit.as_mut(), &app, &reviewed, ctx.now()).await?;
    Ok(user.map(|user| ReviewEmail {
        to: to.clone(),
        recipient: Recipient { name: user.full_name, email: user.email, language: user.language },
        is_developer,
        entry: entry.id,
        kind: entry.kind,
        app: app.did,
        app_name: app.name,
        is_published_by_store,
        version: version.version,
        comment: entry.comment,
        at: entry.at,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::CategoryId;
    use ReviewEvent as Event;

    #[test]
    fn each_step_reaches_those_who_have_to_know() {
        let approved = Event::Approved { category: CategoryId::parse("cat_1").expect("an id"), review_type: None };
        for (event, by, expected) in [
            (Event::Requested, ReviewRole::AppOwner, Audience::Reviewers),
            (Event::Appealed, ReviewRole::AppOwner, Audience::Reviewers),
            (Event::Cancelled, ReviewRole::AppOwner, Audience::ItsReviewer),
            (Event::Replaced, ReviewRole::System, Audience::ItsReviewer),
            (Event::TakenOver, ReviewRole::Reviewer, Audience::ItsReviewer),
            (Event::Commented, ReviewRole::AppOwner, Audience::ItsReviewer),
            (Event::Commented, ReviewRole::Reviewer, Audience::Developer),
            (Event::Renewed, ReviewRole::Reviewer, Audience::Nobody),
            (Event::Started, ReviewRole::Reviewer, Audience::Developer),
            (Event::ChangesRequested, ReviewRole::Reviewer, Audience::Developer),
            (approved, ReviewRole::Reviewer, Audience::Developer),
            (Event::Rejected, ReviewRole::Reviewer, Audience::Developer),
            (Event::AppealGranted, ReviewRole::Admin, Audience::Developer),
            (Event::AppealDenied, ReviewRole::Admin, Audience::Developer),
            (Event::Published, ReviewRole::AppOwner, Audience::Nobody),
            (Event::Published, ReviewRole::System, Audience::Developer),
            (Event::Scheduled, ReviewRole::AppOwner, Audience::Nobody),
            (Event::Unscheduled, ReviewRole::AppOwner, Audience::Nobody),
            (Event::Unscheduled, ReviewRole::System, Audience::Developer),
            (Event::Yanked, ReviewRole::AppOwner, Audience::Nobody),
            (Event::Yanked, ReviewRole::Admin, Audience::Developer),
            (Event::RolledBack, ReviewRole::AppOwner, Audience::Nobody),
            (Event::RolledBack, ReviewRole::Admin, Audience::Developer),
            (Event::YankUndone, ReviewRole::Admin, Audience::Developer),
            (Event::AppBlocked, ReviewRole::Admin, Audience::Developer),
            (Event::AppUnblocked, ReviewRole::Admin, Audience::Developer),
        ] {
            assert_eq!(audience(&event, by), expected, "{event:?} by {by:?}");
        }
    }
}
