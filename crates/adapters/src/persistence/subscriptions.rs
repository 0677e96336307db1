//! Subscriptions and their items.

use super::columns::{bind_names, containing, keys, read_names, read_period};
use super::listing::{Listing, list, listing, or_by_id, sql_per_dialect};
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{
    DailyInvoices, HoldReason, OnHold, Period, Scope, Subscription, SubscriptionBounds, SubscriptionFilter, SubscriptionItem,
    Subscriptions, Threshold,
};
use souk_domain::shared::{
    Amount, ClockId, CustomerId, Listed, MethodId, Mode, Page, StakeId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp,
};
use std::collections::HashMap;

const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM subscriptions WHERE id " (among "$1") " ORDER BY id");
const ITEMS: Sql =
    sql_per_dialect!("SELECT * FROM subscription_items WHERE subscription_id " (among "$1") " ORDER BY subscription_id, position");
/// One list per index, as for invoices.
macro_rules! subscriptions {
    ($($conditions:tt)+) => {
        listing!(
            "subscriptions",
            $($conditions)+
            " AND ($5 IS NULL OR status " (among "$5") ") AND ($7 IS NULL OR " (has_all "metadata" "$7") ")
              AND (id = $8 OR LOWER(description || ' ' || name || ' ' || name_zh) LIKE $9 ESCAPE '\\')"
        )
    };
}
pub(super) const ALL: Listing = subscriptions!("livemode = $4 AND $6 IS NULL");
/// As [`ALL`], for a search by words or metadata.
pub(super) const SEARCH: Listing = subscriptions!("livemode = $4 AND $6 IS NULL AND " (newest "subscriptions"));
pub(super) const OF_CUSTOMER: Listing = subscriptions!("customer_id = $6 AND " (either "+livemode" "livemode") " = $4").exact();
// Few subscriptions are on hold. The mode is not searched by an index, so that both databases read the partial one.
pub(super) const ON_HOLD: Listing = subscriptions!((either "+livemode =" "livemode IS NOT DISTINCT FROM") " $4 AND on_hold IS NOT NULL AND ($6 IS NULL OR customer_id = $6)");
pub(super) const LOCK_HELD: Sql = sql_per_dialect!(
    "SELECT * FROM subscriptions WHERE " (either "+livemode =" "livemode IS NOT DISTINCT FROM") " $1 AND on_hold = $2 AND id > $3 ORDER BY id LIMIT $4"
    (either "" " FOR UPDATE")
);
const LOCK_ALL: Sql = sql_per_dialect!("SELECT * FROM subscriptions WHERE id " (among "$1") " ORDER BY id" (either "" " FOR UPDATE"));
const LOCK_SHARED: Sql = sql_per_dialect!("SELECT * FROM subscriptions WHERE id = $1" (either "" " FOR SHARE"));
pub(super) const LOCK_DUE: Sql = sql_per_dialect!(
    "SELECT * FROM subscriptions WHERE due_at <= $1 AND clock_id IS NULL AND NOT (method_id " (among "$3") ") ORDER BY due_at, id LIMIT $2"
    (either "" " FOR UPDATE SKIP LOCKED")
);
const LOCK_DUE_BY_CLOCK: Sql = sql_per_dialect!(
    "SELECT * FROM subscriptions WHERE clock_id = $4 AND due_at <= $1 AND NOT (method_id " (among "$3") ") ORDER BY due_at, id LIMIT $2"
    (either "" " FOR UPDATE SKIP LOCKED")
);
const INSERT: &str = "INSERT INTO subscriptions (id, livemode, status, description, name, name_zh, name_others, customer_id, method_id, currency_id, mandate_id,
                          session_id, cycle, anchor, period_index, period_start, period_end, trial_start, trial_end, cancel_at_period_end,
                          cancel_at, canceled_at, ended_at, cancellation, past_due_since, paused_at, days_until_cancel, billing_threshold,
                          resets_anchor, stake_id, overdraft_stake_id, overdraft_at, latest_invoice_id, clock_id, due_at, on_hold, on_hold_detail, held_at, approved_until, resumes_at, invoiced_on, invoiced_count, metadata, created_at, updated_at, version)";
