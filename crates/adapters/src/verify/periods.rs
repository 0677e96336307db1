//! The second half of invariant 2: every period from the first to the current one has an invoice.

use super::check::{Check, Checks};
use crate::persistence::Row;
use souk_domain::billing::period;
use souk_domain::pricing::RecurringInterval;
use souk_domain::shared::{StorageError, Timestamp};
use std::collections::HashSet;

// An invoice for a billing threshold starts a period if its own period continues after it.
const PERIODS: &str = "SELECT s.id, s.cycle, s.anchor, s.period_index, s.period_start, s.period_end, i.period_start AS billed
    FROM (SELECT * FROM subscriptions WHERE id > $1 ORDER BY id LIMIT $2) s
    LEFT JOIN invoices i ON i.subscription_id = s.id AND i.reason IN
        ('subscription_create', 'subscription_cycle', 'subscription_update', 'subscription_recover', 'subscription_threshold')
        AND (i.reason <> 'subscription_threshold' OR i.period_end > i.created_at)
    ORDER BY s.id, i.id";

/// A subscription with the start times of its invoiced periods.
struct Billed {
    id: String,
    cycle: RecurringInterval,
    anchor: Timestamp,
    index: Option<u32>,
    current: (Timestamp, Timestamp),
    starts: HashSet<Timestamp>,
}

impl Billed {
    fn of(id: String, row: &Row) -> Result<Self, StorageError> {
        Ok(Self {
            id,
            cycle: row.get("cycle")?,
            anchor: row.get("anchor")?,
            index: row.get("period_index")?,
            current: (row.get("period_start")?, row.get("period_end")?),
            starts: HashSet::new(),
        })
    }

    /// Returns whether a plan change started this period. A plan change moves the anchor, and creates no invoice if it charges nothing.
    fn was_started_by_plan_change(&self, start: Timestamp) -> bool {
        start == self.anchor && self.starts.iter().any(|earlier| *earlier < start)
    }

    fn close(&self, check: &mut Check) {
        check.of += 1;
        let Some(index) = self.index else { return };
        for n in 0..=index {
            match period(&self.cycle, self.anchor, n) {
                Ok(period) if n == index && (period.start, period.end) != self.current => {
                    check.breaches.push(format!("{} is in another period than number {n} of its anchor", self.id));
                }
                Ok(period) if self.starts.contains(&period.start) || self.was_started_by_plan_change(period.start) => {}
                Ok(period) => check.breaches.push(format!("{} has no invoice for period {n} from {}", self.id, period.start.to_iso())),
                Err(error) => check.breaches.push(format!("{}: {error}", self.id)),
            }
        }
    }
}

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let mut check = Check::of("every period up to the current one has an invoice");
    let mut open: Option<Billed> = None;
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if open.as_ref().is_none_or(|open| open.id != id) {
            let before = open.replace(Billed::of(id, row)?);
            if let Some(before) = before {
                before.close(&mut check);
            }
        }
        if let (Some(open), Some(billed)) = (&mut open, row.get("billed")?) {
            open.starts.insert(billed);
        }
        Ok(())
    };
    checks.walk(PERIODS, "id", read).await?;
    if let Some(open) = open {
        open.close(&mut check);
    }
    checks.report(check);
    Ok(())
}
