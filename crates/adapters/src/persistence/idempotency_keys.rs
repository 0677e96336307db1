//! Stored responses of requests with an `Idempotency-Key`. Their bodies contain client secrets of card payments, names and addresses,
//! so this module encrypts them.

use super::secret_box::{SecretBox, place};
use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::shared::{StorageError, Timestamp};
use souk_domain::storage::{CallState, IdempotencyKeys, KeyedCall, StoredCall};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of tries to claim a key: the request that holds it may free it before its row can be read.
const CLAIM_TRIES: u32 = 3;

const TABLE: &str = "idempotency_keys";
const BODY: &str = "body";

pub struct SqlIdempotencyKeys<'s> {
    pub connection: &'s mut Connection,
    pub secrets: &'s SecretBox,
}

impl SqlIdempotencyKeys<'_> {
    fn stored_call(&self, call: &KeyedCall, row: &Row) -> Result<StoredCall, StorageError> {
        let status = row.get::<Option<u32>>("status")?.and_then(|status| u16::try_from(status).ok());
        let body: Option<Vec<u8>> = row.get(BODY)?;
        let body = body.map(|sealed| self.secrets.open_column(TABLE, BODY, &row_of(&call.caller, &call.key), &sealed)).transpose()?;
        let has_ended = row.get::<Timestamp>("lease_until")? <= call.claimed_at;
        let state = match (status.zip(body), row.get("fenced")? && has_ended) {
            (Some((status, body)), _) => CallState::Answered { status, body },
            (None, true) => {
                let objects: String = row.get("objects")?;
                CallState::Fenced { objects: objects.split_whitespace().map(ToOwned::to_owned).collect() }
            }
            (None, false) => CallState::Running,
        };
        Ok(StoredCall { fingerprint: row.get("fingerprint")?, claimed_at: row.get("claimed_at")?, state })
    }
}

/// Identifies a row as the place of its secret.
fn row_of(caller: &str, key: &str) -> String {
    format!("{caller}:{key}")
}

#[async_trait]
impl IdempotencyKeys for SqlIdempotencyKeys<'_> {
    async fn claim(&mut self, call: &KeyedCall, fingerprint: &str, lease_until: Timestamp) -> Result<Option<StoredCall>, StorageError> {
        let claim = "INSERT INTO idempotency_keys (caller, key, fingerprint, claimed_at, lease_until) VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (caller, key) DO UPDATE SET fingerprint = excluded.fingerprint, claimed_at = excluded.claimed_at,
                             lease_until = excluded.lease_until
                         WHERE idempotency_keys.status IS NULL AND NOT idempotency_keys.fenced AND idempotency_keys.lease_until <= $4";
        let find = "SELECT fingerprint, fenced, objects, status, body, claimed_at, lease_until
                    FROM idempotency_keys WHERE caller = $1 AND key = $2";
        for _ in 0..CLAIM_TRIES {
            let query = self.connection.query(claim).bind(&call.caller).bind(&call.key).bind(fingerprint).bind(call.claimed_at);
            if query.bind(lease_until).execute().await? == 1 {
                return Ok(None);
            }
            if let Some(row) = self.connection.query(find).bind(&call.caller).bind(&call.key).optional().await? {
                return self.stored_call(call, &row).map(Some);
            }
        }
        Err(StorageError::Driver("an idempotency key could neither be claimed nor found".into()))
    }

    async fn keep(&mut self, call: &KeyedCall, status: u16, body: &str) -> Result<(), StorageError> {
        let update = "UPDATE idempotency_keys SET status = $4, body = $5
                      WHERE caller = $1 AND key = $2 AND claimed_at = $3 AND status IS NULL";
        let sealed = self.secrets.encrypt(&place(TABLE, BODY, &row_of(&call.caller, &call.key)), body)?;
        let query = self.connection.query(update).bind(&call.caller).bind(&call.key).bind(call.claimed_at);
        query.bind(u32::from(status)).bind(sealed).execute().await.map(drop)
    }

    async fn free(&mut self, call: &KeyedCall, now: Timestamp) -> Result<bool, StorageError> {
        // If a commit of the call is still in progress, this waits for it and then sees its fence.
        let delete = "DELETE FROM idempotency_keys WHERE caller = $1 AND key = $2 AND claimed_at = $3 AND status IS NULL AND NOT fenced";
        let end = "UPDATE idempotency_keys SET lease_until = $4 WHERE caller = $1 AND key = $2 AND claimed_at = $3 AND status IS NULL";
        let query = self.connection.query(delete).bind(&call.caller).bind(&call.key).bind(call.claimed_at);
        if query.execute().await? == 1 {
            return Ok(true);
        }
        self.connection.query(end).bind(&call.caller).bind(&call.key).bind(call.claimed_at).bind(now).execute().await?;
        Ok(false)
    }

    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let delete = "DELETE FROM idempotency_keys WHERE (caller, key) IN
                          (SELECT caller, key FROM idempotency_keys WHERE claimed_at < $1 ORDER BY claimed_at LIMIT $2)";
        self.connection.query(delete).bind(before).bind(limit).execute().await
    }
}

/// A call with a key, as its units of work see it. The first of them to commit writes the fence, and the first one that notes an object
/// writes the objects.
#[derive(Debug)]
pub(super) struct Fence {
    call: KeyedCall,
    written: Mutex<Written>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    fence: bool,
    objects: bool,
}

impl Fence {
    pub(super) fn new(call: KeyedCall) -> Self {
        Self { call, written: Mutex::default() }
    }

    /// The kinds of objects that the call's units of work note.
    pub(super) const fn kinds(&self) -> &'static [&'static str] {
        self.call.objects
    }

    /// Adds the fence to a unit of work that is about to commit. Pass the result to [`Fence::confirm`] after the commit.
    pub(super) async fn write(&self, connection: &mut Connection) -> Result<Written, StorageError> {
        let mut written = *self.written();
        let objects = self.named(connection.noted());
        if connection.is_unused() || (written.fence && (written.objects || objects.is_empty())) {
            return Ok(written);
        }
        let fence = "UPDATE idempotency_keys SET fenced = $4, objects = CASE WHEN objects = '' THEN $5 ELSE objects END
                     WHERE caller = $1 AND key = $2 AND claimed_at = $3 AND status IS NULL";
        let query = connection.query(fence).bind(&self.call.caller).bind(&self.call.key).bind(self.call.claimed_at);
        query.bind(true).bind(&objects).defer(Some(1)).await?;
        written.fence = true;
        written.objects |= !objects.is_empty();
        Ok(written)
    }

    pub(super) fn confirm(&self, written: Written) {
        *self.written() = written;
    }

    /// The noted ids of the first kind that has any, separated by spaces.
    fn named(&self, noted: &[String]) -> String {
        let of_kind = |kind: &&str| noted.iter().filter(|id| id.starts_with(kind)).cloned().collect::<Vec<_>>();
        self.call.objects.iter().map(of_kind).find(|ids| !ids.is_empty()).unwrap_or_default().join(" ")
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
