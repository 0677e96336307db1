//! When the engine tries again, and when it gives up.

use crate::shared::Timestamp;
use std::time::Duration;

/// How long a subscription may owe before it is cancelled, unless its maker says otherwise.
pub const DAYS_UNTIL_CANCEL: u32 = 15;
/// The most characters of a comment.
pub const COMMENT_MAX: usize = 500;

/// How a store treats debts; options of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingPolicy {
    /// Days after an invoice was written at which its collection is tried again; ascending.
    pub retry_days: Vec<u32>,
    /// For subscriptions that say nothing else.
    pub days_until_cancel: u32,
    /// A wallet permits charges for at most so many units of what is billed by usage and has no threshold.
    pub usage_ceiling: u64,
    /// How long an overdue renewal waits for the customer before the overdraft protection pays it.
    pub overdraft_grace: Duration,
    /// What the overdraft protection costs, in hundredths of a percent of what it pays.
    pub overdraft_fee_points: u32,
}

/// For a store that says nothing else.
pub const USAGE_CEILING: u64 = 1_000;

/// For a store that says nothing else: three days, after the first retries.
pub const OVERDRAFT_GRACE: Duration = Duration::from_secs(3 * 24 * 3_600);
/// For a store that says nothing else: five percent.
pub const OVERDRAFT_FEE_POINTS: u32 = 500;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Default for BillingPolicy {
    /// Over two weeks.
    fn default() -> Self {
        Self {
            retry_days: vec![1, 3, 5, 7, 10, 14],
            days_until_cancel: DAYS_UNTIL_CANCEL,
            usage_ceiling: USAGE_CEILING,
            overdraft_grace: OVERDRAFT_GRACE,
            overdraft_fee_points: OVERDRAFT_FEE_POINTS,
        }
    }
}

impl BillingPolicy {
    /// The first time of the schedule that lies after `now`. The schedule counts from the invoice, so that neither what a
    /// customer tries by hand nor a late round shortens it.
    #[must_use]
    pub fn next_retry(&self, written_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
        self.retry_days.iter().map(|days| written_at.plus(DAY * *days)).find(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_counts_from_the_invoice_and_ends() {
        let policy = BillingPolicy::default();
        let at = |days: u32| Timestamp::from_seconds(0).plus(DAY * days);
        assert_eq!(policy.next_retry(at(0), at(0)), Some(at(1)));
        assert_eq!(policy.next_retry(at(0), at(1)), Some(at(3)));
        assert_eq!(policy.next_retry(at(0), at(6)), Some(at(7)));
        assert_eq!(policy.next_retry(at(0), at(14)), None);
    }
}
