//! Refunds over the network that received the payment.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::payment::{Refund, RefundFilter, RefundStatus, Refunds, UnsettledRefund};
use souk_domain::shared::{Amount, CreditNoteId, CurrencyId, InvoiceId, Listed, MethodId, Mode, Page, RefundId, StorageError, Timestamp};

/// One list per index, as for invoices.
macro_rules! refunds {
    ($($conditions:tt)+) => { listing!("refunds", $($conditions)+ " AND ($7 IS NULL OR status = $7) AND ($8 IS NULL OR kind = $8)") };
}
pub(super) const ALL: Listing = refunds!("livemode = $4 AND $5 IS NULL AND $6 IS NULL");
pub(super) const OF_CUSTOMER: Listing = refunds!("customer_id = $5 AND " (either "+livemode" "livemode") " = $4 AND $6 IS NULL").exact();
pub(super) const OF_INVOICE: Listing =
    refunds!("invoice_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($5 IS NULL OR customer_id = $5)").exact();
const LOCK: Sql = sql_per_dialect!("SELECT * FROM refunds WHERE id = $1" (either "" " FOR UPDATE"));
const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM refunds WHERE id " (among "$1") " ORDER BY id");
// SQLite uses a partial index only if the statement repeats the index's condition verbatim.
pub(super) const FIND_BY_REFERENCE: &str = "SELECT * FROM refunds WHERE method_id = $1 AND reference = $2 AND reference <> '' ORDER BY id";
pub(super) const FAILED_WITH: &str =
    "SELECT * FROM refunds WHERE status = 'failed' AND method_id = $1 AND failure ->> 'code' = $2 AND kind = 'refund' ORDER BY id LIMIT $3";
pub(super) const UNSETTLED_OF: Sql = sql_per_dialect!(
    "SELECT invoice_id, status, amount FROM refunds WHERE invoice_id " (among "$1")
    " AND (status = 'pending' OR status = 'failed' AND kind = 'refund') ORDER BY id"
);
pub(super) const AMOUNTS_SINCE: &str = "SELECT amount FROM refunds WHERE livemode = $1 AND currency_id = $2 AND ordered_at >= $3
    AND status <> 'canceled' AND NOT (kind = 'balance_payout' AND status = 'failed')";

pub struct SqlRefunds<'s>(pub &'s mut Connection);

