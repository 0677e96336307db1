//! Events: their list, and signed deliveries to one webhook URL.

use super::call::{Answer, ApiError, Call, CallError};
use super::secret::Secret;
use super::state::State;
use crate::store::{SandboxDb, SandboxDbError};
use crate::time::{Clock, Timestamp};
use futures_util::future::join_all;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::Duration;

/// Maximum number of delivery attempts per event.
const MAX_TRIES: i64 = 5;
/// Delays after the first to fourth failure.
const BACKOFF: [Duration; 4] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];
/// Lease of a claimed event; after it, another process may deliver the event of a process that died.
const LEASE: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of concurrent deliveries.
const BATCH: i64 = 20;
const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 100;

/// The URL that receives events, and the secret that signs them.
#[derive(Debug, Clone)]
pub struct Webhook {
    pub url: String,
    pub secret: Secret,
}

/// The greatest time of a filter, in seconds, that can be given in microseconds.
const MAX_SECONDS: i64 = i64::MAX / MICROS_PER_SECOND - 1;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Lists events, newest first, with pages by `starting_after`. `created` is compared in whole seconds.
pub(super) async fn list(state: &mut State<'_>, call: &Call) -> Result<Answer, CallError> {
    let form = &call.form;
    form.allow(&["limit", "starting_after", "type", "types[", "created[gte]", "created[lte]"])?;
    let limit = form.amount("limit")?.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let (mut before, mut id) = (i64::MAX, "");
    if let Some(after) = form.text("starting_after") {
        let rows = state.tx.rows("SELECT created_at FROM card_events WHERE id = $1", &[after.into()]).await?;
        before = rows.first().ok_or_else(|| ApiError::missing("event", after))?.int(0)?;
        id = after;
    }
    let seconds = |name| Ok::<_, CallError>(form.amount(name)?.map(|seconds| seconds.min(MAX_SECONDS)));
    let since = seconds("created[gte]")?.map_or(i64::MIN, |seconds| seconds * MICROS_PER_SECOND);
    let until = seconds("created[lte]")?.map_or(i64::MAX, |seconds| (seconds + 1) * MICROS_PER_SECOND);
    let kinds: Vec<_> = form.text("type").into_iter().chain(form.values("types[")).collect();
    if kinds.iter().any(|kind| !kind.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_'))) {
        return Err(ApiError::invalid("parameter_invalid", "This is no event type.".to_owned()).with_param("types").into());
    }
    let kinds = kinds.join(",");
    let sql = "SELECT body FROM card_events WHERE (created_at < $1 OR created_at = $1 AND id < $2) AND created_at >= $3 AND created_at < $4 \
               AND ($5 = '' OR ',' || $5 || ',' LIKE '%,' || kind || ',%') ORDER BY created_at DESC, id DESC LIMIT $6";
    let values = [before.into(), id.into(), since.into(), until.into(), kinds.as_str().into(), (limit + 1).into()];
    let rows = state.tx.rows(sql, &values).await?;
    let mut data = Vec::new();
    for row in rows.iter().take(limit as usize) {
        data.push(serde_json::from_str::<Value>(&row.text(0)?)?);
    }
    Ok(Answer::ok(json!({ "object": "list", "url": "/v1/events", "has_more": rows.len() > data.len(), "data": data })))
}

pub(super) async fn retrieve(state: &mut State<'_>, id: &str) -> Result<Answer, CallError> {
    let rows = state.tx.rows("SELECT body FROM card_events WHERE id = $1", &[id.into()]).await?;
    let row = rows.first().ok_or_else(|| ApiError::missing("event", id))?;
    Ok(Answer::ok(serde_json::from_str(&row.text(0)?)?))
}

struct Delivery {
    id: String,
    body: String,
    /// Number of attempts, including this one.
    tries: i64,
    leased_until: i64,
}

/// Delivers one batch of due events concurrently. Returns the number of attempted deliveries.
pub(super) async fn deliver(db: &SandboxDb, http: &reqwest::Client, webhook: &Webhook, clock: &Clock) -> Result<usize, SandboxDbError> {
    let due = claim(db, clock.now()).await?;
    let outcomes = join_all(due.iter().map(|delivery| send(http, webhook, delivery, clock.now()))).await;
    for (delivery, delivered) in due.iter().zip(outcomes) {
        let next = match BACKOFF.get(usize::try_from(delivery.tries - 1).unwrap_or(usize::MAX)) {
            Some(wait) if !delivered => clock.now().plus(*wait).micros(),
            _ => 0,
        };
        if !delivered && next == 0 {
            tracing::warn!(event = delivery.id, tries = MAX_TRIES, "a card event could not be delivered and is given up");
        }
        let sql = "UPDATE card_events SET next_try_at = $1 WHERE id = $2 AND next_try_at = $3";
        let mut tx = db.begin().await?;
        tx.execute(sql, &[next.into(), (&delivery.id).into(), delivery.leased_until.into()]).await?;
        tx.commit().await?;
    }
    Ok(due.len())
}

/// Claims due events for this process. The guarded update ensures that each event is claimed by one process.
async fn claim(db: &SandboxDb, now: Timestamp) -> Result<Vec<Delivery>, SandboxDbError> {
    let sql = "SELECT id, body, tries, next_try_at FROM card_events WHERE next_try_at > 0 AND next_try_at <= $1 ORDER BY next_try_at, id LIMIT $2";
    let rows = db.rows(sql, &[now.micros().into(), BATCH.into()]).await?;
    let mut claimed = Vec::new();
    if rows.is_empty() {
        return Ok(claimed);
    }
    let leased_until = now.plus(LEASE).micros();
    let mut tx = db.begin().await?;
    for row in rows {
        let (id, tries) = (row.text(0)?, row.int(2)? + 1);
        let sql = "UPDATE card_events SET tries = $1, next_try_at = $2 WHERE id = $3 AND next_try_at = $4";
        if tx.execute(sql, &[tries.into(), leased_until.into(), (&id).into(), row.int(3)?.into()]).await? == 1 {
            claimed.push(Delivery { id, body: row.text(1)?, tries, leased_until });
        }
    }
    tx.commit().await?;
    Ok(claimed)
}

async fn send(http: &reqwest::Client, webhook: &Webhook, delivery: &Delivery, now: Timestamp) -> bool {
    let request = http
        .post(&webhook.url)
        .timeout(TIMEOUT)
        .header("content-type", "application/json; charset=utf-8")
        .header("stripe-signature", sign(&webhook.secret, now, &delivery.body))
        .body(delivery.body.clone());
    request.send().await.is_ok_and(|response| response.status().is_success())
}

fn sign(secret: &Secret, now: Timestamp, body: &str) -> String {
    let seconds = now.seconds();
    let signature =
        Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()).map(|mac| mac.chain_update(format!("{seconds}.{body}")).finalize());
    let hex = signature.map(|tag| hex::encode(tag.into_bytes())).unwrap_or_default();
    format!("t={seconds},v1={hex}")
}
