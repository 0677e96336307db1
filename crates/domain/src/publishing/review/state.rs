//! What the machine knows about a version and its app, and the steps.

use super::super::named::named;
use super::super::{Preferences, ReviewType};
use super::need::RiskyDifferences;
use crate::access::{Did, Role};
use crate::shared::{CategoryId, Timestamp};
use std::time::Duration;

/// How long a started review belongs to its reviewer, unless it is renewed.
pub const CLAIM_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// The longest comment, in characters.
pub const REVIEW_COMMENT_MAX: usize = 5_000;
/// How far ahead a publication can be scheduled.
pub const SCHEDULE_MAX: Duration = Duration::from_secs(365 * 24 * 3_600);
/// The longest reason of a block, in characters (reference/store.md 1.5).
pub const BLOCK_REASON_MAX: usize = 255;

named! {
    /// The status of a version, spelled as on the wire (reference/store.md 2).
    VersionStatus {
        Draft = "DRAFT",
        PendingReview = "PENDING_REVIEW",
        InReview = "IN_REVIEW",
        Approved = "APPROVED",
        /// Final for the version: its developer uploads a higher one.
        Rejected = "REJECTED",
        Published = "PUBLISHED",
        /// Final for the version.
        Cancelled = "CANCELLED",
    }
}

impl VersionStatus {
    /// Whether a version of this status keeps its app from getting another one, unless changes were requested.
    #[must_use]
    pub const fn is_under_review(self) -> bool {
        matches!(self, Self::PendingReview | Self::InReview | Self::Approved)
    }
}

named! {
    /// In which role somebody takes a step. A user has exactly one towards an app: see [`ReviewRole::of`].
    ReviewRole {
        AppOwner = "app_owner",
        OtherDeveloper = "other_developer",
        Reviewer = "reviewer",
        Admin = "admin",
        StoreOwner = "store_owner",
        /// The store itself: automatic publishing, an upload that replaces a version, a revoked stake.
        System = "system",
    }
}

impl ReviewRole {
    /// The role of a user who holds these roles towards an app. The owner of an app is nothing else towards it, so that nobody reviews or
    /// unblocks their own app. `None`: the user may do nothing.
    #[must_use]
    pub fn of(is_app_owner: bool, held: &[Role]) -> Option<Self> {
        if is_app_owner {
            return Some(Self::AppOwner);
        }
        held.iter().max().map(|role| match role {
            Role::Owner => Self::StoreOwner,
            Role::Admin => Self::Admin,
            Role::Reviewer => Self::Reviewer,
            Role::Developer => Self::OtherDeveloper,
        })
    }

    /// Whether the role judges versions.
    #[must_use]
    pub const fn is_staff(self) -> bool {
        matches!(self, Self::Reviewer | Self::Admin | Self::StoreOwner)
    }

    #[must_use]
    pub const fn is_admin(self) -> bool {
        matches!(self, Self::Admin | Self::StoreOwner)
    }
}

/// Who takes a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewActor {
    /// The developer of the app for the system, which has no user.
    pub did: Did,
    pub role: ReviewRole,
}

/// A review that belongs to a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub reviewer: Did,
    pub until: Timestamp,
}

named! {
    /// A developer's appeal against a rejection. The rejection of the version stays; if the appeal is granted, another reviewer judges the
    /// higher version that follows.
    Appeal {
        Open = "open",
        Granted = "granted",
        Denied = "denied",
    }
}