#[async_trait]
impl Refunds for SqlRefunds<'_> {
    async fn insert_all(&mut self, refunds: &[Refund]) -> Result<(), StorageError> {
        refunds.iter().for_each(|refund| self.0.note(&refund.id));
        let into = "INSERT INTO refunds (id, livemode, kind, status, amount, currency_id, method_id, customer_id, intent_id, payment_id,
                        credit_note_id, invoice_id, subscription_id, reason, description, reference, failure, failure_count, ordered_at,
                        created_at, updated_at)";
        self.0.insert(into, refunds.iter().map(values_of).collect(), "").await.map(drop)
    }

    async fn lock(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError> {
        let row = self.0.query_per_dialect(LOCK).bind(id).optional().await?;
        row.as_ref().map(refund).transpose()
    }

    async fn update(&mut self, before: &Refund, after: &Refund) -> Result<bool, StorageError> {
        let update = "UPDATE refunds SET status = $2, reference = $3, failure = $4, failure_count = $5, ordered_at = $6, updated_at = $7,
                          amount = $10
                      WHERE id = $1 AND status = $8 AND failure_count = $9 AND amount = $11";
        let query = self.0.query(update).bind(&before.id).bind(after.status).bind(&after.reference).bind(&after.failure);
        let query =
            query.bind(after.failure_count).bind(after.ordered_at).bind(after.updated_at).bind(before.status).bind(before.failure_count);
        Ok(query.bind(after.amount).bind(before.amount).execute().await? == 1)
    }

    async fn find(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError> {
        let row = self.0.query("SELECT * FROM refunds WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(refund).transpose()
    }

    async fn find_all(&mut self, ids: &[RefundId]) -> Result<Vec<Refund>, StorageError> {
        self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?.iter().map(refund).collect()
    }

    async fn find_by_reference(&mut self, method: &MethodId, reference: &str) -> Result<Vec<Refund>, StorageError> {
        let rows = self.0.query(FIND_BY_REFERENCE).bind(method).bind(reference).all().await?;
        rows.iter().map(refund).collect()
    }

    async fn failed_with(&mut self, method: &MethodId, code: &str, limit: u32) -> Result<Vec<Refund>, StorageError> {
        let rows = self.0.query(FAILED_WITH).bind(method).bind(code).bind(limit).all().await?;
        rows.iter().map(refund).collect()
    }

    async fn unsettled_of(&mut self, invoices: &[InvoiceId]) -> Result<Vec<UnsettledRefund>, StorageError> {
        let rows = self.0.query_per_dialect(UNSETTLED_OF).bind(keys(invoices)).all().await?;
        let refund = |row: &Row| {
            let has_failed = row.get::<RefundStatus>("status")? == RefundStatus::Failed;
            Ok(UnsettledRefund { invoice_id: row.get("invoice_id")?, amount: row.get("amount")?, has_failed })
        };
        rows.iter().map(refund).collect()
    }

    async fn amounts_since(&mut self, mode: Mode, currency: &CurrencyId, since: Timestamp) -> Result<Vec<Amount>, StorageError> {
        let rows = self.0.query(AMOUNTS_SINCE).bind(mode).bind(currency).bind(since).all().await?;
        rows.iter().map(|row| row.get("amount")).collect()
    }

    async fn of_note(&mut self, note: &CreditNoteId) -> Result<Vec<Refund>, StorageError> {
        let rows = self.0.query("SELECT * FROM refunds WHERE credit_note_id = $1 ORDER BY id").bind(note).all().await?;
        rows.iter().map(refund).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &RefundFilter, page: &Page) -> Result<Listed<Refund>, StorageError> {
        let listing = match (&filter.invoice_id, &filter.customer_id) {
            (Some(_), _) => &OF_INVOICE,
            (None, Some(_)) => &OF_CUSTOMER,
            (None, None) => &ALL,
        };
        list(
            self.0,
            listing,
            page,
            |query| query.bind(mode).bind(&filter.customer_id).bind(&filter.invoice_id).bind(filter.status).bind(filter.kind),
            refund,
        )
        .await
    }
}

fn values_of(refund: &Refund) -> Values {
    let values = Values::default().bind(&refund.id).bind(refund.mode).bind(refund.kind).bind(refund.status).bind(refund.amount);
    let values = values.bind(&refund.currency_id).bind(&refund.method_id).bind(&refund.customer_id).bind(&refund.intent_id);
    let values = values.bind(&refund.payment_id).bind(&refund.credit_note_id).bind(&refund.invoice_id).bind(&refund.subscription_id);
    let values = values.bind(&refund.reason).bind(&refund.description).bind(&refund.reference).bind(&refund.failure);
    values.bind(refund.failure_count).bind(refund.ordered_at).bind(refund.created_at).bind(refund.updated_at)
}

fn refund(row: &Row) -> Result<Refund, StorageError> {
    Ok(Refund {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        kind: row.get("kind")?,
        status: row.get("status")?,
        amount: row.get("amount")?,
        currency_id: row.get("currency_id")?,
        method_id: row.get("method_id")?,
        customer_id: row.get("customer_id")?,
        intent_id: row.get("intent_id")?,
        payment_id: row.get("payment_id")?,
        credit_note_id: row.get("credit_note_id")?,
        invoice_id: row.get("invoice_id")?,
        subscription_id: row.get("subscription_id")?,
        reason: row.get("reason")?,
        description: row.get("description")?,
        reference: row.get("reference")?,
        failure: row.get("failure")?,
        failure_count: row.get("failure_count")?,
        ordered_at: row.get("ordered_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
