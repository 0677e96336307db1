//! The audit log, and the entries that units of work add to it.

use super::columns::read_json;
use super::listing::{Listing, list, listing};
use super::{Connection, Row, Values};
use async_trait::async_trait;
use serde_json::Value;
use souk_domain::access::{ActorKind, AuditActor, AuditEntry, AuditFilter, AuditLog, Did};
use souk_domain::shared::{ApiKeyId, AuditEntryId, Listed, Page, StorageError};
use std::sync::{Arc, Mutex, PoisonError};

macro_rules! entries {
    ($($conditions:tt)+) => {
        listing!("audit_log", $($conditions)+ " AND ($4 IS NULL OR actor = $4) AND ($5 IS NULL OR actor_kind = $5)
                                                AND ($6 IS NULL OR operation = $6)")
    };
}
pub(super) const ALL: Listing = entries!("$7 IS NULL");
pub(super) const OF_OBJECT: Listing = entries!("id IN (SELECT entry_id FROM audit_objects WHERE object_id = $7)");

/// The kinds of objects that entries name if a call creates them.
pub(super) const KINDS: &[&str] = &["re_", "cn_", "cs_", "prod_", "price_", "plink_", "pm_", "pc_", "clock_", "key_", "pass_"];

/// The most objects of an entry.
const OBJECTS_MAX: usize = 20;

pub struct SqlAuditLog<'s>(pub &'s mut Connection);

#[async_trait]
impl AuditLog for SqlAuditLog<'_> {
    async fn record_effect(&mut self) -> Result<(), StorageError> {
        self.0.query("SELECT 1 AS one").one().await.map(drop)
    }

    async fn list(&mut self, filter: &AuditFilter, page: &Page) -> Result<Listed<AuditEntry>, StorageError> {
        let listing = if filter.object.is_some() { &OF_OBJECT } else { &ALL };
        let (kind, operation) = (filter.kind.map(|kind| kind.name().to_owned()), filter.operation);
        list(self.0, listing, page, |query| query.bind(&filter.actor).bind(&kind).bind(operation).bind(&filter.object), entry).await
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
