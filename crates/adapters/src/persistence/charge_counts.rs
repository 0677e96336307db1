//! Counts of automatic charges per customer and hour.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{ChargeCount, ChargeCounts, LiveSubscriptions};
use souk_domain::shared::{CustomerId, StorageError, Timestamp};
use std::time::Duration;

const OF: Sql = sql_per_dialect!("SELECT * FROM charge_counts WHERE customer_id " (among "$1") " AND hour = $2");
const LIVE: Sql = sql_per_dialect!(
    "SELECT customer_id, count(*) AS n FROM subscriptions WHERE customer_id " (among "$1") " AND status <> 'canceled' GROUP BY customer_id"
);
const FORGET_LATER: Sql = sql_per_dialect!("DELETE FROM charge_counts WHERE customer_id " (among "$1") " AND hour > $2");

pub struct SqlChargeCounts<'s>(pub &'s mut Connection);

#[async_trait]
impl ChargeCounts for SqlChargeCounts<'_> {
    async fn of(&mut self, customers: &[CustomerId], hour: Timestamp) -> Result<Vec<ChargeCount>, StorageError> {
        let rows = self.0.query_per_dialect(OF).bind(keys(customers)).bind(hour).all().await?;
        let read = |row: &super::Row| {
            Ok(ChargeCount { customer_id: row.get("customer_id")?, count: row.get("charges")?, limit: row.get("charge_limit")? })
        };
        rows.iter().map(read).collect()
    }

    async fn live_subscriptions(&mut self, customers: &[CustomerId]) -> Result<Vec<LiveSubscriptions>, StorageError> {
        let rows = self.0.query_per_dialect(LIVE).bind(keys(customers)).all().await?;
        let read = |row: &super::Row| Ok(LiveSubscriptions { customer_id: row.get("customer_id")?, count: row.get("n")? });
        rows.iter().map(read).collect()
    }

    async fn add(&mut self, added: &[ChargeCount], hour: Timestamp) -> Result<bool, StorageError> {
        let insert = "INSERT INTO charge_counts (customer_id, hour, charges, charge_limit)";
        // Counted by a clock that was wrong.
        let next_hour = hour.plus(Duration::from_secs(3_600));
        let customers: Vec<_> = added.iter().map(|added| added.customer_id.clone()).collect();
        self.0.query_per_dialect(FORGET_LATER).bind(keys(&customers)).bind(next_hour).execute().await?;
        // A row of an earlier hour is replaced. A process whose clock is seconds behind at the full hour counts in the new hour.
        let update = "ON CONFLICT (customer_id) DO UPDATE SET
                          hour = CASE WHEN charge_counts.hour < excluded.hour THEN excluded.hour ELSE charge_counts.hour END,
                          charge_limit = excluded.charge_limit,
                          charges = CASE WHEN charge_counts.hour < excluded.hour THEN 0 ELSE charge_counts.charges END + excluded.charges
                      WHERE charge_counts.hour < excluded.hour OR charge_counts.charges + excluded.charges <= excluded.charge_limit";
        let values = |added: &ChargeCount| Values::default().bind(&added.customer_id).bind(hour).bind(added.count).bind(added.limit);
        Ok(self.0.insert(insert, added.iter().map(values).collect(), update).await? == added.len() as u64)
    }
}
