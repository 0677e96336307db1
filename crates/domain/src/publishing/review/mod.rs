//! The review of versions: one pure state machine. It decides who may take which step in which status, and names each refusal.

mod guards;
mod machine;
mod need;
mod refusal;
mod state;

#[cfg(test)]
mod histories;
#[cfg(test)]
mod table;

pub use machine::{Outcome, ReviewEvent, take_step};
pub use need::{ReviewNeed, RiskyDifferences, review_need};
pub use refusal::Refusal;
pub use state::{
    AppReviewFacts, Appeal, BLOCK_REASON_MAX, CLAIM_LIFETIME, CancelReason, Claim, REVIEW_COMMENT_MAX, Review, ReviewActor, ReviewRole,
    Step, VersionStatus, Yank,
};
