//! Invoice payments: the amount that one source paid of one invoice.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{InvoicePayment, InvoicePayments, PaymentSource};
use souk_domain::shared::{AttemptId, BalanceTransactionId, InvoiceId, PaymentIntentId, StorageError};

const TABLE: &str = "invoice_payments";
const INSERT: &str =
    "INSERT INTO invoice_payments (id, invoice_id, source, attempt_id, intent_id, balance_transaction_id, amount, refunded,
                          disputed, reversed, created_at)";
const OF_INVOICES: Sql = sql_per_dialect!("SELECT * FROM invoice_payments WHERE invoice_id " (among "$1") " ORDER BY id");

pub struct SqlInvoicePayments<'s>(pub &'s mut Connection);

#[async_trait]
impl InvoicePayments for SqlInvoicePayments<'_> {
    async fn insert_all(&mut self, payments: &[InvoicePayment]) -> Result<(), StorageError> {
        self.0.insert_deferred(INSERT, payments.iter().map(values_of).collect(), "").await
    }

    async fn of_invoices(&mut self, invoices: &[InvoiceId]) -> Result<Vec<InvoicePayment>, StorageError> {
        let rows = self.0.query_per_dialect(OF_INVOICES).bind(keys(invoices)).all().await?;
        rows.iter().map(payment).collect()
    }

    async fn of_intent(&mut self, intent: &PaymentIntentId) -> Result<Vec<InvoicePayment>, StorageError> {
        // Ordered by invoice id first: payments written at the same moment have ids in no defined order.
        let select = "SELECT * FROM invoice_payments WHERE intent_id = $1 ORDER BY invoice_id, id";
        let rows = self.0.query(select).bind(intent).all().await?;
        rows.iter().map(payment).collect()
    }

    async fn update(&mut self, before: &InvoicePayment, after: &InvoicePayment) -> Result<bool, StorageError> {
        let update = "UPDATE invoice_payments SET refunded = $2, disputed = $3, reversed = $4
                      WHERE id = $1 AND refunded = $5 AND disputed = $6 AND reversed = $7";
        let query = self.0.query(update).bind(&before.id).bind(after.refunded).bind(after.disputed).bind(after.reversed);
        Ok(query.bind(before.refunded).bind(before.disputed).bind(before.reversed).execute().await? == 1)
    }
}

fn values_of(payment: &InvoicePayment) -> Values {
    let (attempt, intent, transaction) = match &payment.source {
        PaymentSource::Network { attempt, intent } => (Some(attempt), Some(intent), None),
        PaymentSource::Balance(transaction) => (None, None, Some(transaction)),
        PaymentSource::Stake(attempt) => (Some(attempt), None, None),
    };
    let values = Values::default().bind(&payment.id).bind(&payment.invoice_id).bind(payment.source.name()).bind(attempt);
    let values = values.bind(intent).bind(transaction).bind(payment.amount).bind(payment.refunded).bind(payment.disputed);
    values.bind(payment.reversed).bind(payment.created_at)
}

fn payment(row: &Row) -> Result<InvoicePayment, StorageError> {
    let source: String = row.get("source")?;
    let attempt: Option<AttemptId> = row.get("attempt_id")?;
    let intent: Option<PaymentIntentId> = row.get("intent_id")?;
    let transaction: Option<BalanceTransactionId> = row.get("balance_transaction_id")?;
    let source = match (source.as_str(), attempt, intent, transaction) {
        ("network", Some(attempt), Some(intent), None) => PaymentSource::Network { attempt, intent },
        ("balance", None, None, Some(transaction)) => PaymentSource::Balance(transaction),
        ("stake", Some(attempt), None, None) => PaymentSource::Stake(attempt),
        _ => return Err(StorageError::Corrupt { table: TABLE, column: "source", value: source }),
    };
    Ok(InvoicePayment {
        id: row.get("id")?,
        invoice_id: row.get("invoice_id")?,
        source,
        amount: row.get("amount")?,
        refunded: row.get("refunded")?,
        disputed: row.get("disputed")?,
        reversed: row.get("reversed")?,
        created_at: row.get("created_at")?,
    })
}
