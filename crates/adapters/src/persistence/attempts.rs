//! Attempts to settle an intent. Client secrets of cards are encrypted here and opened here.

use super::secret_box::{SecretBox, place};
use super::{Row, Session, Sql};
use async_trait::async_trait;
use souk_domain::payment::{Attempt, AttemptKind, AttemptStatus, Attempts, Refusal};
use souk_domain::shared::{AttemptId, MethodId, PaymentIntentId, StorageError, Timestamp};

const TABLE: &str = "attempts";
const CLIENT_SECRET: &str = "client_secret";

const CLAIM_DUE: Sql = Sql {
    sqlite: "UPDATE attempts SET check_at = $2 WHERE id IN
                 (SELECT id FROM attempts WHERE status IN ('open', 'unknown') AND check_at <= $1 ORDER BY check_at, id LIMIT $3)
             RETURNING id",
    postgres: "WITH due AS MATERIALIZED
                   (SELECT id FROM attempts WHERE status IN ('open', 'unknown') AND check_at <= $1 ORDER BY check_at, id LIMIT $3
                    FOR UPDATE SKIP LOCKED)
               UPDATE attempts SET check_at = $2 FROM due WHERE attempts.id = due.id RETURNING attempts.id",
};

pub struct SqlAttempts<'s> {
    pub session: &'s mut Session,
    pub secrets: &'s SecretBox,
}

#[async_trait]
impl Attempts for SqlAttempts<'_> {
    async fn insert(&mut self, attempt: &Attempt) -> Result<(), StorageError> {
        // DO NOTHING covers each unique index, and leaves the transaction usable on both databases.
        let insert = "INSERT INTO attempts (id, intent_id, method_id, currency_id, amount, status, payer, bytes, hash, provider_id,
                          client_secret, last_error, checks, check_at, created_at, updated_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                      ON CONFLICT DO NOTHING";
        let query = self.session.query(insert).bind(&attempt.id).bind(&attempt.intent_id).bind(&attempt.method_id);
        let query = query.bind(&attempt.currency_id).bind(attempt.amount).bind(attempt.status);
        let query = match &attempt.kind {
            AttemptKind::Wallet { payer, bytes, hash } => {
                query.bind(payer).bind(bytes).bind(hash).bind(None::<String>).bind(None::<Vec<u8>>)
            }
            AttemptKind::Card { provider_id, client_secret } => {
                let secret = seal(self.secrets, &attempt.id, client_secret)?;
                let query = query.bind(None::<String>).bind(None::<Vec<u8>>).bind(None::<String>);
                query.bind(Some(provider_id.as_str()).filter(|id| !id.is_empty())).bind(secret)
            }
        };
        let query = query.bind(&attempt.last_error).bind(attempt.checks).bind(attempt.check_at);
        match query.bind(attempt.created_at).bind(attempt.updated_at).execute().await? {
            0 => Err(StorageError::Duplicate("attempts: an open one of the intent, or the transaction".to_owned())),
            _ => Ok(()),
        }
    }

    async fn find(&mut self, id: &AttemptId) -> Result<Option<Attempt>, StorageError> {
        let row = self.session.query("SELECT * FROM attempts WHERE id = $1").bind(id).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn find_by_provider(&mut self, method: &MethodId, provider_id: &str) -> Result<Option<Attempt>, StorageError> {
        let select = "SELECT * FROM attempts WHERE method_id = $1 AND provider_id = $2";
        let row = self.session.query(select).bind(method).bind(provider_id).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn is_open_at(&mut self, method: &MethodId) -> Result<bool, StorageError> {
        let select = "SELECT id FROM attempts WHERE method_id = $1 AND status IN ('open', 'unknown') LIMIT 1";
        Ok(self.session.query(select).bind(method).optional().await?.is_some())
    }

    async fn open_of_intent(&mut self, intent: &PaymentIntentId) -> Result<Option<Attempt>, StorageError> {
        let select = "SELECT * FROM attempts WHERE intent_id = $1 AND status IN ('open', 'unknown')";
        let row = self.session.query(select).bind(intent).optional().await?;
        row.map(|row| attempt(&row, self.secrets)).transpose()
    }

    async fn name_card(&mut self, id: &AttemptId, provider_id: &str, client_secret: &str, now: Timestamp) -> Result<(), StorageError> {
        let secret = seal(self.secrets, id, client_secret)?;
        let update = "UPDATE attempts SET provider_id = $2, client_secret = $3, updated_at = $4
                      WHERE id = $1 AND provider_id IS NULL AND hash IS NULL";
        self.session.query(update).bind(id).bind(provider_id).bind(secret).bind(now).execute().await?;
        Ok(())
    }

    async fn finish(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Refusal>,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let update = "UPDATE attempts SET status = $2, last_error = $3, updated_at = $4 WHERE id = $1 AND status IN ('open', 'unknown')";
        Ok(self.session.query(update).bind(id).bind(status).bind(error).bind(now).execute().await? == 1)
    }

    async fn postpone(
        &mut self,
        id: &AttemptId,
        status: AttemptStatus,
        error: Option<&Refusal>,
        check_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let update = "UPDATE attempts SET status = $2, last_error = $3, checks = checks + CASE WHEN $4 IS NULL THEN 0 ELSE 1 END,
                      check_at = COALESCE($4, check_at), updated_at = $5 WHERE id = $1 AND status IN ('open', 'unknown')";
        self.session.query(update).bind(id).bind(status).bind(error).bind(check_at).bind(now).execute().await?;
        Ok(())
    }

    async fn claim_nudge(&mut self, id: &AttemptId, since: Timestamp, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE attempts SET updated_at = $3 WHERE id = $1 AND status IN ('open', 'unknown') AND updated_at <= $2";
        Ok(self.session.query(update).bind(id).bind(since).bind(now).execute().await? == 1)
    }

    async fn claim_due(&mut self, now: Timestamp, again_at: Timestamp, limit: u32) -> Result<Vec<AttemptId>, StorageError> {
        let rows = self.session.query_each(CLAIM_DUE).bind(now).bind(again_at).bind(limit).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }
}

/// An empty secret is none: the provider has not answered yet.
fn seal(secrets: &SecretBox, id: &AttemptId, secret: &str) -> Result<Option<Vec<u8>>, StorageError> {
    (!secret.is_empty()).then(|| secrets.seal(&place(TABLE, CLIENT_SECRET, id.as_str()), secret)).transpose()
}

fn attempt(row: &Row, secrets: &SecretBox) -> Result<Attempt, StorageError> {
    let id: AttemptId = row.get("id")?;
    let kind = match row.get("hash")? {
        Some(hash) => AttemptKind::Wallet { payer: row.get("payer")?, bytes: row.get("bytes")?, hash },
        None => {
            let sealed: Option<Vec<u8>> = row.get(CLIENT_SECRET)?;
            let secret = sealed.map(|sealed| secrets.open_column(TABLE, CLIENT_SECRET, id.as_str(), &sealed)).transpose()?;
            AttemptKind::Card {
                provider_id: row.get::<Option<_>>("provider_id")?.unwrap_or_default(),
                client_secret: secret.unwrap_or_default(),
            }
        }
    };
    Ok(Attempt {
        id,
        intent_id: row.get("intent_id")?,
        method_id: row.get("method_id")?,
        currency_id: row.get("currency_id")?,
        amount: row.get("amount")?,
        status: row.get("status")?,
        kind,
        last_error: row.get("last_error")?,
        checks: row.get("checks")?,
        check_at: row.get("check_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
