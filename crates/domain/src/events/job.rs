//! Those who carry messages out.

use super::Topic;
use crate::shared::{EventId, StorageError};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// A job is tried this often before it is dead.
pub const MAX_ATTEMPTS: u32 = 10;

/// A message in the hands of its consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: EventId,
    pub topic: Topic,
    /// A consumer loads what it needs by the ids, and does nothing when it is gone or done.
    pub payload: BTreeMap<String, String>,
    /// 1 for the first attempt. An attempt whose process died counts; a retried message counts on.
    pub attempt: u32,
}

impl Job {
    /// What the message carries under `name`; a message without it can never be carried out.
    pub fn value(&self, name: &str) -> Result<&str, JobError> {
        let value = self.payload.get(name).map(String::as_str);
        value.ok_or_else(|| JobError::Fail(format!("the message names no {name}")))
    }
}

/// Why a job did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Try again later, unless that was the last attempt.
    #[error("{0}")]
    Retry(String),
    /// Never try again.
    #[error("{0}")]
    Fail(String),
}

impl From<StorageError> for JobError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Corrupt { .. } => Self::Fail(error.to_string()),
            StorageError::Duplicate(_) | StorageError::Conflict | StorageError::Driver(_) => Self::Retry(error.to_string()),
        }
    }
}

/// Carries out jobs. The same job may come twice, also at the same time after a stall; its effect must not.
#[async_trait]
pub trait Handler: Send + Sync {
    async fn handle(&self, job: Job) -> Result<(), JobError>;
}
