//! Invoices, their lines, and the series that numbers them.

use super::columns::{containing, keys, read_period};
use super::listing::{Listing, list, listing, sql_each};
use super::{Row, Session, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{BillingReason, Invoice, InvoiceFilter, InvoiceItem, InvoiceStatus, Invoices, Scope, read_number};
use souk_domain::shared::{
    Amount, ClockId, CustomerId, InvoiceId, Listed, Mode, Page, PaymentIntentId, StorageError, SubscriptionId, Timestamp,
};
use std::time::Duration;

/// A list for each index: SQLite would read through all invoices of a mode where one statement served all of them. There, `+` keeps
/// the mode from being what rows are found by. A draft that became void, because its order was never paid, was never an invoice.
macro_rules! invoices {
    ($($whose:tt)+) => {
        listing!(
            "invoices",
            $($whose)+
            " AND ($5 IS NULL OR status IN " (listed "$5") ") AND ($7 IS NULL OR currency_id = $7)
              AND (status <> 'void' OR number IS NOT NULL)
              AND (total >= $8 OR EXISTS
                      (SELECT 1 FROM invoice_items WHERE invoice_id = invoices.id AND calculation ->> 'formula' = 'applied'))
              AND ($10 OR reason NOT IN ('stake', 'slash_stake')) AND ($11 OR reason <> 'return_stake')
              AND ($10 OR $12 OR reason <> 'subscription_recover')"
        )
    };
}
pub(super) const ALL: Listing = invoices!("livemode = $4 AND $6 IS NULL AND $9 IS NULL");
pub(super) const OF_CUSTOMER: Listing =
    invoices!("customer_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($9 IS NULL OR subscription_id = $9)");
pub(super) const OF_SUBSCRIPTION: Listing =
    invoices!("subscription_id = $9 AND " (either "+livemode" "livemode") " = $4 AND ($6 IS NULL OR customer_id = $6)");
/// What a search adds; the lists that are not searched are counted without their rows.
macro_rules! searched {
    ($($whose:tt)+) => { invoices!($($whose)+ " AND (id = $13 OR number = $14 OR LOWER(description) LIKE $15 ESCAPE '\\')") };
}
pub(super) const FOUND: Listing = searched!("livemode = $4 AND $6 IS NULL AND ($9 IS NULL OR subscription_id = $9)");
pub(super) const FOUND_OF_CUSTOMER: Listing =
    searched!("customer_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($9 IS NULL OR subscription_id = $9)");
const FIND_ALL: Sql = sql_each!("SELECT * FROM invoices WHERE id IN " (listed "$1") " ORDER BY id");
const ITEMS_OF: Sql = sql_each!("SELECT * FROM invoice_items WHERE invoice_id IN " (listed "$1") " ORDER BY invoice_id, position");
const INSERT: &str = "INSERT INTO invoices (id, livemode, number, status, reason, description, customer_id, currency_id, method_id,
                          session_id, subscription_id, period_start, period_end, intent_id, bill_to, total, amount_paid, refusals,
                          retry_at, clock_id, created_at, finalized_at, paid_at, updated_at, reference)";
const INSERT_ITEMS: &str = "INSERT INTO invoice_items (id, invoice_id, position, price_id, description, quantity, unit_amount, amount,
                                period_start, period_end, calculation)";
