//! Money that went back.

use super::invoices::SqlInvoices;
use super::listing::{Listing, list, listing};
use super::{Row, Session, Sql};
use async_trait::async_trait;
use souk_domain::billing::{Invoices, applied};
use souk_domain::payment::{Refund, RefundFilter, RefundStatus, RefundType, Refunds};
use souk_domain::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, Listed, Mode, Page, PaymentIntentId, RefundId, StorageError, Timestamp,
};

/// As for invoices, a list for each index.
pub(super) const ALL: Listing = listing!("refunds", "livemode = $4 AND $5 IS NULL AND ($6 IS NULL OR invoice_id = $6)");
pub(super) const OF_CUSTOMER: Listing =
    listing!("refunds", "customer_id = $5 AND " (either "+livemode" "livemode") " = $4 AND ($6 IS NULL OR invoice_id = $6)");

/// Amounts are texts of 39 digits on SQLite: its own arithmetic would make floats of them, so the sum comes from here,
/// and the row must still hold what it was made of.
const TAKE: &str = "UPDATE payment_intents SET amount_refunded = $2, updated_at = $3
                    WHERE id = $1 AND status = 'succeeded' AND amount_refunded = $4 AND amount_received >= $2";
const LOCK_INTENT: Sql = Sql {
    sqlite: "SELECT amount_received, amount_refunded FROM payment_intents WHERE id = $1",
    postgres: "SELECT amount_received, amount_refunded FROM payment_intents WHERE id = $1 FOR UPDATE",
};
const LOCK_PAID: Sql = Sql {
    sqlite: "SELECT id FROM invoices WHERE id = $1 AND status = 'paid'",
    postgres: "SELECT id FROM invoices WHERE id = $1 AND status = 'paid' FOR UPDATE",
};

pub struct SqlRefunds<'s>(pub &'s mut Session);

