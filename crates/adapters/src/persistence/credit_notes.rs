//! Credit notes and their items. Rows are only inserted, never changed.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{CreditNote, CreditNoteFilter, CreditNoteItem, CreditNoteReason, CreditNotes};
use souk_domain::shared::{CreditNoteId, Listed, Mode, Page, StorageError, SubscriptionId, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// One list per index, as for invoices.
pub(super) const ALL: Listing = listing!("credit_notes", "livemode = $4 AND $5 IS NULL AND $6 IS NULL AND $7 IS NULL");
pub(super) const OF_CUSTOMER: Listing = listing!("credit_notes", "customer_id = $5 AND " (either "+livemode" "livemode") " = $4 AND $6 IS NULL AND ($7 IS NULL OR subscription_id = $7)").exact();
pub(super) const OF_SUBSCRIPTION: Listing =
    listing!("credit_notes", "subscription_id = $7 AND " (either "+livemode" "livemode") " = $4 AND $5 IS NULL AND $6 IS NULL").exact();
pub(super) const OF_INVOICE: Listing = listing!(
    "credit_notes",
    "invoice_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($5 IS NULL OR customer_id = $5) AND ($7 IS NULL OR subscription_id = $7)"
).exact();
const ITEMS_OF: Sql = sql_per_dialect!("SELECT * FROM credit_note_items WHERE note_id " (among "$1") " ORDER BY note_id, position");

/// Several notes of one plan change can credit the same time; DISTINCT counts it once.
macro_rules! backdated {
    ($micros:literal) => {
        concat!(
            "SELECT ",
            $micros,
            " AS micros FROM (SELECT DISTINCT n.created_at, l.covers_until FROM credit_notes n
                 JOIN credit_note_items c ON c.note_id = n.id JOIN invoice_items l ON l.id = c.invoice_item_id
                 WHERE n.subscription_id = $1 AND n.reason = $2 AND n.created_at > $3 AND l.covers_until < n.created_at) AS changes"
        )
    };
}
const DATED_BACK: Sql = Sql {
    sqlite: backdated!("COALESCE(SUM(created_at - covers_until), 0)"),
    postgres: backdated!("CAST(COALESCE(EXTRACT(EPOCH FROM SUM(created_at - covers_until)) * 1000000, 0) AS BIGINT)"),
};

pub struct SqlCreditNotes<'s>(pub &'s mut Connection);

#[async_trait]
impl CreditNotes for SqlCreditNotes<'_> {
    async fn insert_all(&mut self, notes: &[CreditNote], items: &[CreditNoteItem]) -> Result<(), StorageError> {
        notes.iter().for_each(|note| self.0.note(&note.id));
        let into =
            "INSERT INTO credit_notes (id, livemode, number, invoice_id, subscription_id, customer_id, currency_id, method_id, reason,
                        memo, total, due_reduced, to_balance, refunded, created_at)";
        let row = |note: &CreditNote| {
            let values = Values::default().bind(&note.id).bind(note.mode).bind(note.number).bind(&note.invoice_id);
            let values = values.bind(&note.subscription_id).bind(&note.customer_id).bind(&note.currency_id).bind(&note.method_id);
            let values = values.bind(note.reason).bind(&note.memo).bind(note.total).bind(note.due_reduced).bind(note.to_balance);
            values.bind(note.refunded).bind(note.created_at)
        };
        self.0.insert(into, notes.iter().map(row).collect(), "").await?;
        let into = "INSERT INTO credit_note_items (note_id, position, invoice_item_id, amount, revokes, pricing_formula)";
        let (mut positions, mut rows) = (BTreeMap::new(), Vec::with_capacity(items.len()));
        for item in items {
            let position: &mut u32 = positions.entry(&item.note_id).or_default();
            let values = Values::default().bind(&item.note_id).bind(*position).bind(&item.invoice_item_id).bind(item.amount);
            rows.push(values.bind(item.revokes).bind(&item.pricing_formula));
            *position += 1;
        }
        self.0.insert(into, rows, "").await.map(drop)
    }

    async fn find(&mut self, id: &CreditNoteId) -> Result<Option<CreditNote>, StorageError> {
        let row = self.0.query("SELECT * FROM credit_notes WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(note).transpose()
    }

    async fn items_of(&mut self, notes: &[CreditNoteId]) -> Result<Vec<CreditNoteItem>, StorageError> {
        let rows = self.0.query_per_dialect(ITEMS_OF).bind(keys(notes)).all().await?;
        rows.iter().map(note_item).collect()
    }

    async fn backdated(&mut self, subscription: &SubscriptionId, since: Timestamp) -> Result<Duration, StorageError> {
        let query = self.0.query_per_dialect(DATED_BACK).bind(subscription).bind(CreditNoteReason::PlanChange).bind(since);
        Ok(Duration::from_micros(query.one().await?.get("micros")?))
    }

    async fn list(&mut self, mode: Mode, filter: &CreditNoteFilter, page: &Page) -> Result<Listed<CreditNote>, StorageError> {
        let listing = match (&filter.invoice_id, &filter.customer_id, &filter.subscription_id) {
            (Some(_), _, _) => &OF_INVOICE,
            (None, Some(_), _) => &OF_CUSTOMER,
            (None, None, Some(_)) => &OF_SUBSCRIPTION,
            (None, None, None) => &ALL,
        };
        list(
            self.0,
            listing,
            page,
            |query| query.bind(mode).bind(&filter.customer_id).bind(&filter.invoice_id).bind(&filter.subscription_id),
            note,
        )
        .await
    }
}

fn note(row: &Row) -> Result<CreditNote, StorageError> {
    Ok(CreditNote {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        number: row.get("number")?,
        invoice_id: row.get("invoice_id")?,
        subscription_id: row.get("subscription_id")?,
        customer_id: row.get("customer_id")?,
        currency_id: row.get("currency_id")?,
        method_id: row.get("method_id")?,
        reason: row.get("reason")?,
        memo: row.get("memo")?,
        total: row.get("total")?,
        due_reduced: row.get("due_reduced")?,
        to_balance: row.get("to_balance")?,
        refunded: row.get("refunded")?,
        created_at: row.get("created_at")?,
    })
}

fn note_item(row: &Row) -> Result<CreditNoteItem, StorageError> {
    Ok(CreditNoteItem {
        note_id: row.get("note_id")?,
        invoice_item_id: row.get("invoice_item_id")?,
        amount: row.get("amount")?,
        revokes: row.get("revokes")?,
        pricing_formula: row.get("pricing_formula")?,
    })
}
