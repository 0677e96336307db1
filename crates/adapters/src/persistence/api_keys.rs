//! API keys of scripts and integrators.

use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::access::{ApiKey, ApiKeys, TokenHash};
use souk_domain::shared::{ApiKeyId, StorageError, Timestamp};
use std::time::Duration;

/// The shortest time between two updates of a key's last use, so that a busy key does not cause a write with every request.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

pub struct SqlApiKeys<'s>(pub &'s mut Connection);

#[async_trait]
impl ApiKeys for SqlApiKeys<'_> {
    async fn insert(&mut self, key: &ApiKey, hash: &TokenHash) -> Result<(), StorageError> {
        self.0.note(&key.id);
        let insert = "INSERT INTO api_keys (id, hash, name, livemode, scopes, created_at, last_used_at, revoked_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let query = self.0.query(insert).bind(&key.id).bind(hash).bind(&key.name).bind(key.mode).bind(&key.scopes);
        query.bind(key.created_at).bind(key.last_used_at).bind(key.revoked_at).execute().await?;
        Ok(())
    }

    async fn find(&mut self, hash: &TokenHash) -> Result<Option<ApiKey>, StorageError> {
        let row = self.0.query("SELECT * FROM api_keys WHERE hash = $1 AND revoked_at IS NULL").bind(hash).optional().await?;
        row.as_ref().map(api_key).transpose()
    }

    async fn list(&mut self) -> Result<Vec<ApiKey>, StorageError> {
        let rows = self.0.query("SELECT * FROM api_keys ORDER BY id DESC").all().await?;
        rows.iter().map(api_key).collect()
    }

    async fn revoke(&mut self, id: &ApiKeyId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn touch(&mut self, id: &ApiKeyId, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)";
        self.0.query(update).bind(id).bind(now).bind(now.minus(TOUCH_INTERVAL)).execute().await?;
        Ok(())
    }
}

fn api_key(row: &Row) -> Result<ApiKey, StorageError> {
    Ok(ApiKey {
        id: row.get("id")?,
        name: row.get("name")?,
        mode: row.get("livemode")?,
        scopes: row.get("scopes")?,
        created_at: row.get("created_at")?,
        last_used_at: row.get("last_used_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
