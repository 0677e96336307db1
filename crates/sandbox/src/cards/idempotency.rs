//! Answers stored under the caller's idempotency key, in the same transaction as the effect, so that a crash leaves both or neither.

use super::call::{Answer, ApiError, Call, CallError};
use super::state::State;
use crate::store::{SandboxDb, SandboxDbError};
use crate::time::Timestamp;
use std::time::Duration;

const MAX_KEY_LENGTH: usize = 255;
/// Lifetime of a key, as at Stripe.
const KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the stored answer of this key, or claims the key for this call.
/// On PostgreSQL a second call with the key waits here until the first one commits; on SQLite it has waited to begin its transaction.
pub(super) async fn claim(state: &mut State<'_>, key: &str, call: &Call) -> Result<Option<Answer>, CallError> {
    if key.is_empty() || key.len() > MAX_KEY_LENGTH {
        return Err(ApiError::idempotency("An idempotency key has 1 to 255 characters.").into());
    }
    let (fingerprint, now) = (call.fingerprint(), state.now.micros());
    let sql =
        "INSERT INTO card_idempotency (key, fingerprint, status, body, created_at) VALUES ($1, $2, 0, '', $3) ON CONFLICT (key) DO NOTHING";
    if state.tx.execute(sql, &[key.into(), (&fingerprint).into(), now.into()]).await? == 1 {
        return Ok(None);
    }
    let rows = state.tx.rows("SELECT fingerprint, status, body FROM card_idempotency WHERE key = $1", &[key.into()]).await?;
    let Some(row) = rows.first() else { return Err(CallError::Raced) };
    if row.text(0)? != fingerprint {
        let message = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
        return Err(ApiError::idempotency(message).into());
    }
    let body = serde_json::from_str(&row.text(2)?)?;
    Ok(Some(Answer { status: u16::try_from(row.int(1)?).unwrap_or(500), body, replayed: true, wait: None }))
}

/// Stores the answer for the next call with this key.
pub(super) async fn keep(state: &mut State<'_>, key: &str, answer: &Answer) -> Result<(), CallError> {
    let body = answer.body.to_string();
    let sql = "UPDATE card_idempotency SET status = $1, body = $2 WHERE key = $3";
    state.tx.execute(sql, &[i64::from(answer.status).into(), (&body).into(), key.into()]).await?;
    Ok(())
}

pub(super) async fn prune(db: &SandboxDb, now: Timestamp) -> Result<(), SandboxDbError> {
    let mut tx = db.begin().await?;
    tx.execute("DELETE FROM card_idempotency WHERE created_at < $1", &[now.minus(KEY_TTL).micros().into()]).await?;
    tx.commit().await
}
