//! Takes a step: checks who may take it, in which status and under which conditions, and returns what becomes of the version.

use super::super::ReviewType;
use super::guards::{allow, claimed, comment, future, held, in_review, not_excluded, reason};
use super::need::review_need;
use super::refusal::Refusal;
use super::state::{
    AppReviewFacts, Appeal, CLAIM_LIFETIME, CancelReason, Claim, Review, ReviewActor, ReviewRole, Step, VersionStatus, Yank,
};
use crate::shared::{CategoryId, Timestamp};

/// What a step changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub review: Review,
    pub event: ReviewEvent,
}

/// What has happened, for the thread of the version, emails and the log. An event of the app concerns all of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewEvent {
    Requested,
    Started,
    Renewed,
    TakenOver,
    Commented,
    ChangesRequested,
    /// The app gets the category, and the review type if there is one.
    Approved {
        category: CategoryId,
        review_type: Option<ReviewType>,
    },
    Rejected,
    Cancelled,
    Appealed,
    AppealGranted,
    AppealDenied,
    Published,
    Scheduled,
    Unscheduled,
    Yanked,
    YankUndone,
    RolledBack,
    Replaced,
    AppBlocked,
    AppUnblocked,
}

/// Takes a step at a time. What is not legal is refused by name, and changes nothing.
pub fn take_step(review: &Review, app: &AppReviewFacts, by: &ReviewActor, step: &Step, now: Timestamp) -> Result<Outcome, Refusal> {
    let is_owner = by.role == ReviewRole::AppOwner;
    let mut next = review.clone();
    let event = match step {
        Step::Request => {
            allow(is_owner)?;
            request(review, app)?;
            next.status = VersionStatus::PendingReview;
            ReviewEvent::Requested
        }
        Step::Start => {
            start(review, by, now)?;
            next.status = VersionStatus::InReview;
            next.claim = Some(claim(by, now));
            ReviewEvent::Started
        }
        Step::Renew => {
            held(review, by)?;
            next.claim = Some(claim(by, now));
            ReviewEvent::Renewed
        }
        Step::TakeOver => {
            take_over(review, by)?;
            next.claim = Some(claim(by, now));
            ReviewEvent::TakenOver
        }
        Step::Comment { comment: text } => {
            allow(is_owner || by.role.is_staff())?;
            if review.status == VersionStatus::Draft {
                return Err(Refusal::NotCommentable);
            }
            comment(text)?;
            ReviewEvent::Commented
        }
        Step::RequestChanges { comment: text } => {
            claimed(review, by, now)?;
            comment(text)?;
            if review.changes_requested {
                return Err(Refusal::ChangesRequestedAlready);
            }
            next.changes_requested = true;
            ReviewEvent::ChangesRequested
        }
        Step::Approve { comment: text, category, review_type } => {
            claimed(review, by, now)?;
            comment(text)?;
            let category = category.clone().ok_or(Refusal::CategoryRequired)?;
            decide(&mut next, by, VersionStatus::Approved);
            ReviewEvent::Approved { category, review_type: *review_type }
        }
        Step::Reject { comment: text } => {
            claimed(review, by, now)?;
            comment(text)?;
            decide(&mut next, by, VersionStatus::Rejected);
            ReviewEvent::Rejected
        }
        Step::Cancel => {
            allow(is_owner)?;
            cancel(review)?;
            end(&mut next, CancelReason::Cancelled);
            ReviewEvent::Cancelled
        }
        Step::Appeal { comment: text } => {
            allow(is_owner)?;
            appeal(review)?;
            comment(text)?;
            next.appeal = Some(Appeal::Open);
            ReviewEvent::Appealed
        }
        Step::GrantAppeal { comment: text } => {
            answer_appeal(review, by, text)?;
            next.appeal = Some(Appeal::Granted);
            ReviewEvent::AppealGranted
        }
        Step::DenyAppeal { comment: text } => {
            answer_appeal(review, by, text)?;
            next.appeal = Some(Appeal::Denied);
            ReviewEvent::AppealDenied
        }
        Step::Publish => {
            allow(is_owner || by.role == ReviewRole::System)?;
            publish(review, app)?;
            next.status = VersionStatus::Published;
            next.publish_at = None;
            ReviewEvent::Published
        }
        Step::Schedule { at } => {
            allow(is_owner)?;
            schedule(review, app)?;
            future(*at, now)?;
            next.publish_at = Some(*at);
            ReviewEvent::Scheduled
        }
        Step::Unschedule => {
            // The system gives up a publication that is refused when its time comes.
            allow(is_owner || by.role == ReviewRole::System)?;
            if next.publish_at.take().is_none() {
                return Err(Refusal::NotScheduled);
            }
            ReviewEvent::Unscheduled
        }
        Step::Yank { reason: text } => {
            allow(is_owner || by.role.is_admin())?;
            published(review)?;
            reason(text)?;
            if review.yank.is_some() {
                return Err(Refusal::AlreadyYanked);
            }
            next.yank = Some(if is_owner { Yank::ByDeveloper } else { Yank::ByStore });
            ReviewEvent::Yanked
        }
        Step::UndoYank => {
            allow(is_owner || by.role.is_admin())?;
            published(review)?;
            match review.yank {
                None => return Err(Refusal::NotYanked),
                Some(Yank::ByStore) if is_owner => return Err(Refusal::YankedByStore),
                Some(_) => next.yank = None,
            }
            ReviewEvent::YankUndone
        }
        Step::RollBack => {
            allow(is_owner || by.role.is_admin())?;
            published(review)?;
            if review.yank.is_some() {
                return Err(Refusal::Withdrawn);
            }
            if app.is_current {
                return Err(Refusal::AlreadyCurrent);
            }
            ReviewEvent::RolledBack
        }
        Step::Block { reason: text } => {
            // The system blocks an app whose stake was revoked.
            allow(by.role.is_admin() || by.role == ReviewRole::System)?;
            reason(text)?;
            if app.blocked {
                return Err(Refusal::AlreadyBlocked);
            }
            ReviewEvent::AppBlocked
        }
        Step::Unblock => {
            allow(by.role.is_admin())?;
            if !app.blocked {
                return Err(Refusal::NotBlocked);
            }
            ReviewEvent::AppUnblocked
        }
        Step::ReplacedBy { version } => {
            allow(by.role == ReviewRole::System)?;
            in_review(review.status)?;
            if !review.changes_requested {
                return Err(Refusal::NoChangesRequested);
            }
            end(&mut next, CancelReason::ReplacedBy(version.clone()));
            ReviewEvent::Replaced
        }
    };
    Ok(Outcome { review: next, event })
}