/// The columns that [`Subscriptions::update`] writes.
const REPLACE: &str = "ON CONFLICT (id) DO UPDATE SET
                           status = excluded.status, description = excluded.description, name = excluded.name,
                           name_zh = excluded.name_zh, name_others = excluded.name_others, method_id = excluded.method_id,
                           currency_id = excluded.currency_id, mandate_id = excluded.mandate_id, cycle = excluded.cycle,
                           anchor = excluded.anchor, period_index = excluded.period_index, period_start = excluded.period_start,
                           period_end = excluded.period_end, cancel_at_period_end = excluded.cancel_at_period_end,
                           cancel_at = excluded.cancel_at, canceled_at = excluded.canceled_at, ended_at = excluded.ended_at,
                           cancellation = excluded.cancellation, past_due_since = excluded.past_due_since,
                           paused_at = excluded.paused_at, stake_id = excluded.stake_id, overdraft_stake_id = excluded.overdraft_stake_id,
                           overdraft_at = excluded.overdraft_at, latest_invoice_id = excluded.latest_invoice_id,
                           due_at = excluded.due_at, on_hold = excluded.on_hold,
                           on_hold_detail = excluded.on_hold_detail, held_at = excluded.held_at,
                           approved_until = excluded.approved_until, resumes_at = excluded.resumes_at,
                           invoiced_on = excluded.invoiced_on, invoiced_count = excluded.invoiced_count, metadata = excluded.metadata,
                           updated_at = excluded.updated_at, billing_threshold = excluded.billing_threshold,
                           resets_anchor = excluded.resets_anchor, version = subscriptions.version + 1
                       WHERE subscriptions.version = excluded.version";

/// What [`Subscriptions::begin_periods`] writes. The first two values are the key and the version that was read.
const BEGIN_PERIOD: &str = "UPDATE subscriptions SET status = new.column3, name = new.column4, name_zh = new.column5,
                                name_others = new.column6, period_index = new.column7, period_start = new.column8,
                                period_end = new.column9, latest_invoice_id = new.column10, due_at = new.column11,
                                invoiced_on = new.column12, invoiced_count = new.column13, updated_at = new.column14,
                                version = subscriptions.version + 1";

pub struct SqlSubscriptions<'s>(pub &'s mut Connection);

