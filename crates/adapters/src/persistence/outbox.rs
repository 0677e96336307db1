//! The outbox. Its rows are written in the unit of work, and claimed by the relay and the workers of `queue`.

use super::{Connection, Row, Values};
use async_trait::async_trait;
use souk_domain::events::{DeadLetter, MAX_ATTEMPTS, Message, NewMessage, Outbox, Topic};
use souk_domain::shared::{EventId, StorageError, Timestamp};
use std::collections::BTreeMap;

/// [`Outbox`] over a connection. Publishing makes the connection's commit wake this process's relay.
pub struct SqlOutbox<'s>(pub &'s mut Connection);

#[async_trait]
impl Outbox for SqlOutbox<'_> {
    async fn publish_all(&mut self, messages: &[NewMessage], now: Timestamp) -> Result<(), StorageError> {
        let mut rows = Vec::with_capacity(messages.len());
        for NewMessage { id, message } in messages {
            let payload = serde_json::to_value(&message.payload).map_err(|error| StorageError::Driver(Box::new(error)))?;
            let values = Values::default().bind(id).bind(message.topic.name()).bind(message.lane()).bind(payload);
            rows.push(values.bind(message.run_at).bind(now).bind(MAX_ATTEMPTS));
        }
        self.0.insert_deferred("INSERT INTO outbox (id, topic, lane, payload, run_at, created_at, max_attempts)", rows, "").await?;
        self.0.notify_on_commit();
        Ok(())
    }

    async fn dead_letters(&mut self, limit: u32) -> Result<Vec<DeadLetter>, StorageError> {
        let select = "SELECT id, topic, payload, run_at, attempts, last_error, dead_at FROM outbox WHERE dead_at IS NOT NULL
                      ORDER BY dead_at DESC, id DESC LIMIT $1";
        let rows = self.0.query(select).bind(limit).all().await?;
        rows.iter().filter_map(|row| dead_letter(row).transpose()).collect()
    }

    async fn retry_dead_letter(&mut self, id: &EventId, now: Timestamp) -> Result<bool, StorageError> {
        // The attempt counter is not reset, because the queue still knows the deliveries of the earlier attempts.
        let update = "UPDATE outbox SET dead_at = NULL, max_attempts = attempts + $1, run_at = $2 WHERE id = $3 AND dead_at IS NOT NULL";
        let retried = self.0.query(update).bind(MAX_ATTEMPTS).bind(now).bind(id).execute().await? == 1;
        self.0.notify_on_commit();
        Ok(retried)
    }
}

/// Returns `None` for a topic that only another version of Souk knows.
fn dead_letter(row: &Row) -> Result<Option<DeadLetter>, StorageError> {
    let name: String = row.get("topic")?;
    let Some(topic) = Topic::from_name(&name) else {
        tracing::warn!(topic = name, "a dead letter is of a topic that this version does not know");
        return Ok(None);
    };
    let message = Message { topic, payload: payload(row)?, run_at: row.get("run_at")? };
    let last_error: Option<String> = row.get("last_error")?;
    let (id, attempts, dead_at) = (row.get("id")?, row.get("attempts")?, row.get("dead_at")?);
    Ok(Some(DeadLetter { id, message, attempts, last_error: last_error.unwrap_or_default(), dead_at }))
}

/// Reads the `payload` of an outbox row.
pub(crate) fn payload(row: &Row) -> Result<BTreeMap<String, String>, StorageError> {
    let json: serde_json::Value = row.get("payload")?;
    let shown = json.to_string();
    serde_json::from_value(json).map_err(|_| StorageError::Corrupt { table: "outbox", column: "payload", value: shown })
}
