//! Why a step is refused. Where the reference has a message for it (reference/store.md 1), it is that message.

use super::need::ReviewNeed;
use super::state::{BLOCK_REASON_MAX, REVIEW_COMMENT_MAX};
use crate::access::Did;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("Permission denied")]
    NotAllowed,
    #[error("the version is not supported to comment")]
    NotCommentable,
    #[error("content is required")]
    CommentRequired,
    #[error("A comment can have at most {REVIEW_COMMENT_MAX} characters")]
    CommentTooLong,
    #[error("A reason is required")]
    ReasonRequired,
    #[error("Block reason length should not exceed {BLOCK_REASON_MAX}")]
    ReasonTooLong,
    #[error("The category is required")]
    CategoryRequired,
    #[error("This app has been blocked")]
    AppBlocked,
    #[error("This app is blocked already")]
    AlreadyBlocked,
    #[error("This app is not blocked")]
    NotBlocked,
    #[error("No review of this version has been requested")]
    NotRequested,
    #[error("Version already in review")]
    AlreadyInReview,
    #[error("The review of this version has not started")]
    NotStarted,
    #[error("This version is approved already")]
    AlreadyApproved,
    #[error("This version was rejected. Upload a higher version.")]
    Rejected,
    #[error("The version has been cancelled")]
    Cancelled,
    #[error("This version is published already")]
    AlreadyPublished,
    #[error("Another reviewer has claimed this review")]
    ClaimedBy(Did),
    #[error("You have claimed this review")]
    ClaimedByYou,
    #[error("Your claim of this review has expired. Renew it first.")]
    ClaimExpired,
    #[error("You have rejected the version before. Another reviewer judges this one.")]
    Excluded,
    #[error("Changes have been requested already")]
    ChangesRequestedAlready,
    #[error("No changes of this version have been requested")]
    NoChangesRequested,
    #[error("Only a rejected version can be appealed")]
    NotRejected,
    #[error("This rejection was appealed already")]
    AppealedAlready,
    #[error("There is no open appeal")]
    NoAppeal,
    #[error("You have rejected this version. Another reviewer will decide on the appeal.")]
    OwnDecision,
    #[error("This version needs a review before it is published")]
    NeedsReview(ReviewNeed),
    #[error("The time of the publication must be ahead")]
    ScheduleInPast,
    #[error("A publication can be scheduled for at most a year ahead")]
    ScheduleTooFar,
    #[error("No publication of this version is scheduled")]
    NotScheduled,
    #[error("A higher version of this app was uploaded")]
    Superseded,
    #[error("A higher version of this app is published")]
    Outdated,
    #[error("This version is not published")]
    NotPublished,
    #[error("This version is withdrawn already")]
    AlreadyYanked,
    #[error("This version is not withdrawn")]
    NotYanked,
    #[error("This version is withdrawn")]
    Withdrawn,
    #[error("A pre-release is never installed by default")]
    PreRelease,
    #[error("New installs get this version already")]
    AlreadyCurrent,
    #[error("The store has withdrawn this version")]
    YankedByStore,
}
