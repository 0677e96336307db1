//! What a store still has to do.

use crate::{Failure, Store};
use std::time::Duration;

/// A stake that waits longer than the owner of a revoked stake must.
const LONGEST_STAKE_WAIT: Duration = Duration::from_secs(20 * 86_400);

/// Work that must come to an end, described in one line each.
const OPEN: [&str; 4] = [
    "SELECT 'attempt ' || id || ' (' || purpose || ', ' || status || ')' AS description FROM attempts WHERE status IN ('open', 'unknown')",
    "SELECT 'message ' || id || ' (' || topic || ')' AS description FROM outbox WHERE dead_at IS NULL",
    "SELECT 'clock ' || id AS description FROM test_clocks WHERE target IS NOT NULL",
    "SELECT 'subscription ' || id AS description FROM subscriptions WHERE status <> 'canceled' AND on_hold IS NULL",
];

/// The work that is due at `$1`. Messages that a killed process had claimed count until their leases end.
const DUE: &str = "SELECT (SELECT count(*) FROM attempts WHERE status IN ('open', 'unknown') AND check_at <= $1)
        + (SELECT count(*) FROM outbox WHERE dead_at IS NULL AND (run_at <= $1 OR claimed_until > $1))
        + (SELECT count(*) FROM subscriptions WHERE due_at <= $1 AND clock_id IS NULL AND on_hold IS NULL)
        + (SELECT count(*) FROM invoices WHERE retry_at <= $1 AND clock_id IS NULL) AS n";

const IN_FLIGHT: &str = "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')";

const RELEASED_STAKES: &str = "SELECT count(*) AS n FROM stakes s WHERE s.status = 'releasing' AND s.return_at <= $1
    AND NOT EXISTS (SELECT 1 FROM test_clocks c WHERE c.customer_id = s.customer_id)";

/// Everything that has not come to an end.
pub async fn left(store: &Store) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    for sql in OPEN {
        for row in store.database.read().await?.query(sql).all().await? {
            left.push(row.get("description")?);
        }
    }
    Ok(left)
}

/// How much work is due now.
pub async fn due(store: &Store) -> Result<u64, Failure> {
    let row = store.database.read().await?.query(DUE).bind(store.ctx.now()).one().await?;
    Ok(row.get("n")?)
}

/// How many attempts have no outcome yet.
pub async fn in_flight(store: &Store) -> Result<u64, Failure> {
    let row = store.database.read().await?.query(IN_FLIGHT).one().await?;
    Ok(row.get("n")?)
}

/// Whether no stake outside test clocks waits for its return.
pub async fn stakes_are_returned(store: &Store) -> Result<bool, Failure> {
    let row = store.database.read().await?.query(RELEASED_STAKES).bind(store.ctx.now().plus(LONGEST_STAKE_WAIT)).one().await?;
    Ok(row.get::<u64>("n")? == 0)
}
