//! The double-entry journal. Entries are only inserted, never changed.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::ledger::{Entry, Journal, Posting};
use souk_domain::shared::{EntryId, StorageError};
use std::collections::HashMap;

const POSTINGS_OF: Sql = sql_per_dialect!("SELECT * FROM journal_postings WHERE entry_id " (among "$1") " ORDER BY entry_id, position");

pub struct SqlJournal<'s>(pub &'s mut Connection);

#[async_trait]
impl Journal for SqlJournal<'_> {
    async fn post_all(&mut self, entries: &[Entry]) -> Result<(), StorageError> {
        let row = |entry: &Entry| {
            let values = Values::default().bind(&entry.id).bind(entry.mode).bind(&entry.subject).bind(entry.kind);
            values.bind(entry.posted_at)
        };
        let into = "INSERT INTO journal_entries (id, livemode, subject, type, posted_at)";
        self.0.insert_deferred(into, entries.iter().map(row).collect(), "").await?;
        let row = |entry: &Entry, position: u32, posting: &Posting| {
            let values = Values::default().bind(&entry.id).bind(position).bind(&posting.account).bind(posting.side);
            values.bind(posting.amount).bind(&posting.currency_id)
        };
        let rows = |entry| (0..).zip(Entry::postings(entry)).map(move |(position, posting)| row(entry, position, posting));
        let into = "INSERT INTO journal_postings (entry_id, position, account, side, amount, currency_id)";
        self.0.insert_deferred(into, entries.iter().flat_map(rows).collect(), "").await
    }

    async fn of_subject(&mut self, subject: &str) -> Result<Vec<Entry>, StorageError> {
        let select = "SELECT * FROM journal_entries WHERE subject = $1 ORDER BY posted_at, id";
        let rows = self.0.query(select).bind(subject).all().await?;
        let ids = rows.iter().map(|row| row.get("id")).collect::<Result<Vec<EntryId>, _>>()?;
        let mut postings: HashMap<EntryId, Vec<Posting>> = HashMap::new();
        for row in self.0.query_per_dialect(POSTINGS_OF).bind(keys(&ids)).all().await? {
            postings.entry(row.get("entry_id")?).or_default().push(posting(&row)?);
        }
        let mut entries = Vec::with_capacity(rows.len());
        for (row, id) in rows.iter().zip(ids) {
            let postings = postings.remove(&id).unwrap_or_default();
            let (mode, kind, posted_at) = (row.get("livemode")?, row.get("type")?, row.get("posted_at")?);
            let entry = Entry::new(id.clone(), mode, kind, subject, posted_at, postings);
            let corrupt = |error| StorageError::Corrupt { table: "journal_entries", column: "id", value: format!("{id}: {error}") };
            entries.push(entry.map_err(corrupt)?);
        }
        Ok(entries)
    }
}

fn posting(row: &Row) -> Result<Posting, StorageError> {
    Ok(Posting { account: row.get("account")?, side: row.get("side")?, amount: row.get("amount")?, currency_id: row.get("currency_id")? })
}
