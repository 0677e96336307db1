//! Jobs: messages of the outbox as their consumers receive them.

use super::Topic;
use crate::shared::{EventId, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// After this many attempts a job becomes a dead letter.
pub const MAX_ATTEMPTS: u32 = 10;

/// A message that is delivered to its consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: EventId,
    pub topic: Topic,
    /// Ids only. The consumer loads the objects, and does nothing if they are gone or handled already.
    pub payload: BTreeMap<String, String>,
    /// Counts from 1. An attempt whose process died counts. A manual retry continues the count.
    pub attempt: u32,
}

impl Job {
    /// The payload value under `name`. A message without it fails permanently.
    pub fn value(&self, name: &str) -> Result<&str, JobError> {
        let value = self.payload.get(name).map(String::as_str);
        value.ok_or_else(|| JobError::Fail(format!("the message names no {name}")))
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// It is retried later, unless this was the last attempt.
    #[error("{0}")]
    Retry(String),
    /// It has to wait for its time, however often: this is no failure and does not count as an attempt.
    #[error("it waits until {}", .0.to_iso())]
    Later(Timestamp),
    /// It is never retried.
    #[error("{0}")]
    Fail(String),
}

impl From<StorageError> for JobError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Corrupt { .. } => Self::Fail(error.to_string()),
            StorageError::Duplicate(_) | StorageError::Conflict | StorageError::CommitUnknown(_) => Self::Retry(error.to_string()),
            StorageError::NoSpace(_) | StorageError::Driver(_) => Self::Retry(error.to_string()),
        }
    }
}

/// Handles jobs. A job can be delivered twice, after a stall even concurrently, but must take effect only once.
#[async_trait]
pub trait Handler: Send + Sync {
    async fn handle(&self, job: Job) -> Result<(), JobError>;
}
