//! Who holds an outbox row: every change of hands is a conditional update, checked by the number of rows.

use crate::persistence::{Database, Session, Sql, payload};
use souk_domain::shared::{EventId, StorageError, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// The holder of rows that are on their way through the queue. Workers have names that are random.
const RELAY: &str = "relay";

/// A row on its way: the attempts it had when it was pushed tell a late delivery from the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub id: EventId,
    pub attempts: u32,
}

/// A row in the hands of a worker.
#[derive(Debug)]
pub struct Held {
    pub id: EventId,
    /// As stored; it may be of a topic that this version does not know.
    pub topic: String,
    pub payload: BTreeMap<String, String>,
    /// Counts this attempt.
    pub attempts: u32,
    pub max_attempts: u32,
    pub claim: String,
}

const DUE: &str = "SELECT id FROM outbox WHERE dead_at IS NULL AND run_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1) LIMIT 1";

/// Whether the relay has anything to do; a read, so that an idle store takes no write lock each second.
pub async fn anything_due(database: &Database, now: Timestamp) -> Result<bool, StorageError> {
    Ok(database.read().await?.query(DUE).bind(now).optional().await?.is_some())
}

/// Claims up to `limit` due rows for the queue, less those that are under way.
pub async fn claim_for_relay(session: &mut Session, now: Timestamp, lease: Duration, limit: u32) -> Result<Vec<Pushed>, StorageError> {
    let count = "SELECT count(*) AS n FROM outbox WHERE claimed_until > $1 AND claim = $2 AND dead_at IS NULL";
    let under_way: u32 = session.query(count).bind(now).bind(RELAY).one().await?.get("n")?;
    let claim = Sql {
        sqlite: "UPDATE outbox SET claim = $1, claimed_until = $2 WHERE id IN (
                   SELECT id FROM outbox WHERE dead_at IS NULL AND run_at <= $3 AND (claimed_until IS NULL OR claimed_until <= $3)
                   AND attempts < max_attempts ORDER BY run_at LIMIT $4) RETURNING id, attempts",
        postgres: "UPDATE outbox SET claim = $1, claimed_until = $2 WHERE id IN (
                   SELECT id FROM outbox WHERE dead_at IS NULL AND run_at <= $3 AND (claimed_until IS NULL OR claimed_until <= $3)
                   AND attempts < max_attempts ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING id, attempts",
    };
    let query = session.query_each(claim).bind(RELAY).bind(now.plus(lease)).bind(now).bind(limit.saturating_sub(under_way));
    let rows = query.all().await?;
    rows.iter().map(|row| Ok(Pushed { id: row.get("id")?, attempts: row.get("attempts")? })).collect()
}

/// Gives up rows whose last attempt never ended: its process died, or lost the database, until the lease ran out.
pub async fn bury_lapsed(session: &mut Session, now: Timestamp) -> Result<u64, StorageError> {
    let update = "UPDATE outbox SET dead_at = $1, claim = NULL, claimed_until = NULL, last_error = $2
                  WHERE dead_at IS NULL AND attempts >= max_attempts AND run_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)";
    session.query(update).bind(now).bind("the last attempt did not end before its lease ran out").execute().await
}

/// Takes a delivered row, counting the attempt. `None` when it is gone, taken, or delivered for an earlier attempt.
pub async fn claim_for_work(
    database: &Database,
    pushed: &Pushed,
    claim: String,
    now: Timestamp,
    lease: Duration,
) -> Result<Option<Held>, StorageError> {
    let mut session = database.begin().await?;
    let update = "UPDATE outbox SET claim = $1, claimed_until = $2, attempts = attempts + 1
                  WHERE id = $3 AND attempts = $4 AND attempts < max_attempts AND dead_at IS NULL AND run_at <= $5
                  AND (claim IS NULL OR claim = $6 OR claimed_until <= $5)
                  RETURNING topic, payload, attempts, max_attempts";
    let query = session.query(update).bind(&claim).bind(now.plus(lease)).bind(&pushed.id).bind(pushed.attempts).bind(now).bind(RELAY);
    let Some(row) = query.optional().await? else { return Ok(None) };
    session.commit().await?;
    let (topic, payload) = (row.get("topic")?, payload(&row)?);
    Ok(Some(Held { id: pushed.id.clone(), topic, payload, attempts: row.get("attempts")?, max_attempts: row.get("max_attempts")?, claim }))
}

/// False when the row is no longer this holder's.
pub async fn extend(database: &Database, held: &Held, until: Timestamp) -> Result<bool, StorageError> {
    let update = "UPDATE outbox SET claimed_until = $1 WHERE id = $2 AND claim = $3";
    change_one(database, |session| session.query(update).bind(until).bind(&held.id).bind(&held.claim)).await
}

/// The job is done: the row leaves.
pub async fn finish(database: &Database, held: &Held) -> Result<bool, StorageError> {
    change_one(database, |session| session.query("DELETE FROM outbox WHERE id = $1 AND claim = $2").bind(&held.id).bind(&held.claim)).await
}

/// The attempt failed: the row is due again at `again_at`, or dead when there is no such time.
pub async fn fail(
    database: &Database,
    held: &Held,
    error: &str,
    again_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let update = "UPDATE outbox SET run_at = $1, dead_at = $2, last_error = $3, claim = NULL, claimed_until = NULL
                  WHERE id = $4 AND claim = $5";
    let dead_at = if again_at.is_some() { None } else { Some(now) };
    change_one(database, |session| {
        let query = session.query(update).bind(again_at.unwrap_or(now)).bind(dead_at);
        query.bind(error).bind(&held.id).bind(&held.claim)
    })
    .await
}

async fn change_one(
    database: &Database,
    change: impl for<'s> FnOnce(&'s mut Session) -> crate::persistence::Query<'s>,
) -> Result<bool, StorageError> {
    let mut session = database.begin().await?;
    let changed = change(&mut session).execute().await?;
    session.commit().await?;
    Ok(changed == 1)
}
