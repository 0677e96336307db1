//! Sessions in which the tools of developers wait for an answer in the browser.

use super::columns::{keys, read_json};
use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::operation::VisitorNetwork;
use souk_domain::publishing::tools::{ToolAction, ToolAnswer, ToolSession, ToolSessions, ToolStatus};
use souk_domain::shared::{StorageError, Timestamp};

pub struct SqlToolSessions<'s>(pub &'s mut Connection);

#[async_trait]
impl ToolSessions for SqlToolSessions<'_> {
    async fn insert(&mut self, session: &ToolSession, visitor: &VisitorNetwork) -> Result<(), StorageError> {
        let insert = "INSERT INTO tool_sessions (token, action, status, source, address, encryption_key, apps, config, error, visitor,
                          created_at, expires_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let query = self.0.query(insert).bind(&session.token).bind(session.action).bind(session.status).bind(&session.source);
        let query = query.bind(&session.address).bind(session.encryption_key).bind(keys(&session.apps)).bind(&session.config);
        let query = query.bind(&session.error).bind(visitor.stored()).bind(session.created_at).bind(session.expires_at);
        query.execute().await.map(drop)
    }

    async fn find(&mut self, token: &str, now: Timestamp) -> Result<Option<ToolSession>, StorageError> {
        let select = "SELECT * FROM tool_sessions WHERE token = $1 AND expires_at > $2";
        let row = self.0.query(select).bind(token).bind(now).optional().await?;
        row.as_ref().map(tool_session).transpose()
    }

    async fn scan(&mut self, token: &str) -> Result<(), StorageError> {
        let update = "UPDATE tool_sessions SET status = $2 WHERE token = $1 AND status = $3";
        self.0.query(update).bind(token).bind(ToolStatus::Scanned).bind(ToolStatus::Created).execute().await.map(drop)
    }

    async fn answer(
        &mut self,
        token: &str,
        answer: &ToolAnswer<'_>,
        now: Timestamp,
        readable_until: Timestamp,
    ) -> Result<bool, StorageError> {
        let (status, config, error) = match *answer {
            ToolAnswer::Approved { config } => (ToolStatus::Succeed, Some(config), ""),
            ToolAnswer::Denied { reason } => (ToolStatus::Error, None, reason),
        };
        let update = "UPDATE tool_sessions SET status = $2, config = $3, error = $4, expires_at = $5
                      WHERE token = $1 AND status IN ('created', 'scanned') AND expires_at > $6";
        let query = self.0.query(update).bind(token).bind(status).bind(config).bind(error).bind(readable_until).bind(now);
        Ok(query.execute().await? == 1)
    }

    async fn delete(&mut self, action: ToolAction, token: &str) -> Result<(), StorageError> {
        let delete = "DELETE FROM tool_sessions WHERE token = $1 AND action = $2";
        self.0.query(delete).bind(token).bind(action).execute().await.map(drop)
    }

    async fn prune(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM tool_sessions WHERE token IN
                          (SELECT token FROM tool_sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        self.0.query(delete).bind(now).bind(limit).execute().await
    }
}

fn tool_session(row: &Row) -> Result<ToolSession, StorageError> {
    Ok(ToolSession {
        token: row.get("token")?,
        action: row.get("action")?,
        status: row.get("status")?,
        source: row.get("source")?,
        address: row.get("address")?,
        encryption_key: row.get("encryption_key")?,
        apps: read_json(row, "tool_sessions", "apps")?,
        config: row.get("config")?,
        error: row.get("error")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
    })
}