fn claim(by: &ReviewActor, now: Timestamp) -> Claim {
    Claim { reviewer: by.did.clone(), until: now.plus(CLAIM_LIFETIME) }
}

fn decide(next: &mut Review, by: &ReviewActor, status: VersionStatus) {
    next.status = status;
    next.claim = None;
    next.changes_requested = false;
    next.decided_by = Some(by.did.clone());
    if status == VersionStatus::Rejected {
        next.publish_at = None;
    }
}

fn end(next: &mut Review, why: CancelReason) {
    next.status = VersionStatus::Cancelled;
    next.claim = None;
    next.changes_requested = false;
    next.cancel_reason = Some(why);
    next.publish_at = None;
}

const fn request(review: &Review, app: &AppReviewFacts) -> Result<(), Refusal> {
    match review.status {
        VersionStatus::Draft if app.blocked => Err(Refusal::AppBlocked),
        // So that one version of an app is in review at a time.
        VersionStatus::Draft if app.has_uploaded_higher => Err(Refusal::Superseded),
        VersionStatus::Draft => Ok(()),
        VersionStatus::PendingReview | VersionStatus::InReview => Err(Refusal::AlreadyInReview),
        VersionStatus::Approved => Err(Refusal::AlreadyApproved),
        VersionStatus::Rejected => Err(Refusal::Rejected),
        VersionStatus::Published => Err(Refusal::AlreadyPublished),
        VersionStatus::Cancelled => Err(Refusal::Cancelled),
    }
}