#[async_trait]
impl Subscriptions for SqlSubscriptions<'_> {
    async fn insert(&mut self, subscription: &Subscription) -> Result<(), StorageError> {
        self.0.insert(INSERT, vec![values_of(subscription)], "").await?;
        self.insert_items(subscription).await
    }

    async fn find(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError> {
        let row = self.0.query("SELECT * FROM subscriptions WHERE id = $1").bind(id).optional().await?;
        Ok(self.with_items(row.into_iter().collect()).await?.pop())
    }

    async fn lock_all(&mut self, ids: &[SubscriptionId]) -> Result<Vec<Subscription>, StorageError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.0.query_per_dialect(LOCK_ALL).bind(keys(ids)).all().await?;
        self.with_items(rows).await
    }

    async fn find_all(&mut self, ids: &[SubscriptionId]) -> Result<Vec<Subscription>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        self.with_items(rows).await
    }

    async fn update_all(&mut self, subscriptions: &[Subscription]) -> Result<bool, StorageError> {
        // The rows exist, so each insert conflicts: this updates many rows with one statement.
        let rows = subscriptions.iter().map(values_of).collect();
        Ok(self.0.insert(INSERT, rows, REPLACE).await? == subscriptions.len() as u64)
    }

    async fn begin_periods(&mut self, subscriptions: &[Subscription]) -> Result<(), StorageError> {
        let is_as_read = "subscriptions.id = new.column1 AND subscriptions.version = new.column2";
        let rows = subscriptions.iter().map(period_of).collect();
        let written = self.0.update(BEGIN_PERIOD, rows, is_as_read).await?;
        if written == subscriptions.len() as u64 { Ok(()) } else { Err(StorageError::Conflict) }
    }

    async fn put_items(&mut self, subscription: &Subscription) -> Result<(), StorageError> {
        self.insert_items(subscription).await
    }

    async fn list(&mut self, mode: Mode, filter: &SubscriptionFilter, page: &Page) -> Result<Listed<Subscription>, StorageError> {
        let statuses = (!filter.statuses.is_empty()).then(|| keys(&filter.statuses.iter().map(|status| status.name()).collect::<Vec<_>>()));
        let metadata = (!filter.metadata.is_empty()).then(|| filter.metadata.clone());
        let pattern = containing(&filter.query);
        let listing = match &filter.customer_id {
            _ if filter.on_hold => &ON_HOLD,
            Some(_) => &OF_CUSTOMER,
            None if filter.query.is_empty() && metadata.is_none() => &ALL,
            None => &SEARCH,
        };
        let listed = list(
            self.0,
            listing,
            page,
            |query| {
                let query = query.bind(mode).bind(statuses.clone()).bind(&filter.customer_id).bind(metadata.clone());
                query.bind(filter.query.as_str()).bind(pattern.as_str())
            },
            |row| subscription(row, Vec::new()),
        )
        .await?;
        let by_id = "SELECT * FROM subscriptions WHERE id = $1 AND livemode = $2";
        let words = if filter.customer_id.is_none() && filter.statuses.is_empty() && !filter.on_hold { filter.query.as_str() } else { "" };
        let listed = or_by_id(self.0, listed, by_id, words, mode, |row| subscription(row, Vec::new())).await?;
        let ids: Vec<_> = listed.list.iter().map(|subscription| subscription.id.clone()).collect();
        let mut items = self.items(&ids).await?;
        let fill = |one: Subscription| Subscription { items: items.remove(&one.id).unwrap_or_default(), ..one };
        Ok(Listed { count: listed.count, list: listed.list.into_iter().map(fill).collect() })
    }

    async fn lock_due(
        &mut self,
        scope: &Scope,
        now: Timestamp,
        limit: u32,
        paused: &[MethodId],
    ) -> Result<Vec<Subscription>, StorageError> {
        let paused = keys(paused);
        let rows = match scope {
            Scope::Wall => self.0.query_per_dialect(LOCK_DUE).bind(now).bind(limit).bind(paused).all().await?,
            Scope::Clock(clock) => self.0.query_per_dialect(LOCK_DUE_BY_CLOCK).bind(now).bind(limit).bind(paused).bind(clock).all().await?,
        };
        self.readable(rows, Some(now)).await
    }

    async fn lock_held(
        &mut self,
        mode: Mode,
        reason: HoldReason,
        after: Option<&SubscriptionId>,
        limit: u32,
    ) -> Result<Vec<Subscription>, StorageError> {
        let after = after.map_or("", SubscriptionId::as_str);
        let rows = self.0.query_per_dialect(LOCK_HELD).bind(mode).bind(reason).bind(after).bind(limit).all().await?;
        self.readable(rows, None).await
    }

    async fn of_stake(&mut self, stake: &StakeId) -> Result<Vec<Subscription>, StorageError> {
        let select = "SELECT * FROM subscriptions WHERE stake_id = $1 OR overdraft_stake_id = $1 ORDER BY id";
        let rows = self.0.query(select).bind(stake).all().await?;
        self.with_items(rows).await
    }

    async fn reschedule(&mut self, id: &SubscriptionId, until: Timestamp) -> Result<(), StorageError> {
        self.0.query("UPDATE subscriptions SET due_at = $2 WHERE id = $1").bind(id).bind(until).execute().await?;
        Ok(())
    }

    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError> {
        let select = "SELECT MIN(due_at) AS at FROM subscriptions WHERE clock_id = $1 AND due_at IS NOT NULL";
        self.0.query(select).bind(clock).one().await?.get("at")
    }

    async fn of_item(&mut self, item: &SubscriptionItemId) -> Result<Option<Subscription>, StorageError> {
        let select = "SELECT * FROM subscriptions WHERE id = (SELECT subscription_id FROM subscription_items WHERE id = $1)";
        let row = self.0.query(select).bind(item).optional().await?;
        Ok(self.with_items(row.into_iter().collect()).await?.pop())
    }

    async fn lock_shared(&mut self, id: &SubscriptionId) -> Result<Option<Subscription>, StorageError> {
        let row = self.0.query_per_dialect(LOCK_SHARED).bind(id).optional().await?;
        Ok(self.with_items(row.into_iter().collect()).await?.pop())
    }

    async fn past_due_of(&mut self, customer: &CustomerId) -> Result<Vec<SubscriptionId>, StorageError> {
        let select = "SELECT id FROM subscriptions WHERE customer_id = $1 AND past_due_since IS NOT NULL ORDER BY id";
        self.0.query(select).bind(customer).all().await?.iter().map(|row| row.get("id")).collect()
    }

    async fn live_of(&mut self, customer: &CustomerId) -> Result<Vec<Subscription>, StorageError> {
        let select = "SELECT * FROM subscriptions WHERE customer_id = $1 AND status <> 'canceled' ORDER BY id";
        let rows = self.0.query(select).bind(customer).all().await?;
        self.with_items(rows).await
    }
}

