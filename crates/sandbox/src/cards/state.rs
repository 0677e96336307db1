//! The processor's state within the transaction of one call: objects, charges, events.

use super::call::{Answer, ApiError, CallError, Form};
use crate::store::{SandboxDb, SandboxTx};
use crate::time::{Random, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Tables of the processor. Times are unix microseconds; 0 and `''` stand for none.
pub(super) const TABLES: [&str; 8] = [
    "CREATE TABLE IF NOT EXISTS card_objects (id TEXT PRIMARY KEY, kind TEXT NOT NULL, version BIGINT NOT NULL, due_at BIGINT NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS card_objects_due ON card_objects (due_at) WHERE due_at > 0",
    "CREATE TABLE IF NOT EXISTS card_charges (id TEXT PRIMARY KEY, intent TEXT NOT NULL, attempt TEXT NOT NULL, amount BIGINT NOT NULL, \
     amount_refunded BIGINT NOT NULL, amount_disputed BIGINT NOT NULL, fees BIGINT NOT NULL, currency TEXT NOT NULL, \
     disputed BIGINT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS card_charges_intent ON card_charges (intent)",
    "CREATE TABLE IF NOT EXISTS card_events (id TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL, \
     tries BIGINT NOT NULL, next_try_at BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS card_events_created ON card_events (created_at, id)",
    "CREATE INDEX IF NOT EXISTS card_events_due ON card_events (next_try_at) WHERE next_try_at > 0",
    "CREATE TABLE IF NOT EXISTS card_idempotency (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status BIGINT NOT NULL, body TEXT NOT NULL, \
     created_at BIGINT NOT NULL)",
];

/// An object that is stored as a JSON document with a version.
pub(super) trait Object: Serialize + DeserializeOwned + Send + Sync {
    /// The name of the object type, also used in error messages.
    const KIND: &'static str;
    fn id(&self) -> &str;
    /// The time of the object's scheduled change.
    fn due_at(&self) -> Option<Timestamp> {
        None
    }
}

/// An object with the version that was read; saving it fails if it has changed since.
pub(super) struct Stored<T> {
    pub value: T,
    version: i64,
}

pub(super) struct State<'a> {
    pub tx: SandboxTx,
    pub now: Timestamp,
    random: &'a Random,
    /// Whether events are delivered to a webhook.
    delivers: bool,
}

impl<'a> State<'a> {
    pub async fn open(db: &SandboxDb, now: Timestamp, random: &'a Random, delivers: bool) -> Result<Self, CallError> {
        Ok(Self { tx: db.begin().await?, now, random, delivers })
    }

    pub async fn close(self) -> Result<(), CallError> {
        Ok(self.tx.commit().await?)
    }

    /// A new id that cannot be guessed.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", hex::encode(self.random.bytes::<12>()))
    }

    pub fn client_secret(&self, id: &str) -> String {
        format!("{id}_secret_{}", hex::encode(self.random.bytes::<16>()))
    }

    pub async fn insert<T: Object>(&mut self, value: T) -> Result<Stored<T>, CallError> {
        let body = serde_json::to_string(&value)?;
        let due = due(&value);
        let sql = "INSERT INTO card_objects (id, kind, version, due_at, body) VALUES ($1, $2, 1, $3, $4)";
        self.tx.execute(sql, &[value.id().into(), T::KIND.into(), due.into(), (&body).into()]).await?;
        Ok(Stored { value, version: 1 })
    }

    pub async fn load<T: Object>(&mut self, id: &str) -> Result<Option<Stored<T>>, CallError> {
        let rows = self.tx.rows("SELECT version, body FROM card_objects WHERE id = $1 AND kind = $2", &[id.into(), T::KIND.into()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Stored { value: serde_json::from_str(&row.text(1)?)?, version: row.int(0)? }))
    }

    /// The objects whose document contains `text`.
    pub async fn containing<T: Object>(&mut self, text: &str) -> Result<Vec<T>, CallError> {
        let sql = "SELECT body FROM card_objects WHERE kind = $1 AND body LIKE '%' || $2 || '%'";
        let rows = self.tx.rows(sql, &[T::KIND.into(), text.into()]).await?;
        rows.iter().map(|row| Ok(serde_json::from_str(&row.text(0)?)?)).collect()
    }

    pub async fn need<T: Object>(&mut self, id: &str) -> Result<Stored<T>, CallError> {
        self.load(id).await?.ok_or_else(|| ApiError::missing(T::KIND, id).into())
    }

    /// Saves the object if it has not changed since it was read. This prevents a double charge by two confirmations: the second one fails
    /// and is repeated.
    pub async fn save<T: Object>(&mut self, stored: &mut Stored<T>) -> Result<(), CallError> {
        let body = serde_json::to_string(&stored.value)?;
        let due = due(&stored.value);
        let sql = "UPDATE card_objects SET body = $1, due_at = $2, version = version + 1 WHERE id = $3 AND version = $4";
        let changed = self.tx.execute(sql, &[(&body).into(), due.into(), stored.value.id().into(), stored.version.into()]).await?;
        if changed != 1 {
            return Err(CallError::Raced);
        }
        stored.version += 1;
        Ok(())
    }

    /// Records an event and, if there is a webhook, schedules its delivery.
    pub async fn record(&mut self, kind: &str, object: &Value) -> Result<(), CallError> {
        let id = self.id("evt");
        let pending = i64::from(self.delivers);
        let body = json!({
            "id": id, "object": "event", "api_version": "2024-06-20", "created": self.now.seconds(), "livemode": false,
            "type": kind, "pending_webhooks": pending, "request": { "id": null, "idempotency_key": null },
            "data": { "object": object },
        });
        let next_try = if self.delivers { self.now.micros() } else { 0 };
        let sql = "INSERT INTO card_events (id, kind, body, created_at, tries, next_try_at) VALUES ($1, $2, $3, $4, 0, $5)";
        let body = body.to_string();
        self.tx.execute(sql, &[(&id).into(), kind.into(), (&body).into(), self.now.micros().into(), next_try.into()]).await?;
        Ok(())
    }
}

fn due(object: &impl Object) -> i64 {
    object.due_at().map_or(0, Timestamp::micros)
}

/// A page of a list, newest first: at most `limit` objects (default 10) after `starting_after`.
pub(super) fn page<T: Object>(
    url: &str,
    form: &Form,
    mut found: Vec<T>,
    created: impl Fn(&T) -> i64,
    wire: impl Fn(&T) -> Value,
) -> Result<Answer, CallError> {
    found.sort_by(|one, other| (created(other), other.id()).cmp(&(created(one), one.id())));
    let begin = match form.text("starting_after") {
        Some(after) => found.iter().position(|object| object.id() == after).ok_or_else(|| ApiError::missing(T::KIND, after))? + 1,
        None => 0,
    };
    let limit = usize::try_from(form.amount("limit")?.unwrap_or(10).min(100)).unwrap_or(10);
    let rest = &found[begin..];
    let data: Vec<Value> = rest.iter().take(limit).map(wire).collect();
    Ok(Answer::ok(json!({ "object": "list", "url": url, "has_more": rest.len() > limit, "data": data })))
}