fn start(review: &Review, by: &ReviewActor, now: Timestamp) -> Result<(), Refusal> {
    allow(by.role.is_staff())?;
    if review.status != VersionStatus::PendingReview {
        in_review(review.status)?;
    }
    not_excluded(review, by)?;
    match &review.claim {
        Some(claim) if claim.reviewer == by.did => Err(Refusal::ClaimedByYou),
        Some(claim) if claim.until > now => Err(Refusal::ClaimedBy(claim.reviewer.clone())),
        _ => Ok(()),
    }
}

fn take_over(review: &Review, by: &ReviewActor) -> Result<(), Refusal> {
    allow(by.role.is_staff())?;
    in_review(review.status)?;
    not_excluded(review, by)?;
    match &review.claim {
        Some(claim) if claim.reviewer == by.did => Err(Refusal::ClaimedByYou),
        _ => Ok(()),
    }
}

const fn cancel(review: &Review) -> Result<(), Refusal> {
    match review.status {
        VersionStatus::PendingReview | VersionStatus::InReview | VersionStatus::Approved => Ok(()),
        VersionStatus::Draft => Err(Refusal::NotRequested),
        VersionStatus::Rejected => Err(Refusal::Rejected),
        VersionStatus::Published => Err(Refusal::AlreadyPublished),
        VersionStatus::Cancelled => Err(Refusal::Cancelled),
    }
}

const fn appeal(review: &Review) -> Result<(), Refusal> {
    match (review.status, review.appeal) {
        (VersionStatus::Rejected, None) => Ok(()),
        (VersionStatus::Rejected, Some(_)) => Err(Refusal::AppealedAlready),
        _ => Err(Refusal::NotRejected),
    }
}

/// An appeal is decided by somebody who has not rejected the version. The owner of the store is the last instance.
fn answer_appeal(review: &Review, by: &ReviewActor, text: &str) -> Result<(), Refusal> {
    allow(by.role.is_staff())?;
    if review.status != VersionStatus::Rejected {
        return Err(Refusal::NotRejected);
    }
    if review.appeal != Some(Appeal::Open) {
        return Err(Refusal::NoAppeal);
    }
    if review.decided_by.as_ref() == Some(&by.did) && by.role != ReviewRole::StoreOwner {
        return Err(Refusal::OwnDecision);
    }
    comment(text)
}

/// A version whose review was requested is published once it is approved, or, before the review has started, if no review is required any
/// more. A rejected or cancelled version never is.
fn publish(review: &Review, app: &AppReviewFacts) -> Result<(), Refusal> {
    let need = match review.status {
        VersionStatus::Approved => None,
        VersionStatus::Draft | VersionStatus::PendingReview => review_need(app),
        VersionStatus::InReview => return Err(Refusal::AlreadyInReview),
        VersionStatus::Rejected => return Err(Refusal::Rejected),
        VersionStatus::Cancelled => return Err(Refusal::Cancelled),
        VersionStatus::Published => return Err(Refusal::AlreadyPublished),
    };
    match need {
        Some(need) => Err(Refusal::NeedsReview(need)),
        None if app.blocked => Err(Refusal::AppBlocked),
        None if app.has_published_higher => Err(Refusal::Outdated),
        None => Ok(()),
    }
}

/// A version that waits for its review can be scheduled as well: the store publishes it when it is approved.
fn schedule(review: &Review, app: &AppReviewFacts) -> Result<(), Refusal> {
    match publish(review, app) {
        Err(Refusal::NeedsReview(_) | Refusal::AlreadyInReview) if app.blocked => Err(Refusal::AppBlocked),
        // Its review cannot be requested any more.
        Err(Refusal::NeedsReview(_)) if review.status == VersionStatus::Draft && app.has_uploaded_higher => Err(Refusal::Superseded),
        Err(Refusal::NeedsReview(_) | Refusal::AlreadyInReview) => Ok(()),
        // A reviewer chooses the category; where there is none, the developer does it with the first publication.
        Ok(()) if !app.has_category && review.status != VersionStatus::Approved => Err(Refusal::CategoryRequired),
        result => result,
    }
}

fn published(review: &Review) -> Result<(), Refusal> {
    if review.status == VersionStatus::Published { Ok(()) } else { Err(Refusal::NotPublished) }
}
