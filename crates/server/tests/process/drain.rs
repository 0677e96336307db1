//! The end of a run: nobody buys any more, and everything that was begun must come to its end.

use souk_adapters::persistence::Database;
use souk_adapters::testing::RunningClock;
use souk_domain::shared::Clock;
use std::time::{Duration, Instant};

/// Longer than two leases of the queue, a claim of the reconciler, and a round of the expiry.
const LIMIT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(250);

/// What must come to an end, each told in a line. A row of the outbox for later that nobody has tried is an appointment.
const OPEN: [&str; 3] = [
    "SELECT 'session ' || id || ', intent ' || coalesce(intent_id, 'none') AS told FROM checkout_sessions WHERE status = 'open'",
    "SELECT 'attempt ' || id || ' of ' || subject || ', ' || status || ' after ' || checks || ' checks, ' ||
     coalesce('at ' || provider_id, 'hash ' || hash, 'not opened') AS told FROM attempts WHERE status IN ('open', 'unknown')",
    "SELECT 'outbox row ' || id || ', ' || topic || ' after ' || attempts || ' attempts, held by ' || coalesce(claim, 'nobody') AS told
     FROM outbox WHERE dead_at IS NULL AND (run_at = created_at OR attempts > 0)",
];

/// Lets the time of all open sessions be over, lets the reconciler's next question be due now, and waits until nothing is
/// open and nothing waits to be delivered. Answers what is left after a long time: nothing, unless something is wrong.
pub async fn drain(database: &Database) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let left = left(database).await;
        if left.is_empty() || begun.elapsed() > LIMIT {
            return left;
        }
        hurry(database).await;
        tokio::time::sleep(POLL).await;
    }
}

async fn left(database: &Database) -> Vec<String> {
    let mut left = Vec::new();
    for sql in OPEN {
        let rows = database.read().await.expect("reads").query(sql).all().await.expect("reads");
        left.extend(rows.iter().map(|row| row.get::<String>("told").expect("a text")));
    }
    left
}

/// As if a day had passed for sessions and the back-off of questions: what waits for a clock waits no longer.
async fn hurry(database: &Database) {
    let now = RunningClock.now();
    let mut connection = database.begin().await.expect("begins");
    let expire = "UPDATE checkout_sessions SET expires_at = $1 WHERE status = 'open' AND expires_at > $1";
    connection.query(expire).bind(now).execute().await.expect("expires");
    let update = "UPDATE attempts SET check_at = $1 WHERE status IN ('open', 'unknown') AND check_at > $1 AND updated_at < $2";
    connection.query(update).bind(now).bind(now.minus(Duration::from_secs(2))).execute().await.expect("asks sooner");
    connection.commit().await.expect("commits");
}
