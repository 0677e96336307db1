//! Counts per subject and hour.

use super::Connection;
use async_trait::async_trait;
use souk_domain::operation::HourlyCounts;
use souk_domain::shared::{StorageError, Timestamp};

pub struct SqlHourlyCounts<'s>(pub &'s mut Connection);

#[async_trait]
impl HourlyCounts for SqlHourlyCounts<'_> {
    async fn count(&mut self, subject: &str, hour: Timestamp, limit: u32) -> Result<bool, StorageError> {
        // A row of another hour is replaced.
        let insert = "INSERT INTO hourly_counts (subject, hour, number) VALUES ($1, $2, 1)
                      ON CONFLICT (subject) DO UPDATE SET hour = excluded.hour,
                          number = CASE WHEN hourly_counts.hour = excluded.hour THEN hourly_counts.number + 1 ELSE 1 END
                      WHERE hourly_counts.hour <> excluded.hour OR hourly_counts.number < $3";
        Ok(self.0.query(insert).bind(subject).bind(hour).bind(limit).execute().await? == 1)
    }

    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM hourly_counts WHERE hour < $1 AND subject IN
                      (SELECT subject FROM hourly_counts WHERE hour < $1 ORDER BY hour LIMIT $2)";
        self.0.query(delete).bind(before).bind(limit).execute().await
    }
}
