//! The policy for retries, dunning, usage limits and overdrafts.

use crate::shared::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// The default number of days that a subscription can be past due before it is canceled.
pub const DAYS_UNTIL_CANCEL: u32 = 15;
/// The maximum length of a comment in characters.
pub const COMMENT_MAX: usize = 500;

/// How a store handles unpaid invoices; set by server options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingPolicy {
    /// Days after finalization on which the collection of an invoice is retried; ascending.
    pub retry_days: Vec<u32>,
    /// Days past due before a subscription without its own value is canceled.
    pub days_until_cancel: u32,
    /// The number of units that the mandate limit of metered items without a billing threshold covers.
    pub usage_limit: u64,
    /// How long an overdue renewal waits before the overdraft protection pays it.
    pub overdraft_grace: Duration,
    /// The fee of the overdraft protection, in basis points (0.01 %) of what it pays.
    pub overdraft_fee_points: u32,
    /// What the engine bills without an owner's decision. `None`: without bounds, for simulations whose time jumps on purpose. Customers on
    /// a test clock are never bounded.
    pub bounds: Option<Bounds>,
    /// The most that may be refunded and paid out in 24 hours, by the symbol of the currency, in whole units of it. Refunds that the engine
    /// orders count, and are never refused. Without an entry, no more leaves than the store received in the last 30 days, except that an
    /// order is accepted if nothing else was sent.
    pub daily_caps: BTreeMap<String, u64>,
}

/// The bounds of automatic billing: they keep a long outage or a wrong clock from charging many periods at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A subscription with more unbilled periods than this is put on hold, if they began more than `span` ago.
    pub periods: u32,
    pub span: Duration,
    /// The automatic invoices of a subscription in a day, beyond those of the periods of one day.
    pub extra_invoices: u32,
    /// The automatic charges of a customer in an hour, for each subscription that has not ended.
    pub hourly_charges: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { periods: 2, span: DAY, extra_invoices: 15, hourly_charges: 6 }
    }
}

/// What bounds the automatic billing of one subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubscriptionBounds {
    /// Since when it is on hold. Dunning waits from then on.
    pub held_at: Option<Timestamp>,
    /// An owner decided that every period that began by this time is billed.
    pub approved_until: Option<Timestamp>,
    /// When the engine ends the hold itself, because a limit applies until then. `None`: an owner ends it.
    pub resumes_at: Option<Timestamp>,
    /// The automatic invoices of the last day with one.
    pub invoices: Option<DailyInvoices>,
}

/// The automatic invoices of a subscription in a day of UTC. Invoices of periods that an owner has approved do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyInvoices {
    /// The start of the day.
    pub day: Timestamp,
    pub count: u32,
}

/// The default of [`BillingPolicy::usage_limit`].
pub const USAGE_LIMIT: u64 = 1_000;

/// The default of [`BillingPolicy::overdraft_grace`]: three days, after the first retries.
pub const OVERDRAFT_GRACE: Duration = Duration::from_secs(3 * 24 * 3_600);
/// The default of [`BillingPolicy::overdraft_fee_points`]: five percent.
pub const OVERDRAFT_FEE_POINTS: u32 = 500;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Default for BillingPolicy {
    /// Retries over two weeks.
    fn default() -> Self {
        Self {
            retry_days: vec![1, 3, 5, 7, 10, 14],
            days_until_cancel: DAYS_UNTIL_CANCEL,
            usage_limit: USAGE_LIMIT,
            overdraft_grace: OVERDRAFT_GRACE,
            overdraft_fee_points: OVERDRAFT_FEE_POINTS,
            bounds: Some(Bounds::default()),
            daily_caps: BTreeMap::new(),
        }
    }
}

impl BillingPolicy {
    /// The next time of the retry schedule after `now`. The schedule counts from the invoice, so that neither manual payments nor a late
    /// batch shift it.
    #[must_use]
    pub fn next_retry(&self, written_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
        self.retry_days.iter().map(|days| written_at.plus(DAY * *days)).find(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_schedule_counts_from_the_invoice_and_ends() {
        let policy = BillingPolicy::default();
        let at = |days: u32| Timestamp::from_seconds(0).plus(DAY * days);
        assert_eq!(policy.next_retry(at(0), at(0)), Some(at(1)));
        assert_eq!(policy.next_retry(at(0), at(1)), Some(at(3)));
        assert_eq!(policy.next_retry(at(0), at(6)), Some(at(7)));
        assert_eq!(policy.next_retry(at(0), at(14)), None);
    }
}
