//! Access tokens of developers, and the nonces of the requests that they have signed.

use super::columns::{read_json, to_json};
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::publishing::access_tokens::{AccessToken, AccessTokens, AppPattern, TokenScope};
use souk_domain::shared::{StorageError, Timestamp};
use std::time::Duration;

/// The shortest time between two updates of a token's last use.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Due reminders. Those of expired tokens are claimed as well, so that the scan does not find them again.
pub(super) const CLAIM_REMINDERS: Sql = sql_per_dialect!(
    "UPDATE access_tokens SET remind_at = NULL WHERE id IN
         (SELECT id FROM access_tokens WHERE remind_at <= $1 ORDER BY remind_at LIMIT $2" (either "" " FOR UPDATE SKIP LOCKED") ")
     RETURNING *"
);

/// The tokens of CI that have expired before `$1`.
macro_rules! expired_of_ci {
    ($delete:literal) => {
        concat!(
            $delete,
            " IN (SELECT id FROM access_tokens WHERE publisher_id IS NOT NULL AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2)"
        )
    };
}
const PRUNE_NONCES_OF_CI: &str = expired_of_ci!("DELETE FROM request_nonces WHERE token_id");
const PRUNE_OF_CI: &str = expired_of_ci!("DELETE FROM access_tokens WHERE id");

pub struct SqlAccessTokens<'s>(pub &'s mut Connection);

#[async_trait]
impl AccessTokens for SqlAccessTokens<'_> {
    async fn insert(&mut self, token: &AccessToken) -> Result<(), StorageError> {
        self.0.note_did(&token.id);
        let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.name()).collect();
        let apps: Vec<_> = token.apps.iter().map(AppPattern::as_str).collect();
        let insert = "INSERT INTO access_tokens (id, user_did, passport_id, name, public_key, scopes, apps, created_at, expires_at,
                          remind_at, last_used_at, publisher_id)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let query = self.0.query(insert).bind(&token.id).bind(&token.owner).bind(&token.passport_id).bind(&token.name);
        let query = query.bind(&token.public_key).bind(to_json(&scopes)?).bind(to_json(&apps)?).bind(token.created_at);
        let query = query.bind(token.expires_at).bind(token.remind_at).bind(token.last_used_at).bind(token.publisher.as_ref());
        query.execute().await.map(drop)
    }

    async fn find(&mut self, id: &Did) -> Result<Option<AccessToken>, StorageError> {
        let row = self.0.query("SELECT * FROM access_tokens WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(token).transpose()
    }

    async fn list(&mut self, owner: &Did, limit: u32) -> Result<Vec<AccessToken>, StorageError> {
        let select = "SELECT * FROM access_tokens WHERE user_did = $1 AND publisher_id IS NULL ORDER BY created_at DESC, id LIMIT $2";
        self.0.query(select).bind(owner).bind(limit).all().await?.iter().map(token).collect()
    }

    async fn delete(&mut self, owner: &Did, id: &Did) -> Result<bool, StorageError> {
        let nonces = "DELETE FROM request_nonces WHERE token_id IN (SELECT id FROM access_tokens WHERE id = $1 AND user_did = $2)";
        self.0.query(nonces).bind(id).bind(owner).execute().await?;
        let delete = "DELETE FROM access_tokens WHERE id = $1 AND user_did = $2";
        Ok(self.0.query(delete).bind(id).bind(owner).execute().await? == 1)
    }

    async fn touch(&mut self, id: &Did, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE access_tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)";
        self.0.query(update).bind(id).bind(now).bind(now.minus(TOUCH_INTERVAL)).execute().await.map(drop)
    }

    async fn claim_reminders(&mut self, now: Timestamp, limit: u32) -> Result<Vec<AccessToken>, StorageError> {
        let rows = self.0.query_per_dialect(CLAIM_REMINDERS).bind(now).bind(limit).all().await?;
        let mut due = rows.iter().map(token).collect::<Result<Vec<_>, _>>()?;
        due.retain(|token| token.expires_at > now);
        Ok(due)
    }

    async fn use_nonce(&mut self, id: &Did, nonce: &str, expires_at: Timestamp) -> Result<bool, StorageError> {
        let insert = "INSERT INTO request_nonces (token_id, nonce, expires_at) VALUES ($1, $2, $3)
                      ON CONFLICT (token_id, nonce) DO NOTHING";
        Ok(self.0.query(insert).bind(id).bind(nonce).bind(expires_at).execute().await? == 1)
    }

    async fn prune_of_ci(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        self.0.query(PRUNE_NONCES_OF_CI).bind(before).bind(limit).execute().await?;
        self.0.query(PRUNE_OF_CI).bind(before).bind(limit).execute().await
    }

    async fn prune_nonces(&mut self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM request_nonces WHERE (token_id, nonce) IN
                      (SELECT token_id, nonce FROM request_nonces WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
        self.0.query(delete).bind(now).bind(limit).execute().await
    }
}

fn token(row: &Row) -> Result<AccessToken, StorageError> {
    let corrupt = |column| move || StorageError::Corrupt { table: "access_tokens", column, value: String::new() };
    let (scopes, apps): (Vec<String>, Vec<String>) = (read_json(row, "access_tokens", "scopes")?, read_json(row, "access_tokens", "apps")?);
    Ok(AccessToken {
        id: row.get("id")?,
        owner: row.get("user_did")?,
        passport_id: row.get("passport_id")?,
        name: row.get("name")?,
        public_key: row.get("public_key")?,
        scopes: scopes.iter().map(|name| TokenScope::from_name(name)).collect::<Option<_>>().ok_or_else(corrupt("scopes"))?,
        apps: apps.iter().map(|text| AppPattern::parse(text)).collect::<Option<_>>().ok_or_else(corrupt("apps"))?,
        publisher: row.get("publisher_id")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        remind_at: row.get("remind_at")?,
        last_used_at: row.get("last_used_at")?,
    })
}