const CLAIM_RETRIES: Sql = Sql {
    sqlite: "UPDATE invoices SET retry_at = NULL WHERE id IN
                 (SELECT id FROM invoices WHERE retry_at <= $1 AND clock_id IS NULL ORDER BY retry_at, id LIMIT $2)
             RETURNING *",
    postgres: "WITH due AS MATERIALIZED
                   (SELECT id FROM invoices WHERE retry_at <= $1 AND clock_id IS NULL ORDER BY retry_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
               UPDATE invoices SET retry_at = NULL FROM due WHERE invoices.id = due.id RETURNING invoices.*",
};
const CLAIM_RETRIES_BY_CLOCK: Sql = Sql {
    sqlite: "UPDATE invoices SET retry_at = NULL WHERE id IN
                 (SELECT id FROM invoices WHERE clock_id = $3 AND retry_at <= $1 ORDER BY retry_at, id LIMIT $2)
             RETURNING *",
    postgres: "WITH due AS MATERIALIZED
                   (SELECT id FROM invoices WHERE clock_id = $3 AND retry_at <= $1 ORDER BY retry_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
               UPDATE invoices SET retry_at = NULL FROM due WHERE invoices.id = due.id RETURNING invoices.*",
};

pub struct SqlInvoices<'s>(pub &'s mut Session);

const OF_PERIOD: &str = "WITH begins AS (SELECT period_start FROM invoices WHERE subscription_id = $1 AND number IS NOT NULL
                                           AND reason IN ('subscription_create', 'subscription_cycle')),
                         own AS (SELECT (SELECT MAX(period_start) FROM begins WHERE period_start <= $2) AS start,
                                        (SELECT MIN(period_start) FROM begins WHERE period_start > $2) AS until)
                         SELECT invoices.* FROM invoices, own WHERE subscription_id = $1 AND number IS NOT NULL
                             AND (own.start IS NULL OR period_start >= own.start)
                             AND (own.until IS NULL OR period_start < own.until
                                  OR (period_start = own.until AND reason IN ('subscription_create', 'subscription_cycle')))
                         ORDER BY number DESC LIMIT $3";
const DATED_BACK: Sql = Sql {
    sqlite: "SELECT COALESCE(SUM(created_at - period_start), 0) AS micros FROM invoices
             WHERE subscription_id = $1 AND reason = $2 AND created_at > $3 AND period_start < created_at",
    postgres: "SELECT CAST(COALESCE(EXTRACT(EPOCH FROM SUM(created_at - period_start)) * 1000000, 0) AS BIGINT) AS micros FROM invoices
               WHERE subscription_id = $1 AND reason = $2 AND created_at > $3 AND period_start < created_at",
};

