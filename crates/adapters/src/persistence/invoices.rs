//! Invoices, their lines and the number series.

use super::columns::{bind_description, containing, keys, read_description, read_period};
use super::listing::{Listing, list, listing, or_by_id, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{
    BillingReason, ChangedInvoice, DocumentType, Invoice, InvoiceFilter, InvoiceItem, Invoices, ItemCredit, NewInvoice, NumberRange,
    NumberSearch, ScheduledRetry, Scope, search_number,
};
use souk_domain::shared::{
    Amount, ClockId, CurrencyId, CustomerId, InvoiceId, Listed, MethodId, Mode, Page, StorageError, SubscriptionId, SubscriptionItemId,
    Timestamp,
};
use std::collections::BTreeSet;

/// One list per index: with one statement for all filters, SQLite would scan all invoices of a mode. On SQLite, the `+` before
/// `livemode` prevents the use of the index on the mode. The lists omit drafts that became void without a number, because their
/// checkout was never paid.
macro_rules! invoices {
    ($($conditions:tt)+) => {
        listing!(
            "invoices",
            $($conditions)+
            " AND ($5 IS NULL OR status " (among "$5") ") AND ($7 IS NULL OR currency_id = $7)
              AND (status <> 'void' OR number IS NOT NULL) AND total >= $8
              AND ($10 OR reason NOT IN ('stake', 'slash_stake', 'stake_overdraft_protection')) AND ($11 OR reason <> 'return_stake')
              AND ($10 OR $12 OR reason <> 'subscription_recover')"
        )
    };
}
pub(super) const ALL: Listing = invoices!("livemode = $4 AND $6 IS NULL AND $9 IS NULL");
pub(super) const OF_CUSTOMER: Listing =
    invoices!("customer_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($9 IS NULL OR subscription_id = $9)").exact();
pub(super) const OF_SUBSCRIPTION: Listing =
    invoices!("subscription_id = $9 AND " (either "+livemode" "livemode") " = $4 AND ($6 IS NULL OR customer_id = $6)").exact();
/// Adds the conditions of a search. They are separate so that a list without a search is counted from its index alone. The rows of the
/// customer or the mode are compared with the ranges of `$14` one by one, because the descriptions have to be compared in any case.
macro_rules! search {
    ($($conditions:tt)+) => {
        invoices!(
            $($conditions)+
            " AND (id = $13 OR LOWER(name || ' ' || name_zh) LIKE $15 ESCAPE '\\' OR EXISTS (SELECT 1 FROM "
            (either
                "json_each($14) r WHERE invoices.document = r.value ->> 'document'
                 AND invoices.number BETWEEN r.value ->> 'low' AND r.value ->> 'high'))"
                "jsonb_to_recordset($14) AS r (document TEXT, low BIGINT, high BIGINT) WHERE invoices.document = r.document
                 AND invoices.number BETWEEN r.low AND r.high))")
        )
    };
}
pub(super) const SEARCH: Listing =
    search!("livemode = $4 AND $6 IS NULL AND ($9 IS NULL OR subscription_id = $9) AND " (newest "invoices"));
pub(super) const SEARCH_OF_CUSTOMER: Listing =
    search!("customer_id = $6 AND " (either "+livemode" "livemode") " = $4 AND ($9 IS NULL OR subscription_id = $9)").exact();
