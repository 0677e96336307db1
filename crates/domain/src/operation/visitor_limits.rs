//! How much strangers can make the store keep. Each table that they can fill has a limit for all of them together; beyond it, the oldest
//! rows of the visitor with most rows are deleted first, so that one visitor cannot displace the rows of the others.

use crate::context::Context;
use crate::shared::{Mode, StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// How many days a session is kept that a visitor started and never submitted, by default.
pub const UNSUBMITTED_SESSION_DAYS: u32 = 30;
/// How long an unpaid order is kept after its last change at least. If a wallet broadcasts a declined transaction late, the owner finds the
/// order that it was signed for.
pub const UNPAID_ORDER_AGE_MIN: Duration = Duration::from_secs(3 * 24 * 3_600);
/// Limits that only bound what is kept are larger by this factor in test mode, where tests share an address.
const TEST_FACTOR: u32 = 10;
/// Number of rows per commit, so that other writers do not wait long.
const CHUNK: usize = 200;
/// Number of rows that one run deletes at most of each table. The next run follows within seconds.
const RUN_MAX: u32 = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitorLimits {
    /// How many days a session is kept that a visitor started and never submitted, an order that was never paid, and a user who has nothing
    /// in the store.
    pub unsubmitted_session_days: u32,
    /// How many of these sessions are kept.
    pub unsubmitted_sessions: u32,
    /// How many orders are kept that expired unpaid and are older than [`UNPAID_ORDER_AGE_MIN`].
    pub unpaid_orders: u32,
    /// How many connect sessions are kept in which no wallet has signed anything, and how many sessions of developers' tools.
    pub connect_sessions: u32,
    /// How many submitted orders of one visitor can wait for their payment in live mode. In test mode, it is ten times as many.
    pub waiting_orders: u32,
    /// For how many orders a payer can reserve limited stock at a time.
    pub reserved_orders: u32,
}

impl Default for VisitorLimits {
    fn default() -> Self {
        Self {
            unsubmitted_session_days: UNSUBMITTED_SESSION_DAYS,
            unsubmitted_sessions: 100_000,
            unpaid_orders: 100_000,
            connect_sessions: 20_000,
            waiting_orders: 1_000,
            reserved_orders: 20,
        }
    }
}

impl VisitorLimits {
    /// What has not changed since then is old: unsubmitted sessions, and users who have nothing in the store.
    #[must_use]
    pub fn old(&self, now: Timestamp) -> Timestamp {
        now.minus(Duration::from_secs(u64::from(self.unsubmitted_session_days) * 24 * 3_600))
    }

    /// How many submitted orders of one visitor can wait for their payment.
    #[must_use]
    pub const fn waiting_orders_in(&self, mode: Mode) -> u32 {
        if mode.is_live() { self.waiting_orders } else { self.waiting_orders.saturating_mul(TEST_FACTOR) }
    }

    /// As [`VisitorLimits::old`], for unpaid orders.
    #[must_use]
    pub fn old_order(&self, now: Timestamp) -> Timestamp {
        self.old(now).min(now.minus(UNPAID_ORDER_AGE_MIN))
    }
}

/// Pseudonyms of where a visitor connects from. Empty: not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisitorNetwork {
    /// Of an IPv4 address, or of an IPv6 network of 64 bits, by which visitors are counted.
    pub network: String,
    /// Of the site, for limits that nobody may use up for all: a /48 of IPv6, whose 65,536 networks can all be one visitor's. That of an IPv4
    /// address is its network.
    pub site: String,
}

/// The length of a pseudonym, in characters.
pub const PSEUDONYM_LENGTH: usize = 22;

impl VisitorNetwork {
    /// The text by which a row names its visitor. Its first [`PSEUDONYM_LENGTH`] characters name the site, so that rows can be ranked by it.
    #[must_use]
    pub fn stored(&self) -> String {
        format!("{}{}", self.site, self.network)
    }
}

/// A table that visitors fill, and its rows that may be deleted at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorTable {
    /// Checkout sessions that were started from a link and never submitted.
    UnsubmittedSessions,
    /// Connect sessions in which no wallet has signed anything, and those that have ended.
    ConnectSessions,
    /// Sessions in which a developer's tool waits for an answer.
    ToolSessions,
}

