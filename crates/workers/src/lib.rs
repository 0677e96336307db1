//! What happens without a page: jobs that the outbox hands out, and rounds that recur.

pub mod jobs;
pub mod schedule;
