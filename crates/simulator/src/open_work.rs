//! The unfinished work of a store.

use crate::{Failure, Store};
use std::time::Duration;

/// Longer than the waiting time of a revoked stake.
const STAKE_WAIT_MAX: Duration = Duration::from_secs(20 * 86_400);

/// Queries for work that must be finished, with one description per row.
const OPEN: [&str; 4] = [
    "SELECT 'attempt ' || id || ' (' || purpose || ', ' || status || ')' AS description FROM attempts WHERE status IN ('open', 'unknown')",
    "SELECT 'message ' || id || ' (' || topic || ')' AS description FROM outbox WHERE dead_at IS NULL",
    "SELECT 'clock ' || id AS description FROM test_clocks WHERE target IS NOT NULL",
    "SELECT 'subscription ' || id AS description FROM subscriptions WHERE status <> 'canceled' AND on_hold IS NULL",
];

/// A test clock that was written within this time is being advanced.
const CLOCK_STEP_MAX: Duration = Duration::from_secs(2);

/// Counts the work that is due at `$1`. Messages that a killed process had claimed count until their leases expire. Clocks count while they
/// are being advanced: since `$2`.
const DUE: &str = "SELECT (SELECT count(*) FROM attempts WHERE status IN ('open', 'unknown') AND check_at <= $1
             AND moved_amount IS NULL)
        + (SELECT count(*) FROM outbox WHERE dead_at IS NULL AND (run_at <= $1 OR claimed_until > $1))
        + (SELECT count(*) FROM subscriptions WHERE due_at <= $1 AND clock_id IS NULL AND on_hold IS NULL)
        + (SELECT count(*) FROM invoices WHERE retry_at <= $1 AND clock_id IS NULL)
        + (SELECT count(*) FROM pending_plan_changes WHERE check_at <= $1)
        + (SELECT count(*) FROM test_clocks WHERE target IS NOT NULL AND touched_at >= $2) AS n";

const UNDECIDED: &str = "SELECT (SELECT count(*) FROM attempts WHERE status IN ('open', 'unknown'))
        + (SELECT count(*) FROM test_clocks WHERE target IS NOT NULL) AS n";

const RELEASED_STAKES: &str = "SELECT count(*) AS n FROM stakes s WHERE s.status = 'releasing' AND s.return_at <= $1
    AND NOT EXISTS (SELECT 1 FROM test_clocks c WHERE c.customer_id = s.customer_id)";

/// Descriptions of all unfinished work.
pub async fn unfinished(store: &Store) -> Result<Vec<String>, Failure> {
    let mut unfinished = Vec::new();
    for sql in OPEN {
        for row in store.database.read().await?.query(sql).all().await? {
            unfinished.push(row.get("description")?);
        }
    }
    Ok(unfinished)
}

/// The amount of work that is due now.
pub async fn due(store: &Store) -> Result<u64, Failure> {
    let now = store.ctx.now();
    let row = store.database.read().await?.query(DUE).bind(now).bind(now.minus(CLOCK_STEP_MAX)).one().await?;
    Ok(row.get("n")?)
}

/// The number of attempts without a result and of clocks that have not reached their target.
pub async fn undecided(store: &Store) -> Result<u64, Failure> {
    let row = store.database.read().await?.query(UNDECIDED).one().await?;
    Ok(row.get("n")?)
}

/// Returns whether no stake outside test clocks is waiting for its return.
pub async fn stakes_are_returned(store: &Store) -> Result<bool, Failure> {
    let row = store.database.read().await?.query(RELEASED_STAKES).bind(store.ctx.now().plus(STAKE_WAIT_MAX)).one().await?;
    Ok(row.get::<u64>("n")? == 0)
}
