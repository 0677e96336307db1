//! The audit log, and the entries that units of work add to it.

use super::columns::{keys, read_json};
use super::connection::DID_PREFIX;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use serde_json::Value;
use souk_domain::access::{ActorKind, AuditActor, AuditEntry, AuditFilter, AuditLog, Did};
use souk_domain::shared::{ApiKeyId, AuditEntryId, Listed, Page, StorageError, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};

// One list for each filter, so that each reads an index from its newest matching entry on.
pub(super) const ALL: Listing = listing!("audit_log", "1 = 1");
pub(super) const OF_ACTOR: Listing = listing!("audit_log", "actor = $4");
pub(super) const OF_ACTOR_AND_OPERATION: Listing = listing!("audit_log", "actor = $4 AND operation = $5");
pub(super) const OF_KIND: Listing = listing!("audit_log", "actor_kind = $4");
pub(super) const OF_KIND_AND_OPERATION: Listing = listing!("audit_log", "actor_kind = $4 AND operation = $5");
pub(super) const OF_OPERATION: Listing = listing!("audit_log", "operation = $4");
/// The entries of one object are few, so its other filters need no index.
pub(super) const OF_OBJECT: Listing = listing!(
    "audit_log",
    "id IN (SELECT entry_id FROM audit_objects WHERE object_id = $4) AND ($5 IS NULL OR actor = $5)
     AND ($6 IS NULL OR actor_kind = $6) AND ($7 IS NULL OR operation = $7)"
);

/// The oldest entries, which are deleted if they are from before `$1`. Entries are ordered by time as by id.
pub(super) const EXPIRED: &str = "SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT $2) AS oldest WHERE at < $1 ORDER BY id";
pub(super) const DELETE_OBJECTS: Sql = sql_per_dialect!("DELETE FROM audit_objects WHERE entry_id " (among "$1"));
const DELETE: Sql = sql_per_dialect!("DELETE FROM audit_log WHERE id " (among "$1"));

/// The kinds of objects that entries name if a call creates them.
pub(super) const KINDS: &[&str] =
    &["re_", "cn_", "cs_", "prod_", "price_", "plink_", "pm_", "pc_", "clock_", "key_", "pass_", "inv_", "tp_", "cat_", "po_", DID_PREFIX];

/// The most objects of an entry.
const OBJECTS_MAX: usize = 20;

pub struct SqlAuditLog<'s>(pub &'s mut Connection);

#[async_trait]
impl AuditLog for SqlAuditLog<'_> {
    async fn record_effect(&mut self) -> Result<(), StorageError> {
        self.0.query("SELECT 1 AS one").one().await.map(drop)
    }

    async fn list(&mut self, filter: &AuditFilter, page: &Page) -> Result<Listed<AuditEntry>, StorageError> {
        let kind = filter.kind.map(|kind| kind.name().to_owned());
        let (actor, operation) = (&filter.actor, filter.operation);
        if let Some(object) = &filter.object {
            return list(self.0, &OF_OBJECT, page, |query| query.bind(object).bind(actor).bind(&kind).bind(operation), entry).await;
        }
        match (actor, &kind, operation) {
            (Some(actor), Some(_), _) if filter.kind != Some(ActorKind::of(actor)) => Ok(Listed { count: 0, list: Vec::new() }),
            (Some(actor), _, Some(operation)) => {
                list(self.0, &OF_ACTOR_AND_OPERATION, page, |query| query.bind(actor).bind(operation), entry).await
            }
            (Some(actor), _, None) => list(self.0, &OF_ACTOR, page, |query| query.bind(actor), entry).await,
            (None, Some(kind), Some(operation)) => {
                list(self.0, &OF_KIND_AND_OPERATION, page, |query| query.bind(kind).bind(operation), entry).await
            }
            (None, Some(kind), None) => list(self.0, &OF_KIND, page, |query| query.bind(kind), entry).await,
            (None, None, Some(operation)) => list(self.0, &OF_OPERATION, page, |query| query.bind(operation), entry).await,
            (None, None, None) => list(self.0, &ALL, page, |query| query, entry).await,
        }
    }

    async fn prune(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let rows = self.0.query(EXPIRED).bind(before).bind(limit).all().await?;
        let expired: Vec<String> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
        if expired.is_empty() {
            return Ok(0);
        }
        // The database deletes no entry that is not from before this time.
        let announce = "INSERT INTO audit_retention (id, kept_since) VALUES (1, $1)
                        ON CONFLICT (id) DO UPDATE SET kept_since = excluded.kept_since
                        WHERE audit_retention.kept_since < excluded.kept_since";
        self.0.query(announce).bind(before).execute().await?;
        self.0.query_per_dialect(DELETE_OBJECTS).bind(keys(&expired)).execute().await?;
        self.0.query_per_dialect(DELETE).bind(keys(&expired)).execute().await
    }
}