/// Finds the numbers in the ranges of `$13` by their unique index. On PostgreSQL, `OFFSET 0` makes each range a scan of its own.
pub(super) const NUMBERED: Listing = invoices!(
    (either "+livemode" "livemode") " = $4 AND $6 IS NULL AND ($9 IS NULL OR subscription_id = $9) AND id IN (SELECT n.id FROM "
    (either
        "json_each($13) r CROSS JOIN invoices n WHERE n.livemode = $4 AND n.document = r.value ->> 'document'
         AND n.number BETWEEN r.value ->> 'low' AND r.value ->> 'high')"
        "jsonb_to_recordset($13) AS r (document TEXT, low BIGINT, high BIGINT) CROSS JOIN LATERAL
         (SELECT id FROM invoices WHERE livemode = $4 AND document = r.document AND number BETWEEN r.low AND r.high
          ORDER BY livemode, document, number OFFSET 0) n)")
);
const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM invoices WHERE id " (among "$1") " ORDER BY id");
const WITH_OVERDUE: Sql = sql_per_dialect!(
    "SELECT DISTINCT subscription_id FROM invoices WHERE subscription_id " (among "$1") " AND status = 'uncollectible'"
);
const UNPAID_OF: Sql = sql_per_dialect!(
    "SELECT * FROM invoices WHERE subscription_id " (among "$1") " AND status IN ('open', 'uncollectible') ORDER BY id"
);
const LOCK_ALL: Sql = sql_per_dialect!("SELECT * FROM invoices WHERE id " (among "$1") " ORDER BY id" (either "" " FOR UPDATE"));
const ITEMS_OF: Sql = sql_per_dialect!("SELECT * FROM invoice_items WHERE invoice_id " (among "$1") " ORDER BY invoice_id, position");
const INSERT: &str =
    "INSERT INTO invoices (id, livemode, document, number, status, reason, description, name, name_zh, name_others, customer_id, currency_id, method_id,
                          session_id, subscription_id, period_start, period_end, intent_id, bill_to, total, amount_paid, amount_credited,
                          failure_count, retry_at, clock_id, created_at, finalized_at, paid_at, updated_at, reference)";
const INSERT_ITEMS: &str =
    "INSERT INTO invoice_items (id, invoice_id, position, subscription_item_id, price_id, description, name, name_zh, name_others, quantity,
                                unit_amount, amount, credited, period_start, period_end, covers_until, pricing_formula)";
/// The columns that [`Invoices::update_all`] writes. The first five values are the key and the previous state, which
/// [`IS_AS_BEFORE`] compares.
pub(super) const UPDATE: &str = "UPDATE invoices SET status = new.column6, number = new.column7, subscription_id = new.column8,
                          period_start = new.column9, period_end = new.column10, total = new.column11, amount_paid = new.column12,
                          amount_credited = new.column13, intent_id = new.column14, retry_at = new.column15, finalized_at = new.column16,
                          paid_at = new.column17, updated_at = new.column18";
pub(super) const IS_AS_BEFORE: &str = "invoices.id = new.column1 AND invoices.status = new.column2 AND invoices.total = new.column3
                                AND invoices.amount_paid = new.column4 AND invoices.amount_credited = new.column5";
/// The lines of a subscription that cover a point in time, from invoices that are finalized and not void.
pub(super) const ITEMS_COVERING: &str = "SELECT i.* FROM invoices v JOIN invoice_items i ON i.invoice_id = v.id
                                         WHERE v.subscription_id = $1 AND v.document = 'invoice' AND v.number IS NOT NULL AND v.status <> 'void'
                                             AND i.period_start <= $2 AND i.covers_until > $2
                                         ORDER BY i.id";
/// Ordered by invoice number, because ids created at the same moment have no defined order.
pub(super) const ITEMS_BILLING: Sql = sql_per_dialect!(
    "SELECT i.* FROM invoice_items i JOIN invoices v ON v.id = i.invoice_id
     WHERE i.subscription_item_id " (among "$1") " AND i.period_start >= $2 AND i.credited < i.amount
         AND v.number IS NOT NULL AND v.status <> 'void'
     ORDER BY v.number DESC, i.position DESC"
);
pub(super) const UNPAID_IN: &str = "SELECT * FROM invoices
                                    WHERE customer_id = $1 AND currency_id = $2 AND status IN ('open', 'uncollectible') ORDER BY id LIMIT $3";
