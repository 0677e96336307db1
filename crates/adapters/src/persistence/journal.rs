//! The journal. Entries are only ever added.

use super::{Row, Session, Values};
use async_trait::async_trait;
use souk_domain::ledger::{Entry, Journal, Posting};
use souk_domain::shared::{EntryId, StorageError};

pub struct SqlJournal<'s>(pub &'s mut Session);

#[async_trait]
impl Journal for SqlJournal<'_> {
    async fn book(&mut self, entry: &Entry) -> Result<(), StorageError> {
        let insert = "INSERT INTO journal_entries (id, livemode, subject, reason, booked_at) VALUES ($1, $2, $3, $4, $5)";
        let query = self.0.query(insert).bind(&entry.id).bind(entry.mode).bind(&entry.subject).bind(entry.reason);
        query.bind(entry.booked_at).later(Some(1)).await?;
        let row = |(position, posting): (u32, &Posting)| {
            let values = Values::default().bind(&entry.id).bind(position).bind(&posting.account).bind(posting.side);
            values.bind(posting.amount).bind(&posting.currency_id)
        };
        let into = "INSERT INTO journal_postings (entry_id, position, account, side, amount, currency_id)";
        self.0.insert_later(into, (0..).zip(entry.postings()).map(row).collect(), "").await
    }

    async fn of_subject(&mut self, subject: &str) -> Result<Vec<Entry>, StorageError> {
        let select = "SELECT * FROM journal_entries WHERE subject = $1 ORDER BY booked_at, id";
        let rows = self.0.query(select).bind(subject).all().await?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let id: EntryId = row.get("id")?;
            let select = "SELECT * FROM journal_postings WHERE entry_id = $1 ORDER BY position";
            let postings = self.0.query(select).bind(&id).all().await?;
            let postings = postings.iter().map(posting).collect::<Result<_, _>>()?;
            let (mode, reason, booked_at) = (row.get("livemode")?, row.get("reason")?, row.get("booked_at")?);
            let entry = Entry::new(id.clone(), mode, reason, subject, booked_at, postings);
            let corrupt = |error| StorageError::Corrupt { table: "journal_entries", column: "id", value: format!("{id}: {error}") };
            entries.push(entry.map_err(corrupt)?);
        }
        Ok(entries)
    }
}

fn posting(row: &Row) -> Result<Posting, StorageError> {
    Ok(Posting { account: row.get("account")?, side: row.get("side")?, amount: row.get("amount")?, currency_id: row.get("currency_id")? })
}