impl SqlSubscriptions<'_> {
    async fn insert_items(&mut self, subscription: &Subscription) -> Result<(), StorageError> {
        let into = "INSERT INTO subscription_items (id, subscription_id, position, price_id, quantity, billed)";
        let replace = "ON CONFLICT (id) DO UPDATE SET price_id = excluded.price_id, quantity = excluded.quantity, billed = excluded.billed";
        let row = |(position, item): (u32, &SubscriptionItem)| {
            let values = Values::default().bind(&item.id).bind(&subscription.id).bind(position);
            values.bind(&item.price_id).bind(item.quantity).bind(item.billed)
        };
        self.0.insert(into, (0..).zip(&subscription.items).map(row).collect(), replace).await.map(drop)
    }

    async fn items(&mut self, ids: &[SubscriptionId]) -> Result<HashMap<SubscriptionId, Vec<SubscriptionItem>>, StorageError> {
        let mut items: HashMap<_, Vec<_>> = HashMap::new();
        if ids.is_empty() {
            return Ok(items);
        }
        for row in self.0.query_per_dialect(ITEMS).bind(keys(ids)).all().await? {
            let item = SubscriptionItem {
                id: row.get("id")?,
                price_id: row.get("price_id")?,
                quantity: row.get("quantity")?,
                billed: row.get("billed")?,
            };
            items.entry(row.get("subscription_id")?).or_default().push(item);
        }
        Ok(items)
    }

    /// As [`Self::with_items`], but puts rows that cannot be decoded on hold, from `now` or since when they are, and leaves them out.
    async fn readable(&mut self, rows: Vec<Row>, now: Option<Timestamp>) -> Result<Vec<Subscription>, StorageError> {
        let ids = rows.iter().map(|row| row.get("id")).collect::<Result<Vec<SubscriptionId>, _>>()?;
        let (mut items, mut read) = (self.items(&ids).await?, Vec::with_capacity(rows.len()));
        for (row, id) in rows.iter().zip(&ids) {
            match subscription(row, items.remove(id).unwrap_or_default()) {
                Ok(subscription) => read.push(subscription),
                Err(error) => {
                    let put_on_hold = "UPDATE subscriptions SET on_hold = $2, on_hold_detail = $3, held_at = COALESCE($4, held_at),
                                           resumes_at = NULL, due_at = NULL, version = version + 1
                                       WHERE id = $1";
                    let query = self.0.query(put_on_hold).bind(id).bind(HoldReason::Unreadable).bind(error.to_string());
                    query.bind(now).execute().await?;
                }
            }
        }
        Ok(read)
    }

    async fn with_items(&mut self, rows: Vec<Row>) -> Result<Vec<Subscription>, StorageError> {
        let ids = rows.iter().map(|row| row.get("id")).collect::<Result<Vec<SubscriptionId>, _>>()?;
        let mut items = self.items(&ids).await?;
        rows.iter().zip(&ids).map(|(row, id)| subscription(row, items.remove(id).unwrap_or_default())).collect()
    }
}

