//! The conditions of steps, each as a refusal.

use super::refusal::Refusal;
use super::state::{BLOCK_REASON_MAX, REVIEW_COMMENT_MAX, Review, ReviewActor, ReviewRole, SCHEDULE_MAX, VersionStatus};
use crate::shared::Timestamp;

pub(super) const fn allow(is_allowed: bool) -> Result<(), Refusal> {
    if is_allowed { Ok(()) } else { Err(Refusal::NotAllowed) }
}

/// A comment that says something.
pub(super) fn comment(text: &str) -> Result<(), Refusal> {
    match text.trim().chars().count() {
        0 => Err(Refusal::CommentRequired),
        length if length > REVIEW_COMMENT_MAX => Err(Refusal::CommentTooLong),
        _ => Ok(()),
    }
}

/// A reason that the developer sees.
pub(super) fn reason(text: &str) -> Result<(), Refusal> {
    match text.trim().chars().count() {
        0 => Err(Refusal::ReasonRequired),
        length if length > BLOCK_REASON_MAX => Err(Refusal::ReasonTooLong),
        _ => Ok(()),
    }
}

/// The time is ahead, and not too far.
pub(super) fn future(at: Timestamp, now: Timestamp) -> Result<(), Refusal> {
    if at <= now {
        return Err(Refusal::ScheduleInPast);
    }
    if at > now.plus(SCHEDULE_MAX) { Err(Refusal::ScheduleTooFar) } else { Ok(()) }
}

/// The version is in review.
pub(super) const fn in_review(status: VersionStatus) -> Result<(), Refusal> {
    Err(match status {
        VersionStatus::InReview => return Ok(()),
        VersionStatus::Draft => Refusal::NotRequested,
        VersionStatus::PendingReview => Refusal::NotStarted,
        VersionStatus::Approved => Refusal::AlreadyApproved,
        VersionStatus::Rejected => Refusal::Rejected,
        VersionStatus::Published => Refusal::AlreadyPublished,
        VersionStatus::Cancelled => Refusal::Cancelled,
    })
}

/// The reviewer may judge this version.
pub(super) fn not_excluded(review: &Review, by: &ReviewActor) -> Result<(), Refusal> {
    // The owner of the store is the last instance.
    let is_excluded = review.excluded_reviewer.as_ref() == Some(&by.did) && by.role != ReviewRole::StoreOwner;
    if is_excluded { Err(Refusal::Excluded) } else { Ok(()) }
}

/// The version is in review, and the actor holds its claim.
pub(super) fn held(review: &Review, by: &ReviewActor) -> Result<Timestamp, Refusal> {
    allow(by.role.is_staff())?;
    in_review(review.status)?;
    match &review.claim {
        // An appeal can be granted after the review has started.
        Some(claim) if claim.reviewer == by.did => not_excluded(review, by).map(|()| claim.until),
        Some(claim) => Err(Refusal::ClaimedBy(claim.reviewer.clone())),
        None => Err(Refusal::NotStarted),
    }
}

/// As [`held`], with a claim that has not expired.
pub(super) fn claimed(review: &Review, by: &ReviewActor, now: Timestamp) -> Result<(), Refusal> {
    if held(review, by)? > now { Ok(()) } else { Err(Refusal::ClaimExpired) }
}
