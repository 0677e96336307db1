//! The refusals of reviews, and those of administrators' work with apps.

use super::{Problem, conflict, rejected};
use souk_domain::publishing::managed_apps::SetCategoryError;
use souk_domain::publishing::publication::{AUTO_PUBLISH_DAYS_MAX, AutoPublishError};
use souk_domain::publishing::review::{BLOCK_REASON_MAX, REVIEW_COMMENT_MAX, Refusal, ReviewError};

impl From<ReviewError> for Problem {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::NotFound => Self::not_found(),
            ReviewError::NotDeveloper => Self::forbidden_for(&error.to_string()).code("PASSPORT_NOT_FOUND"),
            ReviewError::NotOwner => conflict(&error, "REVIEW_NOT_OWNER"),
            ReviewError::UnknownCategory => rejected(&error, "CATEGORY_UNKNOWN"),
            ReviewError::Contended => conflict(&error, "REVIEW_CONTENDED"),
            ReviewError::DepositRequired => conflict(&error, "PUBLISH_DEPOSIT_REQUIRED"),
            ReviewError::ChecksPending => conflict(&error, "CHECKS_PENDING"),
            ReviewError::BlockedContent(ref reason) => conflict(&error, "BLOCKED_CONTENT").param("reason", reason),
            ReviewError::NoDeposit => conflict(&error, "APP_HAS_NO_DEPOSIT"),
            ReviewError::DepositReturning => conflict(&error, "APP_DEPOSIT_RETURNING"),
            ReviewError::Refused(refusal) => refusal.into(),
            ReviewError::Terms(error) => error.into(),
            ReviewError::Storage(error) => error.into(),
        }
    }
}

impl From<AutoPublishError> for Problem {
    fn from(error: AutoPublishError) -> Self {
        match error {
            AutoPublishError::NotFound => Self::not_found(),
            AutoPublishError::NotDeveloper => Self::forbidden_for(&error.to_string()).code("PASSPORT_NOT_FOUND"),
            AutoPublishError::Days => rejected(&error, "AUTO_PUBLISH_DAYS").param("max", AUTO_PUBLISH_DAYS_MAX),
            AutoPublishError::Storage(error) => error.into(),
        }
    }
}

impl From<SetCategoryError> for Problem {
    fn from(error: SetCategoryError) -> Self {
        match error {
            SetCategoryError::NotFound => Self::not_found(),
            SetCategoryError::CategoryRequired => rejected(&error, "REVIEW_CATEGORY_REQUIRED"),
            SetCategoryError::UnknownCategory => rejected(&error, "CATEGORY_UNKNOWN"),
            SetCategoryError::OwnApp => Self::forbidden_for(&error.to_string()).code("REVIEW_TYPE_OF_OWN_APP"),
            SetCategoryError::NotUploaded => conflict(&error, "APP_NOT_UPLOADED"),
            SetCategoryError::Storage(error) => error.into(),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let error = &refusal;
        match &refusal {
            Refusal::NotAllowed => Self::forbidden(),
            Refusal::CommentRequired => rejected(error, "REVIEW_COMMENT_REQUIRED"),
            Refusal::CommentTooLong => rejected(error, "REVIEW_COMMENT_TOO_LONG").param("max", REVIEW_COMMENT_MAX),
            Refusal::ReasonRequired => rejected(error, "REVIEW_REASON_REQUIRED"),
            Refusal::ReasonTooLong => rejected(error, "REVIEW_REASON_TOO_LONG").param("max", BLOCK_REASON_MAX),
            Refusal::CategoryRequired => rejected(error, "REVIEW_CATEGORY_REQUIRED"),
            Refusal::NotCommentable => conflict(error, "REVIEW_NOT_COMMENTABLE"),
            Refusal::AppBlocked => conflict(error, "REVIEW_APP_BLOCKED"),
            Refusal::AlreadyBlocked => conflict(error, "REVIEW_ALREADY_BLOCKED"),
            Refusal::NotBlocked => conflict(error, "REVIEW_NOT_BLOCKED"),
            Refusal::NotRequested => conflict(error, "REVIEW_NOT_REQUESTED"),
            Refusal::AlreadyInReview => conflict(error, "REVIEW_ALREADY_IN_REVIEW"),
            Refusal::NotStarted => conflict(error, "REVIEW_NOT_STARTED"),
            Refusal::AlreadyApproved => conflict(error, "REVIEW_ALREADY_APPROVED"),
            Refusal::Rejected => conflict(error, "REVIEW_REJECTED"),
            Refusal::Cancelled => conflict(error, "REVIEW_CANCELLED"),
            Refusal::AlreadyPublished => conflict(error, "REVIEW_ALREADY_PUBLISHED"),
            Refusal::ClaimedBy(_) => conflict(error, "REVIEW_CLAIMED_BY_OTHER"),
            Refusal::ClaimedByYou => conflict(error, "REVIEW_CLAIMED_BY_YOU"),
            Refusal::ClaimExpired => conflict(error, "REVIEW_CLAIM_EXPIRED"),
            Refusal::Excluded => conflict(error, "REVIEW_EXCLUDED"),
            Refusal::ChangesRequestedAlready => conflict(error, "REVIEW_CHANGES_REQUESTED"),
            Refusal::NoChangesRequested => conflict(error, "REVIEW_NO_CHANGES_REQUESTED"),
            Refusal::NotRejected => conflict(error, "REVIEW_NOT_REJECTED"),
            Refusal::AppealedAlready => conflict(error, "REVIEW_APPEALED"),
            Refusal::NoAppeal => conflict(error, "REVIEW_NO_APPEAL"),
            Refusal::OwnDecision => conflict(error, "REVIEW_OWN_DECISION"),
            Refusal::NeedsReview(_) => conflict(error, "REVIEW_NEEDED"),
            Refusal::ScheduleInPast => rejected(error, "SCHEDULE_IN_PAST"),
            Refusal::ScheduleTooFar => rejected(error, "SCHEDULE_TOO_FAR"),
            Refusal::NotScheduled => conflict(error, "REVIEW_NOT_SCHEDULED"),
            Refusal::Superseded => conflict(error, "REVIEW_SUPERSEDED"),
            Refusal::Outdated => conflict(error, "REVIEW_OUTDATED"),
            Refusal::NotPublished => conflict(error, "REVIEW_NOT_PUBLISHED"),
            Refusal::AlreadyYanked => conflict(error, "REVIEW_ALREADY_YANKED"),
            Refusal::NotYanked => conflict(error, "REVIEW_NOT_YANKED"),
            Refusal::Withdrawn => conflict(error, "REVIEW_WITHDRAWN"),
            Refusal::PreRelease => conflict(error, "REVIEW_PRE_RELEASE"),
            Refusal::AlreadyCurrent => conflict(error, "REVIEW_ALREADY_CURRENT"),
            Refusal::YankedByStore => conflict(error, "REVIEW_YANKED_BY_STORE"),
        }
    }
}