impl VisitorTable {
    const ALL: [Self; 3] = [Self::UnsubmittedSessions, Self::ConnectSessions, Self::ToolSessions];

    const fn limit(self, limits: &VisitorLimits) -> u32 {
        match self {
            Self::UnsubmittedSessions => limits.unsubmitted_sessions,
            Self::ConnectSessions | Self::ToolSessions => limits.connect_sessions,
        }
    }
}

#[async_trait]
pub trait StoredByVisitors: Send {
    /// The number of rows, at most `limit`, so that counting takes bounded time.
    async fn count(&mut self, table: VisitorTable, limit: u32) -> Result<u32, StorageError>;
    /// The keys of the `limit` rows to delete first. A row's rank in its network is the number of the network's rows that are as new or newer.
    /// Its rank in its site is its place among the site's rows, ordered by their ranks in their networks and then newest first. The highest
    /// rank in a site is deleted first, and of equal ranks the oldest row. So the sites with most rows are cut down to the same number of
    /// rows, and within a site the networks with most rows.
    async fn first_to_delete(&mut self, table: VisitorTable, limit: u32) -> Result<Vec<String>, StorageError>;
    /// Deletes rows that may still be deleted. Returns their number.
    async fn delete(&mut self, table: VisitorTable, keys: &[String]) -> Result<u64, StorageError>;
}

/// Deletes what exceeds the limits. Returns the number of deleted rows.
#[tracing::instrument(skip_all)]
pub async fn enforce_visitor_limits(ctx: &Context) -> Result<u64, StorageError> {
    let mut deleted = 0;
    for table in VisitorTable::ALL {
        let limit = table.limit(&ctx.limits);
        let mut unit = ctx.store.read().await?;
        let excess = unit.stored_by_visitors().count(table, limit.saturating_add(RUN_MAX)).await?.saturating_sub(limit);
        if excess == 0 {
            continue;
        }
        let keys = unit.stored_by_visitors().first_to_delete(table, excess).await?;
        drop(unit);
        tracing::warn!(?table, excess, limit, "visitors have started more than is kept: the oldest of the heaviest visitors are deleted");
        for chunk in keys.chunks(CHUNK) {
            let mut unit = ctx.store.begin().await?;
            deleted += unit.stored_by_visitors().delete(table, chunk).await?;
            unit.commit().await?;
        }
    }
    Ok(deleted)
}

/// Deletes unpaid orders that exceed their limit. Returns their number. It looks at ages, so that the clock must be trusted.
#[tracing::instrument(skip_all)]
pub async fn enforce_order_limit(ctx: &Context) -> Result<u64, StorageError> {
    let (limit, before) = (ctx.limits.unpaid_orders, ctx.now().minus(UNPAID_ORDER_AGE_MIN));
    let mut unit = ctx.store.read().await?;
    let counted_max = limit.saturating_add(RUN_MAX);
    let excess = unit.sessions().count_unpaid(before, counted_max).await?.saturating_sub(limit);
    if excess == 0 {
        return Ok(0);
    }
    let orders = unit.sessions().first_unpaid(before, excess, counted_max).await?;
    drop(unit);
    tracing::warn!(excess, limit, "visitors have left more unpaid orders than are kept: the oldest of the heaviest visitors are deleted");
    let mut deleted = 0;
    for chunk in orders.chunks(CHUNK) {
        let mut unit = ctx.store.begin().await?;
        deleted += unit.sessions().delete_unpaid(chunk, before).await?;
        unit.commit().await?;
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpaid_order_is_kept_for_its_minimum_age_however_few_days_are_configured() {
        let now = Timestamp::from_seconds(100 * 24 * 3_600);
        let of_days = |days| VisitorLimits { unsubmitted_session_days: days, ..VisitorLimits::default() };
        let days = |days: i64| Timestamp::from_seconds((100 - days) * 24 * 3_600);
        assert_eq!((of_days(1).old(now), of_days(1).old_order(now)), (days(1), days(3)));
        assert_eq!((of_days(30).old(now), of_days(30).old_order(now)), (days(30), days(30)));
    }
}