#[async_trait]
impl Refunds for SqlRefunds<'_> {
    async fn reserve(&mut self, refund: &Refund) -> Result<bool, StorageError> {
        if refund.kind == RefundType::Credit {
            if !self.is_within_credit(refund).await? {
                return Ok(false);
            }
        } else if let Some(intent) = &refund.intent_id {
            let Some(row) = self.0.query_each(LOCK_INTENT).bind(intent).optional().await? else { return Ok(false) };
            let before = row.get("amount_refunded")?;
            let Ok(after) = refund.amount.plus(before) else { return Ok(false) };
            // Who reserves waits for the payment's row: nobody gives back of the same invoice meanwhile.
            if let Some(invoice) = &refund.invoice_id
                && self.is_beyond(intent, invoice, refund.amount).await?
            {
                return Ok(false);
            }
            let query = self.0.query(TAKE).bind(intent).bind(after).bind(refund.created_at).bind(before);
            if query.execute().await? == 0 {
                return Ok(false);
            }
        }
        let insert = "INSERT INTO refunds (id, livemode, kind, status, amount, currency_id, method_id, customer_id, intent_id, invoice_id,
                          subscription_id, reason, description, reference, created_at, updated_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
        let query = self.0.query(insert).bind(&refund.id).bind(refund.mode).bind(refund.kind).bind(refund.status).bind(refund.amount);
        let query = query.bind(&refund.currency_id).bind(&refund.method_id).bind(&refund.customer_id).bind(&refund.intent_id);
        let query = query.bind(&refund.invoice_id).bind(&refund.subscription_id).bind(&refund.reason).bind(&refund.description);
        query.bind(&refund.reference).bind(refund.created_at).bind(refund.updated_at).execute().await?;
        Ok(true)
    }

    async fn finish(&mut self, id: &RefundId, status: RefundStatus, reference: &str, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE refunds SET status = $2, reference = $3, updated_at = $4 WHERE id = $1 AND status = 'pending'
                      RETURNING intent_id, amount";
        let Some(done) = self.0.query(update).bind(id).bind(status).bind(reference).bind(now).optional().await? else {
            return Ok(false);
        };
        let intent: Option<PaymentIntentId> = done.get("intent_id")?;
        if let (RefundStatus::Failed, Some(intent)) = (status, intent) {
            let row = self.0.query_each(LOCK_INTENT).bind(&intent).one().await?;
            let before: Amount = row.get("amount_refunded")?;
            let after = before.minus(done.get("amount")?).unwrap_or_default();
            self.0.query(TAKE).bind(&intent).bind(after).bind(now).bind(before).execute().await?;
        }
        Ok(true)
    }

    async fn find(&mut self, id: &RefundId) -> Result<Option<Refund>, StorageError> {
        let row = self.0.query("SELECT * FROM refunds WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(refund).transpose()
    }

    async fn credited(&mut self, invoice: &InvoiceId) -> Result<Amount, StorageError> {
        let select = "SELECT amount FROM refunds WHERE invoice_id = $1 AND kind = 'credit' AND status <> 'failed'";
        let rows = self.0.query(select).bind(invoice).all().await?;
        let amounts = rows.iter().map(|row| row.get("amount")).collect::<Result<Vec<Amount>, _>>()?;
        Amount::sum(amounts).map_err(|error| StorageError::Driver(Box::new(error)))
    }

    async fn of_intent(&mut self, intent: &PaymentIntentId) -> Result<Vec<Refund>, StorageError> {
        let rows = self.0.query("SELECT * FROM refunds WHERE intent_id = $1 ORDER BY id").bind(intent).all().await?;
        rows.iter().map(refund).collect()
    }

    async fn is_pending_of(&mut self, customer: &CustomerId, currency: &CurrencyId) -> Result<bool, StorageError> {
        let select = "SELECT id FROM refunds WHERE customer_id = $1 AND currency_id = $2 AND status = 'pending' LIMIT 1";
        Ok(self.0.query(select).bind(customer).bind(currency).optional().await?.is_some())
    }

    async fn list(&mut self, mode: Mode, filter: &RefundFilter, page: &Page) -> Result<Listed<Refund>, StorageError> {
        let listing = if filter.customer_id.is_some() { &OF_CUSTOMER } else { &ALL };
        list(self.0, listing, page, |query| query.bind(mode).bind(&filter.customer_id).bind(&filter.invoice_id), refund).await
    }
}

impl SqlRefunds<'_> {
    /// Whether so much more of an invoice was paid by credit, and is not credit again.
    async fn is_within_credit(&mut self, refund: &Refund) -> Result<bool, StorageError> {
        let Some(invoice) = &refund.invoice_id else { return Ok(false) };
        if self.0.query_each(LOCK_PAID).bind(invoice).optional().await?.is_none() {
            return Ok(false);
        }
        let lines = SqlInvoices(self.0).items(invoice).await?;
        let before = self.credited(invoice).await?;
        let after = before.plus(refund.amount);
        Ok(applied(&lines).is_ok_and(|applied| after.is_ok_and(|after| after <= applied)))
    }

    /// Whether so much more is beyond what an invoice asked for.
    async fn is_beyond(&mut self, intent: &PaymentIntentId, invoice: &InvoiceId, more: Amount) -> Result<bool, StorageError> {
        let Some(row) = self.0.query("SELECT total FROM invoices WHERE id = $1").bind(invoice).optional().await? else { return Ok(false) };
        let total: Amount = row.get("total")?;
        let select = "SELECT amount FROM refunds WHERE intent_id = $1 AND invoice_id = $2 AND kind <> 'credit' AND status <> 'failed'";
        let rows = self.0.query(select).bind(intent).bind(invoice).all().await?;
        let amounts = rows.iter().map(|row| row.get("amount")).collect::<Result<Vec<Amount>, _>>()?;
        Ok(Amount::sum(amounts.into_iter().chain([more])).map_or(true, |sum| sum > total))
    }
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
        invoice_id: row.get("invoice_id")?,
        subscription_id: row.get("subscription_id")?,
        reason: row.get("reason")?,
        description: row.get("description")?,
        reference: row.get("reference")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