pub(super) const CLAIM_RETRIES: Sql = sql_per_dialect!(
    (either
        "UPDATE invoices SET retry_at = NULL WHERE id IN (SELECT id FROM invoices"
        "WITH due AS MATERIALIZED (SELECT id FROM invoices")
    " WHERE retry_at <= $1 AND clock_id IS NULL AND NOT EXISTS
          (SELECT 1 FROM subscriptions s WHERE s.id = invoices.subscription_id AND (s.on_hold IS NOT NULL OR s.method_id " (among "$3") "))
      AND NOT EXISTS (SELECT 1 FROM found_payments f
          WHERE f.livemode = invoices.livemode AND f.currency_id = invoices.currency_id AND f.handled_at IS NULL AND f.incoming = TRUE)
      ORDER BY retry_at, id LIMIT $2"
    (either
        ") RETURNING *"
        " FOR UPDATE SKIP LOCKED) UPDATE invoices SET retry_at = NULL FROM due WHERE invoices.id = due.id RETURNING invoices.*")
);
const CLAIM_RETRIES_BY_CLOCK: Sql = sql_per_dialect!(
    (either
        "UPDATE invoices SET retry_at = NULL WHERE id IN (SELECT id FROM invoices"
        "WITH due AS MATERIALIZED (SELECT id FROM invoices")
    " WHERE clock_id = $4 AND retry_at <= $1 AND NOT EXISTS
          (SELECT 1 FROM subscriptions s WHERE s.id = invoices.subscription_id AND (s.on_hold IS NOT NULL OR s.method_id " (among "$3") "))
      ORDER BY retry_at, id LIMIT $2"
    (either
        ") RETURNING *"
        " FOR UPDATE SKIP LOCKED) UPDATE invoices SET retry_at = NULL FROM due WHERE invoices.id = due.id RETURNING invoices.*")
);

pub struct SqlInvoices<'s>(pub &'s mut Connection);