named! {
    /// Who has withdrawn a published version. What the store has withdrawn, its developer does not bring back.
    Yank {
        ByDeveloper = "developer",
        ByStore = "store",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelReason {
    /// By the owner of the app.
    Cancelled,
    /// The note of the version is "Replaced by {0}".
    ReplacedBy(String),
}

/// The review of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub status: VersionStatus,
    /// Of a version in review; it can have expired.
    pub claim: Option<Claim>,
    /// The reviewer has asked for changes, so that one higher version may be uploaded.
    pub changes_requested: bool,
    /// Who has approved or rejected it.
    pub decided_by: Option<Did>,
    pub appeal: Option<Appeal>,
    /// The reviewer who has rejected the version before, and whose rejection was appealed successfully: not the reviewer of this one.
    pub excluded_reviewer: Option<Did>,
    pub cancel_reason: Option<CancelReason>,
    pub yank: Option<Yank>,
    /// When the store publishes it, once that is allowed.
    pub publish_at: Option<Timestamp>,
}

impl Review {
    /// The review of an uploaded version. `excluded_reviewer`: that of a granted appeal against the version before.
    #[must_use]
    pub const fn draft(excluded_reviewer: Option<Did>) -> Self {
        Self {
            status: VersionStatus::Draft,
            claim: None,
            changes_requested: false,
            decided_by: None,
            appeal: None,
            excluded_reviewer,
            cancel_reason: None,
            yank: None,
            publish_at: None,
        }
    }

    /// The reviewer who may not judge the next version: a granted appeal hands it to another one.
    #[must_use]
    pub fn excluded_from_next(&self) -> Option<Did> {
        if self.appeal == Some(Appeal::Granted) { self.decided_by.clone() } else { self.excluded_reviewer.clone() }
    }

    /// Whether another version of the app may be uploaded while this one has its status. One that replaces it cancels it.
    #[must_use]
    pub const fn allows_upload(&self) -> bool {
        match self.status {
            VersionStatus::PendingReview | VersionStatus::Approved => false,
            VersionStatus::InReview => self.changes_requested,
            VersionStatus::Draft | VersionStatus::Rejected | VersionStatus::Published | VersionStatus::Cancelled => true,
        }
    }
}

/// What counts of an app and of the store's preferences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppReviewFacts {
    pub blocked: bool,
    /// Whether a version is published that users get.
    pub has_published: bool,
    /// Whether a higher version is or was published.
    pub has_published_higher: bool,
    /// Whether a higher version was uploaded.
    pub has_uploaded_higher: bool,
    pub review_required: bool,
    pub review_type: ReviewType,
    /// What the version adds to the published one.
    pub differences: RiskyDifferences,
    /// Whether new installs get this version.
    pub is_current: bool,
    /// Whether somebody has chosen the category of the app.
    pub has_category: bool,
}

impl AppReviewFacts {
    /// The facts of a new app. `review_type`: that of the app, if a reviewer has chosen one.
    #[must_use]
    pub fn of_new_app(preferences: &Preferences, review_type: Option<ReviewType>) -> Self {
        Self {
            blocked: false,
            has_published: false,
            has_published_higher: false,
            has_uploaded_higher: false,
            review_required: preferences.review_required,
            review_type: review_type.unwrap_or(preferences.review_type),
            differences: RiskyDifferences::default(),
            is_current: false,
            has_category: false,
        }
    }
}

/// A step with what it says. Comments and reasons are required where they are no `Option`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Request,
    /// Begins a review, or continues one whose claim has expired.
    Start,
    Renew,
    TakeOver,
    Comment {
        comment: String,
    },
    RequestChanges {
        comment: String,
    },
    /// `review_type`: of the app from now on; `None`: as before.
    Approve {
        comment: String,
        category: Option<CategoryId>,
        review_type: Option<ReviewType>,
    },
    Reject {
        comment: String,
    },
    Cancel,
    Appeal {
        comment: String,
    },
    GrantAppeal {
        comment: String,
    },
    DenyAppeal {
        comment: String,
    },
    Publish,
    /// Lets the store publish the version at a time, or when it is approved if that is later.
    Schedule {
        at: Timestamp,
    },
    Unschedule,
    Yank {
        reason: String,
    },
    UndoYank,
    /// Lets new installs get this version instead of the highest one.
    RollBack,
    Block {
        reason: String,
    },
    Unblock,
    /// A higher version was uploaded after changes were requested.
    ReplacedBy {
        version: String,
    },
}
