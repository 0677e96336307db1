//! Invoice payments: the amount that one source paid of one invoice.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{ChangedPayment, InvoicePayment, InvoicePayments, PaymentSource};
use souk_domain::shared::{AttemptId, BalanceTransactionId, InvoiceId, PaymentIntentId, StorageError};

const TABLE: &str = "invoice_payments";
const INSERT: &str =
    "INSERT INTO invoice_payments (id, invoice_id, source, attempt_id, intent_id, balance_transaction_id, amount, refunded,
                          disputed, reversed, created_at)";
const OF_INVOICES: Sql = sql_per_dialect!("SELECT * FROM invoice_payments WHERE invoice_id " (among "$1") " ORDER BY id");

// Ordered by invoice id first: payments written at the same moment have ids in no defined order.
const OF_INTENTS: Sql = sql_per_dialect!("SELECT * FROM invoice_payments WHERE intent_id " (among "$1") " ORDER BY invoice_id, id");

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

    async fn of_intents(&mut self, intents: &[PaymentIntentId]) -> Result<Vec<InvoicePayment>, StorageError> {
        let rows = self.0.query_per_dialect(OF_INTENTS).bind(keys(intents)).all().await?;
        rows.iter().map(payment).collect()
    }

    async fn update_all(&mut self, changes: &[ChangedPayment]) -> Result<bool, StorageError> {
        let set = "UPDATE invoice_payments SET refunded = new.column2, disputed = new.column3, reversed = new.column4";
        let is_as_before = "invoice_payments.id = new.column1 AND invoice_payments.refunded = new.column5
                            AND invoice_payments.disputed = new.column6 AND invoice_payments.reversed = new.column7";
        let row = |ChangedPayment { before, after }: &ChangedPayment| {
            let values = Values::default().bind(&before.id).bind(after.refunded).bind(after.disputed).bind(after.reversed);
            values.bind(before.refunded).bind(before.disputed).bind(before.reversed)
        };
        Ok(self.0.update(set, changes.iter().map(row).collect(), is_as_before).await? == changes.len() as u64)
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
