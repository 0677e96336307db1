//! Browser sessions, and the one-time links that make a user the first owner.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::access::{BrowserSessions, Did, Login, TokenHash};
use souk_domain::shared::{LoginId, StorageError, Timestamp};

pub struct SqlBrowserSessions<'s>(pub &'s mut Connection);

#[async_trait]
impl BrowserSessions for SqlBrowserSessions<'_> {
    async fn insert(&mut self, token: &TokenHash, login: &Login) -> Result<(), StorageError> {
        let insert = "INSERT INTO browser_sessions (token, id, user_did, device, created_at, signed_in_at, used_at, expires_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let query = self.0.query(insert).bind(token).bind(&login.id).bind(&login.user).bind(&login.device).bind(login.created_at);
        query.bind(login.signed_in_at).bind(login.used_at).bind(login.expires_at).execute().await?;
        Ok(())
    }

    async fn find_login(&mut self, token: &TokenHash, now: Timestamp) -> Result<Option<Login>, StorageError> {
        let select = "SELECT * FROM browser_sessions WHERE token = $1 AND expires_at > $2";
        let row = self.0.query(select).bind(token).bind(now).optional().await?;
        row.as_ref().map(login).transpose()
    }

    async fn list(&mut self, user: &Did, now: Timestamp, limit: u32) -> Result<Vec<Login>, StorageError> {
        let select = "SELECT * FROM browser_sessions WHERE user_did = $1 AND expires_at > $2 ORDER BY used_at DESC, id DESC LIMIT $3";
        self.0.query(select).bind(user).bind(now).bind(limit).all().await?.iter().map(login).collect()
    }

    async fn touch(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE browser_sessions SET used_at = $2 WHERE token = $1 AND expires_at > $2 AND used_at < $2";
        self.0.query(update).bind(token).bind(now).execute().await.map(drop)
    }

    async fn sign_in_again(&mut self, token: &TokenHash, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE browser_sessions SET signed_in_at = $2, used_at = $2 WHERE token = $1 AND expires_at > $2";
        self.0.query(update).bind(token).bind(now).execute().await.map(drop)
    }

    async fn end(&mut self, user: &Did, id: &LoginId) -> Result<bool, StorageError> {
        let delete = "DELETE FROM browser_sessions WHERE id = $1 AND user_did = $2";
        Ok(self.0.query(delete).bind(id).bind(user).execute().await? == 1)
    }

    async fn end_others(&mut self, user: &Did, kept: Option<&TokenHash>) -> Result<u64, StorageError> {
        let delete = "DELETE FROM browser_sessions WHERE user_did = $1 AND ($2 IS NULL OR token <> $2)";
        self.0.query(delete).bind(user).bind(kept.copied()).execute().await
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

fn login(row: &Row) -> Result<Login, StorageError> {
    Ok(Login {
        id: row.get("id")?,
        user: row.get("user_did")?,
        device: row.get("device")?,
        created_at: row.get("created_at")?,
        signed_in_at: row.get("signed_in_at")?,
        used_at: row.get("used_at")?,
        expires_at: row.get("expires_at")?,
    })
}
