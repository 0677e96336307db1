//! How much strangers can make the store keep. Each table that they can fill has a limit for all of them together; beyond it, the oldest
//! rows of the visitor with most rows are deleted first, so that one visitor cannot displace the rows of the others.

use crate::context::Context;
use crate::shared::StorageError;
use async_trait::async_trait;

/// How many days a session is kept that a visitor started and never submitted, by default.
pub const UNSUBMITTED_SESSION_DAYS: u32 = 30;
/// Number of rows per commit, so that other writers do not wait long.
const CHUNK: usize = 200;
/// Number of rows that one run deletes at most of each table. The next run follows within seconds.
const RUN_MAX: u32 = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitorLimits {
    /// How many days a session is kept that a visitor started and never submitted.
    pub unsubmitted_session_days: u32,
    /// How many of these sessions are kept.
    pub unsubmitted_sessions: u32,
    /// How many connect sessions are kept in which no wallet has signed anything.
    pub connect_sessions: u32,
    /// For how many orders a payer can reserve limited stock at a time.
    pub reserved_orders: u32,
}

impl Default for VisitorLimits {
    fn default() -> Self {
        Self {
            unsubmitted_session_days: UNSUBMITTED_SESSION_DAYS,
            unsubmitted_sessions: 100_000,
            connect_sessions: 20_000,
            reserved_orders: 20,
        }
    }
}

/// A pseudonym of the network that a visitor connects from: an IPv4 address, or an IPv6 network of 64 bits. Empty: not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisitorNetwork(pub String);

/// A table that visitors fill, and its rows that may be deleted at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorTable {
    /// Checkout sessions that were started from a link and never submitted.
    UnsubmittedSessions,
    /// Connect sessions in which no wallet has signed anything, and those that have ended.
    ConnectSessions,
}

impl VisitorTable {
    const ALL: [Self; 2] = [Self::UnsubmittedSessions, Self::ConnectSessions];

    const fn limit(self, limits: &VisitorLimits) -> u32 {
        match self {
            Self::UnsubmittedSessions => limits.unsubmitted_sessions,
            Self::ConnectSessions => limits.connect_sessions,
        }
    }
}

#[async_trait]
pub trait StoredByVisitors: Send {
    /// The number of rows, at most `limit`, so that counting takes bounded time.
    async fn count(&mut self, table: VisitorTable, limit: u32) -> Result<u32, StorageError>;
    /// The keys of the `limit` rows to delete first. A row's height is the number of rows of its visitor that are as new or newer; the
    /// greatest height goes first, and of equal heights the oldest row. So the heaviest visitors are cut down to one height.
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
