//! How much strangers can make the store keep. Each table that they can fill has a limit for all of them together; beyond it, the oldest
//! rows of the visitor with most rows are deleted first, so that one visitor cannot displace the rows of the others.

use crate::context::Context;
use crate::shared::StorageError;
use async_trait::async_trait;

/// How many days a session is kept that a visitor started and never submitted, by default.
pub const UNSUBMITTED_SESSION_DAYS: u32 = 30;
/// Number of rows per commit, so that other writers do not wait long.
const CHUNK: u32 = 200;
/// Number of rows that one run deletes at most of each table.
const RUN_MAX: u32 = 20_000;
/// Number of visitors whose rows one run deletes. The next run follows within seconds.
const HEAVIEST: u32 = 50;

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

/// Rows of one visitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitorRows {
    pub visitor: VisitorNetwork,
    pub rows: u32,
}

#[async_trait]
pub trait StoredByVisitors: Send {
    /// The number of rows, at most `limit`, so that counting takes bounded time.
    async fn count(&mut self, table: VisitorTable, limit: u32) -> Result<u32, StorageError>;
    /// The visitors with most rows, most first.
    async fn heaviest(&mut self, table: VisitorTable, limit: u32) -> Result<Vec<VisitorRows>, StorageError>;
    /// Deletes the oldest rows of a visitor. Returns their number.
    async fn delete_oldest(&mut self, table: VisitorTable, visitor: &VisitorNetwork, limit: u32) -> Result<u64, StorageError>;
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
        let heaviest = unit.stored_by_visitors().heaviest(table, HEAVIEST).await?;
        drop(unit);
        tracing::warn!(?table, excess, limit, "visitors have started more than is kept: the oldest of the heaviest visitors are deleted");
        for VisitorRows { visitor, rows } in excess_of(&heaviest, excess) {
            deleted += delete(ctx, table, &visitor, rows).await?;
        }
    }
    Ok(deleted)
}

async fn delete(ctx: &Context, table: VisitorTable, visitor: &VisitorNetwork, rows: u32) -> Result<u64, StorageError> {
    let (mut left, mut deleted) = (rows, 0);
    while left > 0 {
        let chunk = left.min(CHUNK);
        let mut unit = ctx.store.begin().await?;
        deleted += unit.stored_by_visitors().delete_oldest(table, visitor, chunk).await?;
        unit.commit().await?;
        left -= chunk;
    }
    Ok(deleted)
}

/// The rows to delete of each visitor, so that `excess` rows go and nobody who keeps fewer loses any: all visitors are cut to one height.
fn excess_of(visitors: &[VisitorRows], excess: u32) -> Vec<VisitorRows> {
    let beyond = |height: u32| visitors.iter().map(|one| u64::from(one.rows.saturating_sub(height))).sum::<u64>();
    // The greatest height at which enough rows are beyond it.
    let (mut low, mut high) = (0, visitors.iter().map(|one| one.rows).max().unwrap_or_default());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if beyond(middle) >= u64::from(excess) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    // All lose what is above the next row, and the first ones also that row.
    let mut left = u64::from(excess).saturating_sub(beyond(low + 1));
    let mut deleted = Vec::new();
    for one in visitors {
        let takes_next = left > 0 && one.rows > low;
        left -= u64::from(takes_next);
        let rows = one.rows.saturating_sub(low + 1) + u32::from(takes_next);
        if rows > 0 {
            deleted.push(VisitorRows { visitor: one.visitor.clone(), rows });
        }
    }
    deleted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitors(rows: &[u32]) -> Vec<VisitorRows> {
        let of = |(number, rows): (usize, &u32)| VisitorRows { visitor: VisitorNetwork(number.to_string()), rows: *rows };
        rows.iter().enumerate().map(of).collect()
    }

    fn deleted(rows: &[u32], excess: u32) -> Vec<u32> {
        let visitors = visitors(rows);
        let deleted = excess_of(&visitors, excess);
        let of = |one: &VisitorRows| deleted.iter().find(|other| other.visitor == one.visitor).map_or(0, |other| other.rows);
        visitors.iter().map(of).collect()
    }

    #[test]
    fn the_heaviest_visitors_lose_rows_until_they_keep_as_many_as_the_next() {
        assert_eq!(deleted(&[100, 10, 10], 50), [50, 0, 0]);
        assert_eq!(deleted(&[100, 60, 10], 60), [50, 10, 0]);
        assert_eq!(deleted(&[7, 7, 7], 2), [1, 1, 0], "of equal visitors, the first ones");
        assert_eq!(deleted(&[5, 1], 9), [5, 1], "more than there is");
        assert_eq!(deleted(&[5, 1], 0), [0, 0]);
        assert_eq!(deleted(&[], 3), Vec::<u32>::new());
    }

    proptest::proptest! {
        #[test]
        fn exactly_the_excess_goes_and_no_visitor_ends_below_one_who_lost_nothing(
            rows in proptest::collection::vec(0_u32..1_000, 0..30), excess in 0_u32..5_000,
        ) {
            let deleted = deleted(&rows, excess);
            let total: u32 = rows.iter().sum();
            proptest::prop_assert_eq!(deleted.iter().sum::<u32>(), excess.min(total));
            let kept: Vec<_> = rows.iter().zip(&deleted).map(|(rows, deleted)| rows - deleted).collect();
            let least = kept.iter().zip(&deleted).filter(|(_, deleted)| **deleted > 0).map(|(kept, _)| *kept).min();
            let spared = kept.iter().zip(&deleted).filter(|(_, deleted)| **deleted == 0).map(|(kept, _)| *kept).max();
            if let (Some(least), Some(spared)) = (least, spared) {
                proptest::prop_assert!(spared <= least + 1, "{} of one who lost rows, {} of one who lost none", least, spared);
            }
        }
    }
}