#[async_trait]
impl Invoices for SqlInvoices<'_> {
    async fn insert_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError> {
        self.0.insert_deferred(INSERT, vec![values_of(invoice)], "").await?;
        self.0.insert_deferred(INSERT_ITEMS, rows_of(std::iter::once(items)), "").await
    }

    async fn put_draft(&mut self, invoice: &Invoice, items: &[InvoiceItem]) -> Result<(), StorageError> {
        let update = "ON CONFLICT (id) DO UPDATE SET
                          description = excluded.description, name = excluded.name, name_zh = excluded.name_zh,
                          name_others = excluded.name_others, customer_id = excluded.customer_id, currency_id = excluded.currency_id,
                          method_id = excluded.method_id, intent_id = excluded.intent_id, bill_to = excluded.bill_to,
                          total = excluded.total, updated_at = excluded.updated_at, reason = excluded.reason, document = excluded.document,
                          subscription_id = excluded.subscription_id, period_start = excluded.period_start,
                          period_end = excluded.period_end, clock_id = excluded.clock_id
                          WHERE invoices.status = 'draft'";
        self.0.insert_deferred(INSERT, vec![values_of(invoice)], update).await?;
        self.0.query("DELETE FROM invoice_items WHERE invoice_id = $1").bind(&invoice.id).defer(None).await?;
        self.0.insert_deferred(INSERT_ITEMS, rows_of(std::iter::once(items)), "").await
    }

    async fn allocate_numbers(&mut self, mode: Mode, document: DocumentType, count: u32) -> Result<u64, StorageError> {
        let update = "UPDATE number_series SET last_number = last_number + $3 WHERE livemode = $1 AND document = $2 RETURNING last_number";
        let last: u64 = self.0.query(update).bind(mode).bind(document).bind(count).one().await?.get("last_number")?;
        Ok(last + 1 - u64::from(count))
    }

    async fn insert_final_all(&mut self, invoices: &[NewInvoice]) -> Result<(), StorageError> {
        let rows: Vec<_> = invoices.iter().map(|one| values_of(&one.invoice)).collect();
        if self.0.insert(INSERT, rows, "ON CONFLICT DO NOTHING").await? < invoices.len() as u64 {
            return Err(StorageError::Duplicate("invoices: one of this subscription, start and reason".to_owned()));
        }
        self.0.insert_deferred(INSERT_ITEMS, rows_of(invoices.iter().map(|one| one.items.as_slice())), "").await
    }

    async fn lock_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query_per_dialect(LOCK_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn update_all(&mut self, changes: &[ChangedInvoice]) -> Result<bool, StorageError> {
        let rows = changes.iter().map(|one| change_of(&one.before, &one.after)).collect();
        Ok(self.0.update(UPDATE, rows, IS_AS_BEFORE).await? == changes.len() as u64)
    }

    async fn decline_all(&mut self, retries: &[ScheduledRetry], now: Timestamp) -> Result<bool, StorageError> {
        let row = |retry: &ScheduledRetry| Values::default().bind(&retry.id).bind(retry.at).bind(now);
        let is_due = "invoices.id = new.column1 AND invoices.status IN ('open', 'uncollectible')";
        let set = "UPDATE invoices SET status = 'uncollectible', failure_count = failure_count + 1, retry_at = new.column2,
            updated_at = new.column3";
        Ok(self.0.update(set, retries.iter().map(row).collect(), is_due).await? == retries.len() as u64)
    }

    async fn drop_draft(&mut self, id: &InvoiceId, now: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE invoices SET status = 'void', updated_at = $2 WHERE id = $1 AND status = 'draft'";
        Ok(self.0.query(update).bind(id).bind(now).execute().await? == 1)
    }

    async fn find(&mut self, id: &InvoiceId) -> Result<Option<Invoice>, StorageError> {
        let row = self.0.query("SELECT * FROM invoices WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(invoice).transpose()
    }

    async fn find_all(&mut self, ids: &[InvoiceId]) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn of_period(&mut self, subscription: &SubscriptionId, start: Timestamp) -> Result<Option<Invoice>, StorageError> {
        let select = "SELECT * FROM invoices WHERE subscription_id = $1 AND period_start = $2 AND status <> 'void' ORDER BY id LIMIT 1";
        let row = self.0.query(select).bind(subscription).bind(start).optional().await?;
        row.as_ref().map(invoice).transpose()
    }

    async fn items(&mut self, id: &InvoiceId) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query("SELECT * FROM invoice_items WHERE invoice_id = $1 ORDER BY position").bind(id).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn items_of(&mut self, ids: &[InvoiceId]) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query_per_dialect(ITEMS_OF).bind(keys(ids)).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn items_covering(&mut self, subscription: &SubscriptionId, at: Timestamp) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query(ITEMS_COVERING).bind(subscription).bind(at).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn items_billing(&mut self, items: &[SubscriptionItemId], since: Timestamp) -> Result<Vec<InvoiceItem>, StorageError> {
        let rows = self.0.query_per_dialect(ITEMS_BILLING).bind(keys(items)).bind(since).all().await?;
        rows.iter().map(invoice_item).collect()
    }

    async fn credit_items(&mut self, credits: &[ItemCredit]) -> Result<bool, StorageError> {
        let set = "UPDATE invoice_items SET credited = new.column3, covers_until = new.column4";
        let row = |credit: &ItemCredit| {
            Values::default().bind(&credit.id).bind(credit.credited_before).bind(credit.credited).bind(credit.covers_until)
        };
        let rows = credits.iter().map(row).collect();
        let is_as_before = "invoice_items.id = new.column1 AND invoice_items.credited = new.column2";
        Ok(self.0.update(set, rows, is_as_before).await? == credits.len() as u64)
    }

    async fn list(&mut self, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Listed<Invoice>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        let least = Amount::new(u128::from(filter.ignore_zero));
        let (words, wanted, search) = (filter.query.as_str(), containing(&filter.query), search_number(&filter.query, mode));
        let ranges = number_ranges(&search);
        let is_numbered = search.names_series && filter.customer_id.is_none();
        let listing = match (words.is_empty(), &filter.subscription_id, &filter.customer_id) {
            (false, ..) if is_numbered => &NUMBERED,
            (false, _, Some(_)) => &SEARCH_OF_CUSTOMER,
            (false, _, None) => &SEARCH,
            (true, Some(_), _) => &OF_SUBSCRIPTION,
            (true, None, Some(_)) => &OF_CUSTOMER,
            (true, None, None) => &ALL,
        };
        let listed = list(
            self.0,
            listing,
            page,
            |query| {
                let query = query.bind(mode).bind(statuses.clone()).bind(&filter.customer_id).bind(&filter.currency_id).bind(least);
                let query = query.bind(&filter.subscription_id).bind(filter.include_staking).bind(filter.include_return_staking);
                let query = query.bind(filter.include_recovered_from);
                match words.is_empty() {
                    true => query,
                    false if is_numbered => query.bind(ranges.clone()),
                    false => query.bind(words).bind(ranges.clone()).bind(wanted.as_str()),
                }
            },
            invoice,
        )
        .await?;
        if filter.customer_id.is_some() || filter.subscription_id.is_some() || !filter.statuses.is_empty() {
            return Ok(listed);
        }
        or_by_id(self.0, listed, "SELECT * FROM invoices WHERE id = $1 AND livemode = $2", words, mode, invoice).await
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

    async fn with_overdue(&mut self, subscriptions: &[SubscriptionId]) -> Result<BTreeSet<SubscriptionId>, StorageError> {
        if subscriptions.is_empty() {
            return Ok(BTreeSet::new());
        }
        let rows = self.0.query_per_dialect(WITH_OVERDUE).bind(keys(subscriptions)).all().await?;
        rows.iter().map(|row| row.get("subscription_id")).collect()
    }

    async fn unpaid_of_all(&mut self, subscriptions: &[SubscriptionId]) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query_per_dialect(UNPAID_OF).bind(keys(subscriptions)).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn schedule_all(&mut self, retries: &[ScheduledRetry]) -> Result<(), StorageError> {
        let row = |retry: &ScheduledRetry| Values::default().bind(&retry.id).bind(retry.at);
        let is_overdue = "invoices.id = new.column1 AND invoices.status = 'uncollectible'";
        let set = "UPDATE invoices SET retry_at = new.column2";
        self.0.update(set, retries.iter().map(row).collect(), is_overdue).await.map(drop)
    }

    async fn unpaid_in(&mut self, customer: &CustomerId, currency: &CurrencyId, limit: u32) -> Result<Vec<Invoice>, StorageError> {
        let rows = self.0.query(UNPAID_IN).bind(customer).bind(currency).bind(limit).all().await?;
        rows.iter().map(invoice).collect()
    }

    async fn last_start(&mut self, subscription: &SubscriptionId, reason: BillingReason) -> Result<Option<Timestamp>, StorageError> {
        let select = "SELECT MAX(period_start) AS start FROM invoices WHERE subscription_id = $1 AND reason = $2";
        self.0.query(select).bind(subscription).bind(reason).one().await?.get("start")
    }

    async fn claim_retries(
        &mut self,
        scope: &Scope,
        now: Timestamp,
        limit: u32,
        paused: &[MethodId],
    ) -> Result<Vec<Invoice>, StorageError> {
        let paused = keys(paused);
        let rows = match scope {
            Scope::Wall => self.0.query_per_dialect(CLAIM_RETRIES).bind(now).bind(limit).bind(paused).all().await?,
            Scope::Clock(clock) => {
                self.0.query_per_dialect(CLAIM_RETRIES_BY_CLOCK).bind(now).bind(limit).bind(paused).bind(clock).all().await?
            }
        };
        rows.iter().map(invoice).collect()
    }

    async fn next_retry(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError> {
        // Dunning waits while a subscription is on hold.
        let select = "SELECT MIN(retry_at) AS at FROM invoices WHERE clock_id = $1 AND retry_at IS NOT NULL AND NOT EXISTS
                          (SELECT 1 FROM subscriptions s WHERE s.id = invoices.subscription_id AND s.on_hold IS NOT NULL)";
        self.0.query(select).bind(clock).one().await?.get("at")
    }

    async fn stop_retries(&mut self, subscription: &SubscriptionId, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE invoices SET retry_at = NULL, updated_at = $2 WHERE subscription_id = $1 AND retry_at IS NOT NULL";
        self.0.query(update).bind(subscription).bind(now).execute().await.map(drop)
    }
}

fn rows_of<'i>(invoices: impl Iterator<Item = &'i [InvoiceItem]>) -> Vec<Values> {
    let row = |(position, item): (u32, &InvoiceItem)| {
        let values = Values::default().bind(&item.id).bind(&item.invoice_id).bind(position).bind(&item.subscription_item_id);
        let values = values.bind(&item.price_id);
        let values = bind_description(values, &item.description).bind(item.quantity).bind(item.unit_amount).bind(item.amount);
        let values = values.bind(item.credited).bind(item.period.map(|period| period.start)).bind(item.period.map(|period| period.end));
        values.bind(item.covers_until).bind(&item.pricing_formula)
    };
    invoices.flat_map(|items| (0u32..).zip(items).map(row)).collect()
}

/// The ranges of a search as a JSON array, which both databases can expand.
fn number_ranges(search: &NumberSearch) -> serde_json::Value {
    let range = |range: &NumberRange| serde_json::json!({ "document": range.document.name(), "low": range.first, "high": range.last });
    search.ranges.iter().map(range).collect()
}

fn values_of(invoice: &Invoice) -> Values {
    let values = Values::default().bind(&invoice.id).bind(invoice.mode).bind(invoice.document()).bind(invoice.number);
    let values = values.bind(invoice.status).bind(invoice.reason);
    let values = bind_description(values, &invoice.description).bind(&invoice.customer_id);
    let values = values.bind(&invoice.currency_id).bind(&invoice.method_id).bind(&invoice.session_id).bind(&invoice.subscription_id);
    let values = values.bind(invoice.period.map(|period| period.start)).bind(invoice.period.map(|period| period.end));
    let values = values.bind(&invoice.intent_id).bind(&invoice.bill_to).bind(invoice.total).bind(invoice.amount_paid);
    let values = values.bind(invoice.amount_credited).bind(invoice.failure_count).bind(invoice.retry_at).bind(&invoice.clock_id);
    let values = values.bind(invoice.created_at).bind(invoice.finalized_at).bind(invoice.paid_at).bind(invoice.updated_at);
    values.bind(&invoice.reference)
}

/// The values of [`UPDATE`] and [`IS_AS_BEFORE`].
fn change_of(before: &Invoice, after: &Invoice) -> Values {
    let values = Values::default().bind(&before.id).bind(before.status).bind(before.total).bind(before.amount_paid);
    let values = values.bind(before.amount_credited).bind(after.status).bind(after.number).bind(&after.subscription_id);
    let values = values.bind(after.period.map(|period| period.start)).bind(after.period.map(|period| period.end)).bind(after.total);
    let values = values.bind(after.amount_paid).bind(after.amount_credited).bind(&after.intent_id).bind(after.retry_at);
    values.bind(after.finalized_at).bind(after.paid_at).bind(after.updated_at)
}

fn invoice(row: &Row) -> Result<Invoice, StorageError> {
    Ok(Invoice {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        number: row.get("number")?,
        status: row.get("status")?,
        reason: row.get("reason")?,
        description: read_description("invoices", row)?,
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
        amount_credited: row.get("amount_credited")?,
        failure_count: row.get("failure_count")?,
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
        subscription_item_id: row.get("subscription_item_id")?,
        price_id: row.get("price_id")?,
        description: read_description("invoice_items", row)?,
        quantity: row.get("quantity")?,
        unit_amount: row.get("unit_amount")?,
        amount: row.get("amount")?,
        credited: row.get("credited")?,
        period: read_period(row, "period_start", "period_end")?,
        covers_until: row.get("covers_until")?,
        pricing_formula: row.get("pricing_formula")?,
    })
}
