//! Invoices, their lines, and the series that numbers them.

use super::columns::keys;
use super::listing::{Listing, list, listing};
use super::{Row, Session};
use async_trait::async_trait;
use souk_domain::billing::{Invoice, InvoiceFilter, InvoiceItem, Invoices};
use souk_domain::shared::{Amount, InvoiceId, Listed, Mode, Page, StorageError, Timestamp};

const LIST: Listing = listing!(
    "invoices",
    "livemode = $4 AND ($5 IS NULL OR status IN " (listed "$5") ") AND ($6 IS NULL OR customer_id = $6)
     AND ($7 IS NULL OR currency_id = $7) AND total >= $8"
);

pub struct SqlInvoices<'s>(pub &'s mut Session);

#[async_trait]
impl Invoices for SqlInvoices<'_> {
    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<bool, StorageError> {
        let insert = "INSERT INTO invoices (id, livemode, number, status, reason, description, customer_id, currency_id, method_id,
                          session_id, intent_id, bill_to, total, amount_paid, created_at, finalized_at, paid_at, updated_at)
                      VALUES ($1, $2, NULL, 'draft', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, NULL, NULL, $14)
                      ON CONFLICT (id) DO NOTHING";
        let query = self.0.query(insert).bind(&invoice.id).bind(invoice.mode).bind(invoice.reason).bind(&invoice.description);
        let query = query.bind(&invoice.customer_id).bind(&invoice.currency_id).bind(&invoice.method_id).bind(&invoice.session_id);
        let query = query.bind(&invoice.intent_id).bind(&invoice.bill_to).bind(invoice.total).bind(invoice.amount_paid);
        if query.bind(invoice.created_at).bind(invoice.updated_at).execute().await? == 0 {
            let update = "UPDATE invoices SET description = $2, customer_id = $3, currency_id = $4, method_id = $5, intent_id = $6,
                              bill_to = $7, total = $8, updated_at = $9
                          WHERE id = $1 AND status = 'draft'";
            let query = self.0.query(update).bind(&invoice.id).bind(&invoice.description).bind(&invoice.customer_id);
            let query = query.bind(&invoice.currency_id).bind(&invoice.method_id).bind(&invoice.intent_id).bind(&invoice.bill_to);
            if query.bind(invoice.total).bind(invoice.updated_at).execute().await? == 0 {
                return Ok(false);
            }
            self.0.query("DELETE FROM invoice_items WHERE invoice_id = $1").bind(&invoice.id).execute().await?;
        }
        let insert = "INSERT INTO invoice_items (id, invoice_id, position, price_id, description, quantity, unit_amount, amount)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        for (position, item) in (0u32..).zip(items) {
            let query = self.0.query(insert).bind(&item.id).bind(&invoice.id).bind(position).bind(&item.price_id);
            query.bind(&item.description).bind(item.quantity).bind(item.unit_amount).bind(item.amount).execute().await?;
        }
        Ok(true)
    }

    async fn pay(&mut self, id: &InvoiceId, amount: Amount, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invoices SET status = 'paid', amount_paid = $2, paid_at = $3, finalized_at = COALESCE(finalized_at, $3),
                          updated_at = $3
                      WHERE id = $1 AND status IN ('draft', 'open')
                      RETURNING livemode, number";
        let Some(paid) = self.0.query(update).bind(id).bind(amount).bind(now).optional().await? else { return Ok(false) };
        if paid.get::<Option<u64>>("number")?.is_none() {
            let number = self.next_number(paid.get("livemode")?).await?;
            self.0.query("UPDATE invoices SET number = $2 WHERE id = $1").bind(id).bind(number).execute().await?;
        }
        Ok(true)
    }

    async fn void_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invoices SET status = 'void', updated_at = $2 WHERE id = $1 AND status = 'draft'";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
        let row = self.0.query("SELECT * FROM invoices WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(invoice).transpose()
    }

    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query("SELECT * FROM invoice_items WHERE invoice_id = $1 ORDER BY position").bind(id).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        let least = Amount::new(u128::from(filter.ignore_zero));
        list(
            self.0,
            &LIST,
            page,
            |query| query.bind(mode).bind(statuses.clone()).bind(&filter.customer_id).bind(&filter.currency_id).bind(least),
            invoice,
        )
        .await
    }
}

impl SqlInvoices<'_> {
    /// The next number of a mode's series. Whoever asks next waits until this unit of work ends, and gets the same
    /// number when it is dropped: that is what leaves no gaps.
    async fn next_number(&mut self, mode: Mode) -> Result<u64, StorageError> {
        let update = "UPDATE invoice_series SET last_number = last_number + 1 WHERE livemode = $1 RETURNING last_number";
        self.0.query(update).bind(mode).one().await?.get("last_number")
    }
}

fn invoice(row: &Row) -> Result<Invoice, StorageError> {
    Ok(Invoice {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        number: row.get("number")?,
        status: row.get("status")?,
        reason: row.get("reason")?,
        description: row.get("description")?,
        customer_id: row.get("customer_id")?,
        currency_id: row.get("currency_id")?,
        method_id: row.get("method_id")?,
        session_id: row.get("session_id")?,
        intent_id: row.get("intent_id")?,
        bill_to: row.get("bill_to")?,
        total: row.get("total")?,
        amount_paid: row.get("amount_paid")?,
        created_at: row.get("created_at")?,
        finalized_at: row.get("finalized_at")?,
        paid_at: row.get("paid_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn invoice_item(row: &Row) -> Result<InvoiceItem, StorageError> {
    Ok(InvoiceItem {
        id: row.get("id")?,
        invoice_id: row.get("invoice_id")?,
        price_id: row.get("price_id")?,
        description: row.get("description")?,
        quantity: row.get("quantity")?,
        unit_amount: row.get("unit_amount")?,
        amount: row.get("amount")?,
    })
}
