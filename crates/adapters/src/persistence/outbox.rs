//! The outbox: rows written in the unit of work, claimed by the relay and the workers of `queue`.

use super::{Row, Session};
use async_trait::async_trait;
use souk_domain::events::{DeadLetter, DeadLetters, Ids, MAX_ATTEMPTS, Message, Outbox};
use souk_domain::shared::{EventId, Listed, Page, Random, StorageError, Timestamp};

/// [`Outbox`] over a session; its commit wakes the relay of this process.
pub struct SqlOutbox<'s> {
    session: &'s mut Session,
    random: &'s dyn Random,
}

impl<'s> SqlOutbox<'s> {
    #[must_use]
    pub fn new(session: &'s mut Session, random: &'s dyn Random) -> Self {
        Self { session, random }
    }
}

#[async_trait]
impl Outbox for SqlOutbox<'_> {
    async fn publish(&mut self, now: Timestamp, message: Message) -> Result<EventId, StorageError> {
        let id = EventId::new(now, self.random);
        let insert = "INSERT INTO outbox (id, topic, payload, run_at, created_at, max_attempts) VALUES ($1, $2, $3, $4, $5, $6)";
        let payload = serde_json::to_value(&message.payload).map_err(|error| StorageError::Driver(Box::new(error)))?;
        let query = self.session.query(insert).bind(&id).bind(message.topic.name()).bind(payload);
        query.bind(message.run_at).bind(now).bind(MAX_ATTEMPTS).execute().await?;
        self.session.rings_on_commit();
        Ok(id)
    }
}

/// [`DeadLetters`] over a session.
pub struct SqlDeadLetters<'s>(pub &'s mut Session);

#[async_trait]
impl DeadLetters for SqlDeadLetters<'_> {
    async fn list(&mut self, page: &Page) -> Result<Listed<DeadLetter>, StorageError> {
        let count = self.0.query("SELECT count(*) AS n FROM outbox WHERE dead_at IS NOT NULL").one().await?.get("n")?;
        let select = "SELECT id, topic, payload, attempts, last_error, dead_at FROM outbox WHERE dead_at IS NOT NULL
                      ORDER BY dead_at DESC, id DESC LIMIT $1 OFFSET $2";
        let rows = self.0.query(select).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: rows.iter().map(dead_letter).collect::<Result<_, _>>()? })
    }

    async fn revive(&mut self, now: Timestamp, id: &EventId) -> Result<bool, StorageError> {
        // The attempts go on counting: the queue still knows the deliveries of the earlier ones.
        let update = "UPDATE outbox SET dead_at = NULL, max_attempts = attempts + $1, run_at = $2 WHERE id = $3 AND dead_at IS NOT NULL";
        let revived = self.0.query(update).bind(MAX_ATTEMPTS).bind(now).bind(id).execute().await? == 1;
        self.0.rings_on_commit();
        Ok(revived)
    }
}

fn dead_letter(row: &Row) -> Result<DeadLetter, StorageError> {
    Ok(DeadLetter {
        id: row.get("id")?,
        topic: row.get("topic")?,
        payload: ids(row)?,
        attempts: row.get("attempts")?,
        last_error: row.get("last_error")?,
        died_at: row.get("dead_at")?,
    })
}

/// The `payload` of an outbox row.
pub(crate) fn ids(row: &Row) -> Result<Ids, StorageError> {
    let payload: serde_json::Value = row.get("payload")?;
    let corrupt = |_| StorageError::Corrupt { table: "outbox", column: "payload", value: payload.to_string() };
    serde_json::from_value(payload.clone()).map_err(corrupt)
}
