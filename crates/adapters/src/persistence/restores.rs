//! Restores of this store from backups: one row each. The last one counts.

use super::Connection;
use super::number_gaps::skip_numbers;
use async_trait::async_trait;
use souk_domain::operation::{ImportFailure, Restore, Restores};
use souk_domain::shared::{StorageError, Timestamp};
use std::time::Duration;

pub struct SqlRestores<'s>(pub &'s mut Connection);

#[async_trait]
impl Restores for SqlRestores<'_> {
    async fn latest(&mut self) -> Result<Option<Restore>, StorageError> {
        let row = self.0.query("SELECT * FROM restores ORDER BY restored_at DESC LIMIT 1").optional().await?;
        row.map(|row| {
            let (reason, at): (Option<String>, Option<Timestamp>) = (row.get("import_failure")?, row.get("import_failed_at")?);
            Ok(Restore {
                restored_at: row.get("restored_at")?,
                backup_at: row.get("backup_at")?,
                stopped_at: row.get("stopped_at")?,
                stopped_by: row.get("stopped_by")?,
                imported_at: row.get("imported_at")?,
                import_failure: reason.zip(at).map(|(reason, at)| ImportFailure { reason, at }),
                released_at: row.get("released_at")?,
            })
        })
        .transpose()
    }

    async fn insert(&mut self, mut restore: Restore) -> Result<Restore, StorageError> {
        if let Some(last) = self.latest().await? {
            restore.restored_at = restore.restored_at.max(last.restored_at.plus(Duration::from_micros(1)));
        }
        let insert = "INSERT INTO restores (restored_at, backup_at, stopped_at, stopped_by, imported_at, import_failure, import_failed_at,
                          released_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let query = self.0.query(insert).bind(restore.restored_at).bind(restore.backup_at).bind(restore.stopped_at);
        let query = query.bind(&restore.stopped_by).bind(restore.imported_at);
        let failure = restore.import_failure.as_ref();
        let query = query.bind(failure.map(|failure| failure.reason.clone())).bind(failure.map(|failure| failure.at));
        query.bind(restore.released_at).execute().await?;
        Ok(restore)
    }

    async fn state_stopped(&mut self, by: &str, now: Timestamp) -> Result<bool, StorageError> {
        let update =
            "UPDATE restores SET stopped_at = $1, stopped_by = $2, imported_at = NULL, import_failure = NULL, import_failed_at = NULL
                      WHERE restored_at = (SELECT MAX(restored_at) FROM restores) AND stopped_at IS NULL AND released_at IS NULL";
        Ok(self.0.query(update).bind(now).bind(by).execute().await? == 1)
    }

    async fn skip_numbers(&mut self, restore: &Restore, until: Timestamp) -> Result<(), StorageError> {
        skip_numbers(self.0, restore, until).await
    }

    async fn record_import(&mut self, restore: &Restore, began: Timestamp, failure: Option<&str>) -> Result<(), StorageError> {
        let imported = "UPDATE restores SET imported_at = $1, import_failure = NULL, import_failed_at = NULL
                        WHERE restored_at = $2 AND (stopped_at IS NOT NULL) = $3 AND released_at IS NULL";
        let failed = "UPDATE restores SET import_failed_at = $1, import_failure = $4
                      WHERE restored_at = $2 AND (stopped_at IS NOT NULL) = $3 AND released_at IS NULL";
        let query = self.0.query(if failure.is_none() { imported } else { failed });
        let query = query.bind(began).bind(restore.restored_at).bind(restore.stopped_at.is_some());
        match failure {
            None => query.execute().await.map(drop),
            Some(reason) => query.bind(reason).execute().await.map(drop),
        }
    }

    async fn release(&mut self, now: Timestamp) -> Result<(), StorageError> {
        self.0.query("UPDATE restores SET released_at = $1 WHERE released_at IS NULL").bind(now).execute().await.map(drop)
    }
}
