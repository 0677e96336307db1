//! Test clocks of customers.

use super::listing::{Listing, list, listing};
use super::{Connection, Row};
use async_trait::async_trait;
use souk_domain::billing::{CLOCK_TIMELINE_MAX, ClockStep, TestClock, TestClocks};
use souk_domain::shared::{ClockId, CustomerId, Listed, Page, StorageError, Timestamp};

/// A `touched_at` before any real time, so that a run can claim the clock at once.
const NEVER: Timestamp = Timestamp::from_seconds(0);

/// Needs no filter by mode: test clocks exist in test mode only.
const LIST: Listing = listing!("test_clocks", "TRUE");

pub struct SqlTestClocks<'s>(pub &'s mut Connection);

#[async_trait]
impl TestClocks for SqlTestClocks<'_> {
    async fn insert(&mut self, clock: &TestClock) -> Result<(), StorageError> {
        self.0.note(&clock.id);
        let insert = "INSERT INTO test_clocks (id, name, customer_id, now_at, target, touched_at, timeline, created_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let query = self.0.query(insert).bind(&clock.id).bind(&clock.name).bind(&clock.customer_id).bind(clock.now).bind(clock.target);
        match query.bind(NEVER).bind(&clock.timeline).bind(clock.created_at).execute().await? {
            0 => Err(StorageError::Duplicate("test_clocks: one of this customer".to_owned())),
            _ => Ok(()),
        }
    }

    async fn adopt(&mut self, clock: &TestClock) -> Result<(), StorageError> {
        for update in [
            "UPDATE subscriptions SET clock_id = $1, version = version + 1 WHERE customer_id = $2",
            "UPDATE invoices SET clock_id = $1 WHERE customer_id = $2 AND status IN ('open', 'uncollectible')",
        ] {
            self.0.query(update).bind(&clock.id).bind(&clock.customer_id).execute().await?;
        }
        Ok(())
    }

    async fn find(&mut self, id: &ClockId) -> Result<Option<TestClock>, StorageError> {
        let row = self.0.query("SELECT * FROM test_clocks WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(clock).transpose()
    }

    async fn of_customer(&mut self, customer: &CustomerId) -> Result<Option<TestClock>, StorageError> {
        let row = self.0.query("SELECT * FROM test_clocks WHERE customer_id = $1").bind(customer).optional().await?;
        row.as_ref().map(clock).transpose()
    }

    async fn list(&mut self, page: &Page) -> Result<Listed<TestClock>, StorageError> {
        list(self.0, &LIST, page, |query| query, clock).await
    }

    async fn aim(&mut self, id: &ClockId, target: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE test_clocks SET target = $2, touched_at = $3 WHERE id = $1 AND target IS NULL AND now_at < $2";
        Ok(self.0.query(update).bind(id).bind(target).bind(NEVER).execute().await? == 1)
    }

    async fn claim(&mut self, id: &ClockId, before: Timestamp, wall: Timestamp) -> Result<bool, StorageError> {
        let update = "UPDATE test_clocks SET touched_at = $3 WHERE id = $1 AND target IS NOT NULL AND touched_at <= $2";
        Ok(self.0.query(update).bind(id).bind(before).bind(wall).execute().await? == 1)
    }

    async fn record_step(&mut self, id: &ClockId, step: &ClockStep<'_>, touched: Timestamp, wall: Timestamp) -> Result<bool, StorageError> {
        let Some(clock) = self.find(id).await? else { return Ok(false) };
        let all: Vec<_> = clock.timeline.into_iter().chain(step.timeline.iter().cloned()).collect();
        let kept = all[all.len().saturating_sub(CLOCK_TIMELINE_MAX)..].to_vec();
        let update = "UPDATE test_clocks SET now_at = $2, timeline = $3, target = CASE WHEN $4 THEN NULL ELSE target END, touched_at = $5
                      WHERE id = $1 AND now_at <= $2 AND touched_at = $6";
        let query = self.0.query(update).bind(id).bind(step.now).bind(kept).bind(step.arrived).bind(wall).bind(touched);
        Ok(query.execute().await? == 1)
    }

    async fn under_way(&mut self, before: Timestamp, limit: u32) -> Result<Vec<ClockId>, StorageError> {
        let select = "SELECT id FROM test_clocks WHERE target IS NOT NULL AND touched_at <= $1 ORDER BY touched_at, id LIMIT $2";
        let rows = self.0.query(select).bind(before).bind(limit).all().await?;
        rows.iter().map(|row| row.get("id")).collect()
    }
}

fn clock(row: &Row) -> Result<TestClock, StorageError> {
    Ok(TestClock {
        id: row.get("id")?,
        name: row.get("name")?,
        customer_id: row.get("customer_id")?,
        now: row.get("now_at")?,
        target: row.get("target")?,
        timeline: row.get("timeline")?,
        created_at: row.get("created_at")?,
    })
}
