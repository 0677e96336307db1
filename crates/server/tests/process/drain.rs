//! Waits at the end of a run until all started work is finished.

use souk_adapters::persistence::Database;
use souk_adapters::testing::RunningClock;
use souk_domain::shared::Clock;
use std::time::{Duration, Instant};

/// Longer than two leases of the queue, a claim of the reconciler, and a period of the expiry job.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(250);

/// The sessions that a drain ends.
struct Sessions {
    /// Describes those that are open.
    open: &'static str,
    /// Makes them due for expiry.
    expire: &'static str,
}

const ALL: Sessions = Sessions {
    open: "SELECT 'session ' || id || ', intent ' || coalesce(intent_id, 'none') AS description FROM checkout_sessions WHERE status = 'open'",
    expire: "UPDATE checkout_sessions SET expires_at = $1 WHERE status = 'open' AND expires_at > $1",
};
const SUBMITTED: Sessions = Sessions {
    open: "SELECT 'session ' || id || ', intent ' || intent_id AS description FROM checkout_sessions
           WHERE status = 'open' AND intent_id IS NOT NULL",
    expire: "UPDATE checkout_sessions SET expires_at = $1 WHERE status = 'open' AND expires_at > $1 AND intent_id IS NOT NULL",
};

/// Queries for other unfinished work, one description per row. Outbox rows that are scheduled for later and untried do not count.
const OPEN: [&str; 2] = [
    "SELECT 'attempt ' || id || ' of ' || subject || ', ' || status || ' after ' || checks || ' checks, ' ||
     coalesce('at ' || provider_id, 'hash ' || hash, 'not opened') AS description FROM attempts WHERE status IN ('open', 'unknown')",
    "SELECT 'outbox row ' || id || ', ' || topic || ' after ' || attempts || ' attempts, held by ' || coalesce(claim, 'nobody') AS description
     FROM outbox WHERE dead_at IS NULL AND (run_at = created_at OR attempts > 0)",
];

/// Makes all open sessions expire and all checks due, and waits until nothing is open and all messages are delivered. Returns the
/// unfinished work after the time limit, which should be empty.
pub async fn drain(database: &Database) -> Vec<String> {
    drain_sessions(database, &ALL).await
}

/// As [`drain`], without the sessions that nobody submitted. Strangers can start more than expire in this time.
pub async fn drain_submitted(database: &Database) -> Vec<String> {
    drain_sessions(database, &SUBMITTED).await
}

async fn drain_sessions(database: &Database, sessions: &Sessions) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let left = unfinished(database, sessions).await;
        if left.is_empty() || begun.elapsed() > LIMIT {
            return left;
        }
        hurry(database, sessions).await;
        tokio::time::sleep(POLL).await;
    }
}

async fn unfinished(database: &Database, sessions: &Sessions) -> Vec<String> {
    let mut left = Vec::new();
    for sql in OPEN.into_iter().chain([sessions.open]) {
        let rows = database.read().await.expect("reads").query(sql).all().await.expect("reads");
        left.extend(rows.iter().map(|row| row.get::<String>("description").expect("a text")));
    }
    left
}

/// Moves the deadlines of sessions and checks into the past, as if a day had passed.
async fn hurry(database: &Database, sessions: &Sessions) {
    let now = RunningClock.now();
    let mut connection = database.begin().await.expect("begins");
    connection.query(sessions.expire).bind(now).execute().await.expect("expires");
    let update = "UPDATE attempts SET check_at = $1 WHERE status IN ('open', 'unknown') AND check_at > $1 AND updated_at < $2";
    connection.query(update).bind(now).bind(now.minus(Duration::from_secs(2))).execute().await.expect("asks sooner");
    connection.commit().await.expect("commits");
}
