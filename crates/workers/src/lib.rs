//! Background work: jobs that the outbox dispatches, and recurring jobs.

pub mod jobs;
pub mod schedule;
