//! Counts what happens for one subject within an hour, in the database: the limit holds for all processes together.

use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

pub const HOUR: Duration = Duration::from_secs(3_600);

#[async_trait]
pub trait HourlyCounts: Send {
    /// Counts one more for the subject in the hour that starts at `hour`. False: it has had `limit` in it, and nothing was counted.
    async fn count(&mut self, subject: &str, hour: Timestamp, limit: u32) -> Result<bool, StorageError>;
    /// Removes counts of hours that started before `before`.
    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}

/// The start of the hour of UTC.
#[must_use]
pub fn hour_of(now: Timestamp) -> Timestamp {
    let length = HOUR.as_secs().cast_signed();
    Timestamp::from_seconds(now.seconds().div_euclid(length) * length)
}
