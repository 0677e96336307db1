//! The mails to the owner about findings: one row per finding and day.

use super::Connection;
use async_trait::async_trait;
use souk_domain::operation::OwnerNotices;
use souk_domain::shared::StorageError;

pub struct SqlOwnerNotices<'s>(pub &'s mut Connection);

#[async_trait]
impl OwnerNotices for SqlOwnerNotices<'_> {
    async fn of_day(&mut self, day: i64) -> Result<Vec<String>, StorageError> {
        let rows = self.0.query("SELECT finding FROM owner_notices WHERE day = $1 ORDER BY finding").bind(day).all().await?;
        rows.iter().map(|row| row.get("finding")).collect()
    }

    async fn claim(&mut self, key: &str, day: i64) -> Result<bool, StorageError> {
        let insert = "INSERT INTO owner_notices (day, finding) VALUES ($1, $2) ON CONFLICT (day, finding) DO NOTHING";
        Ok(self.0.query(insert).bind(day).bind(key).execute().await? == 1)
    }
}