#[async_trait]
impl Invoices for SqlInvoices<'_> {
    async fn insert_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError> {
        self.0.insert_later(INSERT, vec![values_of(invoice)], "").await?;
        self.0.insert_later(INSERT_ITEMS, rows_of(std::iter::once(items)), "").await
    }

    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError> {
        let update = "ON CONFLICT (id) DO UPDATE SET
                          description = excluded.description, customer_id = excluded.customer_id, currency_id = excluded.currency_id,
                          method_id = excluded.method_id, intent_id = excluded.intent_id, bill_to = excluded.bill_to,
                          total = excluded.total, updated_at = excluded.updated_at, reason = excluded.reason,
                          subscription_id = excluded.subscription_id, period_start = excluded.period_start,
                          period_end = excluded.period_end, clock_id = excluded.clock_id
                          WHERE invoices.status = 'draft'";
        self.0.insert_later(INSERT, vec![values_of(invoice)], update).await?;
        self.0.query("DELETE FROM invoice_items WHERE invoice_id = $1").bind(&invoice.id).later(None).await?;
        self.0.insert_later(INSERT_ITEMS, rows_of(std::iter::once(items)), "").await
    }

    async fn take_numbers(&mut self, mode: Mode, count: u32) -> Result<u64, StorageError> {
        let update = "UPDATE invoice_series SET last_number = last_number + $2 WHERE livemode = $1 RETURNING last_number";
        let last: u64 = self.0.query(update).bind(mode).bind(count).one().await?.get("last_number")?;
        Ok(last + 1 - u64::from(count))
    }

    async fn insert_final_all(&mut self, invoices: &[(Invoice, Vec<InvoiceItem>)]) -> Result<(), StorageError> {
        let rows: Vec<_> = invoices.iter().map(|(invoice, _)| values_of(invoice)).collect();
        if self.0.insert(INSERT, rows, "ON CONFLICT DO NOTHING").await? < invoices.len() as u64 {
            return Err(StorageError::Duplicate("invoices: one of this subscription, start and reason".to_owned()));
        }
        self.0.insert_later(INSERT_ITEMS, rows_of(invoices.iter().map(|(_, items)| items.as_slice())), "").await
    }

    async fn pay(
        &mut self,
        id: &InvoiceId,
        amount: Amount,
        intent: Option<&PaymentIntentId>,
        now: Timestamp,
    ) -> Result<Option<InvoiceStatus>, StorageError> {
        let select = "SELECT status, livemode, number FROM invoices WHERE id = $1";
        let Some(found) = self.0.query(select).bind(id).optional().await? else { return Ok(None) };
        let number: Option<u64> = found.get("number")?;
        let update = "UPDATE invoices SET status = 'paid', amount_paid = $2, paid_at = $3, finalized_at = COALESCE(finalized_at, $3),
                          intent_id = COALESCE($4, intent_id), retry_at = NULL, updated_at = $3
                      WHERE id = $1 AND status IN ('draft', 'open', 'uncollectible')";
        if self.0.query(update).bind(id).bind(amount).bind(now).bind(intent).execute().await? == 0 {
            return Ok(None);
        }
        if number.is_none() {
            let number = self.take_numbers(found.get("livemode")?, 1).await?;
            self.0.query("UPDATE invoices SET number = $2 WHERE id = $1").bind(id).bind(number).execute().await?;
        }
        found.get("status").map(Some)
    }

    async fn refuse(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invoices SET status = 'uncollectible', refusals = refusals + 1, retry_at = $2, updated_at = $3
                      WHERE id = $1 AND status IN ('open', 'uncollectible')";
        Ok(self.0.query(update).bind(id).bind(retry_at).bind(now).execute().await? == 1)
    }

    async fn void(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError> {
        let update =
            "UPDATE invoices SET status = 'void', retry_at = NULL, updated_at = $2 WHERE id = $1 AND status IN ('open', 'uncollectible')";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn void_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invoices SET status = 'void', updated_at = $2 WHERE id = $1 AND status = 'draft'";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
        let row = self.0.query("SELECT * FROM invoices WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(invoice).transpose()
    }

    async fn find_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query_each(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query("SELECT * FROM invoice_items WHERE invoice_id = $1 ORDER BY position").bind(id).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn items_of(&mut self, ids: &[InvoiceId]) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query_each(ITEMS_OF).bind(keys(ids)).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        let least = Amount::new(u128::from(filter.ignore_zero));
        let (words, number, wanted) = (filter.query.as_str(), read_number(&filter.query, mode), containing(&filter.query));
        let listing = match (words.is_empty(), &filter.subscription_id, &filter.customer_id) {
            (false, _, Some(_)) => &FOUND_OF_CUSTOMER,
            (false, _, None) => &FOUND,
            (true, Some(_), _) => &OF_SUBSCRIPTION,
            (true, None, Some(_)) => &OF_CUSTOMER,
            (true, None, None) => &ALL,
        };
        list(
            self.0,
            listing,
            page,
            |query| {
                let query = query.bind(mode).bind(statuses.clone()).bind(&filter.customer_id).bind(&filter.currency_id).bind(least);
                let query = query.bind(&filter.subscription_id).bind(filter.include_staking).bind(filter.include_return_staking);
                let query = query.bind(filter.include_recovered_from);
                if words.is_empty() { query } else { query.bind(words).bind(number).bind(wanted.as_str()) }
            },
            invoice,
        )
        .await
    }

    async fn overdue(&mut self, customer: &CustomerId) -> Result<Vec<Invoice>, StorageError> {
        let select = "SELECT * FROM invoices WHERE customer_id = $1 AND status = 'uncollectible' ORDER BY id";
        let rows = self.0.query(select).bind(customer).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn overdue_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError> {
        let select = "SELECT * FROM invoices WHERE subscription_id = $1 AND status = 'uncollectible' ORDER BY id";
        let rows = self.0.query(select).bind(subscription).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn unpaid_of(&mut self, subscription: &SubscriptionId) -> Result<Vec<Invoice>, StorageError> {
        let select = "SELECT * FROM invoices WHERE subscription_id = $1 AND status IN ('open', 'uncollectible') ORDER BY id";
        let rows = self.0.query(select).bind(subscription).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn schedule(&mut self, id: &InvoiceId, retry_at: Option<Timestamp>) -> Result<(), StorageError> {
        let update = "UPDATE invoices SET retry_at = $2 WHERE id = $1 AND status = 'uncollectible'";
        self.0.query(update).bind(id).bind(retry_at).execute().await.map(drop)
    }

    async fn issued_since(&mut self, subscription: &SubscriptionId, start: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError> {
        // Ids of the same moment are in no order; numbers are.
        let select = "SELECT * FROM invoices WHERE subscription_id = $1 AND period_start >= $2 AND number IS NOT NULL
                      ORDER BY number DESC LIMIT $3";
        let rows = self.0.query(select).bind(subscription).bind(start).bind(limit).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn of_period(&mut self, subscription: &SubscriptionId, at: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query(OF_PERIOD).bind(subscription).bind(at).bind(limit).all().await?;
        rows.iter().rev().map(invoice).collect()
    }

    async fn last_start(&mut self, subscription: &SubscriptionId, reason: BillingReason) -> Result<Option<Timestamp>, StorageError> {
        let select = "SELECT MAX(period_start) AS start FROM invoices WHERE subscription_id = $1 AND reason = $2";
        self.0.query(select).bind(subscription).bind(reason).one().await?.get("start")
    }

    async fn dated_back(
        &mut self,
        subscription: &SubscriptionId,
        reason: BillingReason,
        since: Timestamp,
    ) -> Result<Duration, StorageError> {
        let query = self.0.query_each(DATED_BACK).bind(subscription).bind(reason).bind(since);
        let micros = query.one().await?.get("micros")?;
        Ok(Duration::from_micros(micros))
    }

    async fn claim_retries(&mut self, scope: &Scope, now: Timestamp, limit: u32) -> Result<Vec<Invoice>, StorageError> {
        let rows = match scope {
            Scope::Wall => self.0.query_each(CLAIM_RETRIES).bind(now).bind(limit).all().await?,
            Scope::Clock(clock) => self.0.query_each(CLAIM_RETRIES_BY_CLOCK).bind(now).bind(limit).bind(clock).all().await?,
        };
        rows.iter().map(invoice).collect()
    }

    async fn next_retry(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError> {
        let select = "SELECT MIN(retry_at) AS at FROM invoices WHERE clock_id = $1 AND retry_at IS NOT NULL";
        self.0.query(select).bind(clock).one().await?.get("at")
    }

    async fn stop_retries(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE invoices SET retry_at = NULL, updated_at = $2 WHERE subscription_id = $1 AND retry_at IS NOT NULL";
        self.0.query(update).bind(subscription).bind(now).execute().await.map(drop)
    }
}

fn rows_of<'i>(invoices: impl Iterator<Item = &'i [InvoiceItem]>) -> Vec<Values> {
    let row = |(position, item): (u32, &InvoiceItem)| {
        let values = Values::default().bind(&item.id).bind(&item.invoice_id).bind(position).bind(&item.price_id);
        let values = values.bind(&item.description).bind(item.quantity).bind(item.unit_amount).bind(item.amount);
        let values = values.bind(item.period.map(|period| period.start)).bind(item.period.map(|period| period.end));
        values.bind(&item.calculation)
    };
    invoices.flat_map(|items| (0u32..).zip(items).map(row)).collect()
}

fn values_of(invoice: &Invoice) -> Values {
    let values = Values::default().bind(&invoice.id).bind(invoice.mode).bind(invoice.number).bind(invoice.status).bind(invoice.reason);
    let values = values.bind(&invoice.description).bind(&invoice.customer_id).bind(&invoice.currency_id).bind(&invoice.method_id);
    let values = values.bind(&invoice.session_id).bind(&invoice.subscription_id).bind(invoice.period.map(|period| period.start));
    let values = values.bind(invoice.period.map(|period| period.end)).bind(&invoice.intent_id).bind(&invoice.bill_to);
    let values = values.bind(invoice.total).bind(invoice.amount_paid).bind(invoice.refusals).bind(invoice.retry_at);
    let values = values.bind(&invoice.clock_id).bind(invoice.created_at).bind(invoice.finalized_at).bind(invoice.paid_at);
    values.bind(invoice.updated_at).bind(&invoice.reference)
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
        subscription_id: row.get("subscription_id")?,
        period: read_period(row, "period_start", "period_end")?,
        intent_id: row.get("intent_id")?,
        reference: row.get("reference")?,
        bill_to: row.get("bill_to")?,
        total: row.get("total")?,
        amount_paid: row.get("amount_paid")?,
        refusals: row.get("refusals")?,
        retry_at: row.get("retry_at")?,
        clock_id: row.get("clock_id")?,
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
        period: read_period(row, "period_start", "period_end")?,
        calculation: row.get("calculation")?,
    })
}