fn entry(row: &Row) -> Result<AuditEntry, StorageError> {
    let (kind, actor): (String, String) = (row.get("actor_kind")?, row.get("actor")?);
    let id: AuditEntryId = row.get("id")?;
    let actor = match ActorKind::from_name(&kind) {
        Some(ActorKind::User) => Some(AuditActor::User(Did::from_verified(actor))),
        Some(ActorKind::Key) => ApiKeyId::parse(&actor).ok().map(AuditActor::Key),
        Some(ActorKind::Command) => Some(AuditActor::Command),
        None => None,
    };
    let corrupt = || StorageError::Corrupt { table: "audit_log", column: "actor", value: kind };
    Ok(AuditEntry {
        id,
        at: row.get("at")?,
        actor: actor.ok_or_else(corrupt)?,
        operation: row.get("operation")?,
        mode: row.get("livemode")?,
        objects: read_json(row, "audit_log", "objects")?,
        address: row.get("address")?,
    })
}

/// A call that the log records. The first of its units of work to commit writes the entry.
#[derive(Debug, Clone)]
pub(super) struct AuditedCall {
    entry: AuditEntry,
    is_written: Arc<Mutex<bool>>,
}

impl AuditedCall {
    pub(super) fn new(entry: AuditEntry) -> Self {
        Self { entry, is_written: Arc::default() }
    }

    /// Adds the entry to a unit of work that is about to commit, unless an earlier one wrote it. Call [`AuditedCall::confirm`] after the
    /// commit if the result is true.
    pub(super) async fn write(&self, connection: &mut Connection) -> Result<bool, StorageError> {
        if connection.is_unused() || *self.is_written.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(false);
        }
        let mut objects = self.entry.objects.clone();
        objects.extend(connection.noted().iter().filter(|id| KINDS.iter().any(|kind| id.starts_with(kind))).cloned());
        insert(connection, &self.entry, objects).await?;
        Ok(true)
    }

    pub(super) fn confirm(&self) {
        *self.is_written.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// Writes the entry of a command that works on the database itself, in its transaction.
pub async fn record(connection: &mut Connection, entry: &AuditEntry) -> Result<(), StorageError> {
    insert(connection, entry, entry.objects.clone()).await
}

async fn insert(connection: &mut Connection, entry: &AuditEntry, mut objects: Vec<String>) -> Result<(), StorageError> {
    let mut seen = std::collections::BTreeSet::new();
    objects.retain(|id| seen.insert(id.clone()));
    objects.truncate(OBJECTS_MAX);
    let into = "INSERT INTO audit_log (id, at, actor_kind, actor, operation, livemode, objects, address)";
    let json: Value = objects.iter().cloned().map(Value::String).collect();
    let row = Values::default().bind(&entry.id).bind(entry.at).bind(entry.actor.kind().name()).bind(entry.actor.id());
    let row = row.bind(entry.operation).bind(entry.mode).bind(json).bind(&entry.address);
    connection.insert_deferred(into, vec![row], "").await?;
    let rows = objects.iter().map(|object| Values::default().bind(object).bind(&entry.id)).collect();
    connection.insert_deferred("INSERT INTO audit_objects (object_id, entry_id)", rows, "").await
}
