//! Stored responses of requests with an `Idempotency-Key`. Their bodies contain client secrets of card payments, names and addresses,
//! so this module encrypts them.

use super::Connection;
use super::secret_box::{SecretBox, place};
use async_trait::async_trait;
use souk_domain::shared::{StorageError, Timestamp};
use souk_domain::storage::{IdempotencyKeys, StoredResponse};

/// The number of tries to take a key: the request that holds it may free it before its row can be read.
const TAKE_TRIES: u32 = 3;

const TABLE: &str = "idempotency_keys";
const BODY: &str = "body";

pub struct SqlIdempotencyKeys<'s> {
    pub connection: &'s mut Connection,
    pub secrets: &'s SecretBox,
}

/// Identifies a row as the place of its secret.
fn row_of(caller: &str, key: &str) -> String {
    format!("{caller}:{key}")
}

#[async_trait]
impl IdempotencyKeys for SqlIdempotencyKeys<'_> {
    async fn take(
        &mut self,
        caller: &str,
        key: &str,
        fingerprint: &str,
        now: Timestamp,
        stale_before: Timestamp,
    ) -> Result<Option<StoredResponse>, StorageError> {
        let take = "INSERT INTO idempotency_keys (caller, key, fingerprint, taken_at) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (caller, key) DO UPDATE SET fingerprint = excluded.fingerprint, taken_at = excluded.taken_at
                        WHERE idempotency_keys.status IS NULL AND idempotency_keys.taken_at < $5";
        let find = "SELECT fingerprint, status, body FROM idempotency_keys WHERE caller = $1 AND key = $2";
        for _ in 0..TAKE_TRIES {
            let query = self.connection.query(take).bind(caller).bind(key).bind(fingerprint).bind(now).bind(stale_before);
            if query.execute().await? == 1 {
                return Ok(None);
            }
            if let Some(row) = self.connection.query(find).bind(caller).bind(key).optional().await? {
                let status = row.get::<Option<u32>>("status")?.and_then(|status| u16::try_from(status).ok());
                let body: Option<Vec<u8>> = row.get(BODY)?;
                let body = body.map(|sealed| self.secrets.open_column(TABLE, BODY, &row_of(caller, key), &sealed)).transpose()?;
                let answer = status.zip(body);
                return Ok(Some(StoredResponse { fingerprint: row.get("fingerprint")?, answer }));
            }
        }
        Err(StorageError::Driver("an idempotency key could neither be taken nor found".into()))
    }

    async fn keep(&mut self, caller: &str, key: &str, status: u16, body: &str) -> Result<(), StorageError> {
        let update = "UPDATE idempotency_keys SET status = $3, body = $4 WHERE caller = $1 AND key = $2 AND status IS NULL";
        let sealed = self.secrets.encrypt(&place(TABLE, BODY, &row_of(caller, key)), body)?;
        self.connection.query(update).bind(caller).bind(key).bind(u32::from(status)).bind(sealed).execute().await?;
        Ok(())
    }

    async fn free(&mut self, caller: &str, key: &str) -> Result<(), StorageError> {
        let delete = "DELETE FROM idempotency_keys WHERE caller = $1 AND key = $2 AND status IS NULL";
        self.connection.query(delete).bind(caller).bind(key).execute().await?;
        Ok(())
    }

    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM idempotency_keys WHERE (caller, key) IN
                          (SELECT caller, key FROM idempotency_keys WHERE taken_at < $1 ORDER BY taken_at LIMIT $2)";
        self.connection.query(delete).bind(before).bind(limit).execute().await
    }
}
