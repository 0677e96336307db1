//! What the store records of reviews.

use super::super::ReviewType;
use super::super::bundle::Group;
use super::super::named::named;
use super::machine::ReviewEvent;
use super::need::ReviewNeed;
use super::state::{Review, ReviewRole, VersionStatus};
use crate::access::Did;
use crate::shared::{CategoryId, Listed, Page, ReviewEntryId, StorageError, Timestamp, VersionId};
use async_trait::async_trait;
use semver::Version;

/// The most entries of a thread that are shown, the latest ones.
pub const THREAD_MAX: u32 = 500;

/// An app with what its reviews depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedApp {
    pub did: Did,
    pub name: String,
    /// The developer.
    pub owner: Did,
    /// The highest version that was uploaded.
    pub latest: Version,
    /// Why the app is blocked; `None`: it is not.
    pub block_reason: Option<String>,
    /// Chosen by a reviewer; where no review is required, by the developer at the first publication.
    pub category: Option<CategoryId>,
    /// Chosen by a reviewer; `None`: that of the preferences.
    pub review_type: Option<ReviewType>,
    /// Until when the store publishes updates by itself, as soon as they may be published; `None`: its developer publishes them.
    pub auto_publish_until: Option<Timestamp>,
    /// It is not listed, but found and installed by its link.
    pub is_private: bool,
}

impl ReviewedApp {
    /// Whether the store publishes its updates by itself.
    #[must_use]
    pub fn has_auto_publish(&self, now: Timestamp) -> bool {
        self.auto_publish_until.is_some_and(|until| until > now)
    }
}

/// A version with its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedVersion {
    pub id: VersionId,
    pub app: Did,
    pub version: Version,
    pub review: Review,
    pub uploaded_at: Timestamp,
    pub requested_at: Option<Timestamp>,
    /// Why it needed a review when that was requested. `None`: it needed none, or no review was requested.
    pub need: Option<ReviewNeed>,
    pub published_at: Option<Timestamp>,
    /// `None`: it is a resource.
    pub group: Option<Group>,
    /// The bytes of the bundle.
    pub size: u64,
}

named! {
    /// The kind of an entry of a thread.
    EntryKind {
        Requested = "requested",
        Started = "started",
        Renewed = "renewed",
        TakenOver = "taken_over",
        Commented = "commented",
        ChangesRequested = "changes_requested",
        Approved = "approved",
        Rejected = "rejected",
        Cancelled = "cancelled",
        Appealed = "appealed",
        AppealGranted = "appeal_granted",
        AppealDenied = "appeal_denied",
        Published = "published",
        Scheduled = "scheduled",
        Unscheduled = "unscheduled",
        /// The store has not published the version by itself.
        NotPublished = "not_published",
        Yanked = "yanked",
        YankUndone = "yank_undone",
        RolledBack = "rolled_back",
        Replaced = "replaced",
        AppBlocked = "app_blocked",
        AppUnblocked = "app_unblocked",
        /// The store keeps the deposit of an app that was blocked before.
        DepositKept = "deposit_kept",
    }
}

impl From<&ReviewEvent> for EntryKind {
    fn from(event: &ReviewEvent) -> Self {
        match event {
            ReviewEvent::Requested => Self::Requested,
            ReviewEvent::Started => Self::Started,
            ReviewEvent::Renewed => Self::Renewed,
            ReviewEvent::TakenOver => Self::TakenOver,
            ReviewEvent::Commented => Self::Commented,
            ReviewEvent::ChangesRequested => Self::ChangesRequested,
            ReviewEvent::Approved { .. } => Self::Approved,
            ReviewEvent::Rejected => Self::Rejected,
            ReviewEvent::Cancelled => Self::Cancelled,
            ReviewEvent::Appealed => Self::Appealed,
            ReviewEvent::AppealGranted => Self::AppealGranted,
            ReviewEvent::AppealDenied => Self::AppealDenied,
            ReviewEvent::Published => Self::Published,
            ReviewEvent::Scheduled => Self::Scheduled,
            ReviewEvent::Unscheduled => Self::Unscheduled,
            ReviewEvent::Yanked => Self::Yanked,
            ReviewEvent::YankUndone => Self::YankUndone,
            ReviewEvent::RolledBack => Self::RolledBack,
            ReviewEvent::Replaced => Self::Replaced,
            ReviewEvent::AppBlocked => Self::AppBlocked,
            ReviewEvent::AppUnblocked => Self::AppUnblocked,
        }
    }
}

/// An entry of the thread of a version: a step with what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadEntry {
    pub id: ReviewEntryId,
    pub version: VersionId,
    pub kind: EntryKind,
    pub actor: Did,
    pub role: ReviewRole,
    /// Empty: the step says nothing.
    pub comment: String,
    pub at: Timestamp,
}

/// A version in the queue of reviewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedVersion {
    pub version: ReviewedVersion,
    pub app_name: String,
    pub owner: Did,
}

#[async_trait]
pub trait Reviews: Send {
    /// The app. Until the unit of work ends, no other one takes a step on its versions.
    async fn lock_app(&mut self, app: &Did) -> Result<Option<ReviewedApp>, StorageError>;
    async fn find_app(&mut self, app: &Did) -> Result<Option<ReviewedApp>, StorageError>;
    /// Blocks the app, or ends the block.
    async fn set_block(&mut self, app: &Did, reason: Option<&str>, now: Timestamp) -> Result<(), StorageError>;
    async fn set_private(&mut self, app: &Did, is_private: bool, now: Timestamp) -> Result<(), StorageError>;
    /// Sets until when the store publishes updates of the app by itself.
    async fn set_auto_publish(&mut self, app: &Did, until: Option<Timestamp>, now: Timestamp) -> Result<(), StorageError>;
    /// Stores what a reviewer has chosen; a review type of `None` stays as it is.
    async fn decide(&mut self, app: &Did, category: &CategoryId, review_type: Option<ReviewType>) -> Result<(), StorageError>;
    async fn find(&mut self, app: &Did, version: &Version) -> Result<Option<ReviewedVersion>, StorageError>;
    /// The version of the app that is pending, in review or approved. There is at most one.
    async fn find_open(&mut self, app: &Did) -> Result<Option<ReviewedVersion>, StorageError>;
    /// Stores review, time of the request and time of the publication.
    async fn update(&mut self, version: &ReviewedVersion) -> Result<(), StorageError>;
    async fn insert_entry(&mut self, entry: &ThreadEntry) -> Result<(), StorageError>;
    async fn find_entry(&mut self, id: &ReviewEntryId) -> Result<Option<ThreadEntry>, StorageError>;
    /// The entries of a version, oldest first; the latest ones if there are more than `limit`.
    async fn thread(&mut self, version: &VersionId, limit: u32) -> Result<Vec<ThreadEntry>, StorageError>;
    /// The versions of these statuses, and rejected ones with an open appeal if `appeals`. Those that wait longest come first.
    async fn queue(&mut self, statuses: &[VersionStatus], appeals: bool, page: &Page) -> Result<Listed<QueuedVersion>, StorageError>;
    /// The versions of an app, newest first.
    async fn versions(&mut self, app: &Did, page: &Page) -> Result<Listed<ReviewedVersion>, StorageError>;
}
