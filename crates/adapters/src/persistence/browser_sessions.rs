//! Browser sessions, and the one-time links that make a user the first owner.

use super::Connection;
use async_trait::async_trait;
use souk_domain::access::{BrowserSessions, Did, TokenHash};
use souk_domain::shared::{StorageError, Timestamp};

pub struct SqlBrowserSessions<'s>(pub &'s mut Connection);

#[async_trait]
impl BrowserSessions for SqlBrowserSessions<'_> {
    async fn insert(&mut self, token: &TokenHash, user: &Did, now: Timestamp, expires_at: Timestamp) -> Result<(), StorageError> {
        let insert = "INSERT INTO browser_sessions (token, user_did, created_at, expires_at) VALUES ($1, $2, $3, $4)";
        self.0.query(insert).bind(token).bind(user).bind(now).bind(expires_at).execute().await?;
        Ok(())
    }

    async fn find(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Did>, StorageError> {
        let select = "SELECT user_did FROM browser_sessions WHERE token = $1 AND expires_at > $2";
        let row = self.0.query(select).bind(token).bind(now).optional().await?;
        row.map(|row| row.get("user_did")).transpose()
    }

    async fn extend(&mut self, token: &TokenHash, now: Timestamp, expires_at: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE browser_sessions SET expires_at = $3 WHERE token = $1 AND expires_at > $2 AND expires_at < $3";
        Ok(self.0.query(update).bind(token).bind(now).bind(expires_at).execute().await? == 1)
    }

    async fn delete(&mut self, token: &TokenHash) -> Result<(), StorageError> {
        self.0.query("DELETE FROM browser_sessions WHERE token = $1").bind(token).execute().await?;
        Ok(())
    }

    async fn insert_owner_link(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError> {
        self.0.query("INSERT INTO owner_links (token, created_at) VALUES ($1, $2)").bind(token).bind(now).execute().await?;
        Ok(())
    }

    async fn use_owner_link(&mut self, token: &TokenHash, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE owner_links SET used_at = $2 WHERE token = $1 AND used_at IS NULL";
        Ok(self.0.query(update).bind(token).bind(now).execute().await? == 1)
    }

    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM browser_sessions WHERE token IN
                      (SELECT token FROM browser_sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        self.0.query(delete).bind(now).bind(limit).execute().await
    }
}