fn values_of(s: &Subscription) -> Values {
    let values = Values::default().bind(&s.id).bind(s.mode).bind(s.status).bind(&s.description);
    let values = bind_names(values, &s.name).bind(&s.customer_id);
    let values = values.bind(&s.method_id).bind(&s.currency_id).bind(&s.mandate_id).bind(&s.session_id).bind(s.cycle);
    let values = values.bind(s.anchor).bind(s.index).bind(s.period.start).bind(s.period.end).bind(s.trial.map(|trial| trial.start));
    let values = values.bind(s.trial.map(|trial| trial.end)).bind(s.cancel_at_period_end).bind(s.cancel_at).bind(s.canceled_at);
    let values = values.bind(s.ended_at).bind(&s.cancellation).bind(s.past_due_since).bind(s.paused_at).bind(s.days_until_cancel);
    let values = values.bind(s.billing_threshold.map(|threshold| threshold.amount));
    let values = values.bind(s.billing_threshold.is_some_and(|threshold| threshold.resets_anchor));
    let values = values
        .bind(&s.stake_id)
        .bind(&s.overdraft_stake_id)
        .bind(s.overdraft_at)
        .bind(&s.latest_invoice_id)
        .bind(&s.clock_id)
        .bind(s.next_due());
    let values =
        values.bind(s.on_hold.as_ref().map(|on_hold| on_hold.reason)).bind(s.on_hold.as_ref().map(|on_hold| on_hold.detail.clone()));
    let values = values.bind(s.bounds.held_at).bind(s.bounds.approved_until).bind(s.bounds.resumes_at);
    let values = values.bind(s.bounds.invoices.map(|invoices| invoices.day)).bind(s.bounds.invoices.map_or(0, |invoices| invoices.count));
    values.bind(&s.metadata).bind(s.created_at).bind(s.updated_at).bind(s.version)
}

/// The values of [`BEGIN_PERIOD`].
fn period_of(s: &Subscription) -> Values {
    let values = bind_names(Values::default().bind(&s.id).bind(s.version).bind(s.status), &s.name).bind(s.index);
    let values = values.bind(s.period.start).bind(s.period.end).bind(&s.latest_invoice_id).bind(s.next_due());
    let values = values.bind(s.bounds.invoices.map(|invoices| invoices.day)).bind(s.bounds.invoices.map_or(0, |invoices| invoices.count));
    values.bind(s.updated_at)
}

fn subscription(row: &Row, items: Vec<SubscriptionItem>) -> Result<Subscription, StorageError> {
    Ok(Subscription {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        status: row.get("status")?,
        description: row.get("description")?,
        name: read_names(row)?,
        customer_id: row.get("customer_id")?,
        method_id: row.get("method_id")?,
        currency_id: row.get("currency_id")?,
        mandate_id: row.get("mandate_id")?,
        session_id: row.get("session_id")?,
        items,
        cycle: row.get("cycle")?,
        anchor: row.get("anchor")?,
        index: row.get("period_index")?,
        period: Period { start: row.get("period_start")?, end: row.get("period_end")? },
        trial: read_period(row, "trial_start", "trial_end")?,
        cancel_at_period_end: row.get("cancel_at_period_end")?,
        cancel_at: row.get("cancel_at")?,
        canceled_at: row.get("canceled_at")?,
        ended_at: row.get("ended_at")?,
        cancellation: row.get("cancellation")?,
        past_due_since: row.get("past_due_since")?,
        paused_at: row.get("paused_at")?,
        days_until_cancel: row.get("days_until_cancel")?,
        billing_threshold: match row.get::<Option<Amount>>("billing_threshold")? {
            Some(amount) => Some(Threshold { amount, resets_anchor: row.get("resets_anchor")? }),
            None => None,
        },
        stake_id: row.get("stake_id")?,
        overdraft_stake_id: row.get("overdraft_stake_id")?,
        overdraft_at: row.get("overdraft_at")?,
        latest_invoice_id: row.get("latest_invoice_id")?,
        clock_id: row.get("clock_id")?,
        due_at: row.get("due_at")?,
        on_hold: match row.get::<Option<HoldReason>>("on_hold")? {
            Some(reason) => Some(OnHold { reason, detail: row.get::<Option<String>>("on_hold_detail")?.unwrap_or_default() }),
            None => None,
        },
        bounds: SubscriptionBounds {
            held_at: row.get("held_at")?,
            approved_until: row.get("approved_until")?,
            resumes_at: row.get("resumes_at")?,
            invoices: match row.get::<Option<Timestamp>>("invoiced_on")? {
                Some(day) => Some(DailyInvoices { day, count: row.get("invoiced_count")? }),
                None => None,
            },
        },
        metadata: row.get("metadata")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        version: row.get("version")?,
    })
}
