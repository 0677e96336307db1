//! The review of versions. One pure state machine decides who may take which step in which status, and names each refusal; the use cases
//! around it read and store.

mod by_store;
mod emails;
mod guards;
mod machine;
mod need;
mod page_events;
mod reading;
mod records;
mod refusal;
mod risks;
mod state;
mod take;

#[cfg(test)]
mod histories;
#[cfg(test)]
mod table;

pub use by_store::Unpublished;
pub(super) use by_store::{is_due_by_store, is_open, publishes_updates, report_unpublished};
pub(super) use emails::tell_developer;
pub use emails::{ReviewEmail, ReviewMailer, compose_review_email};
pub use machine::{Outcome, ReviewEvent, take_step};
pub use need::{ReviewNeed, RiskyDifferences, review_need};
pub use page_events::{REVIEWED_EVENT, followers_of};
pub use reading::{QueueFilter, ReviewDetails, UploadedVersions, find_review, list_reviews, list_uploads};
pub use records::{EntryKind, QueuedVersion, ReviewedApp, ReviewedVersion, Reviews, THREAD_MAX, ThreadEntry};
pub use refusal::Refusal;
pub use risks::RiskProfile;
pub use state::{
    AppReviewFacts, Appeal, BLOCK_REASON_MAX, CLAIM_LIFETIME, CancelReason, Claim, REVIEW_COMMENT_MAX, Review, ReviewActor, ReviewRole,
    SCHEDULE_MAX, Step, VersionStatus, Yank,
};
pub(super) use take::{Involved, actor_of, facts_of, lock_involved, order_publication, take_in};
pub use take::{ReviewError, take_review_step};
