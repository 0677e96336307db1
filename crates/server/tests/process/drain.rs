//! The end of a run: nobody buys any more, and everything that was begun must come to its end.

use souk_adapters::persistence::Database;
use souk_adapters::testing::RunningClock;
use souk_domain::shared::Clock;
use std::time::{Duration, Instant};

/// Longer than two leases of the queue, a claim of the janitor, and a round of the expiry.
const LIMIT: Duration = Duration::from_secs(150);
const GLANCE: Duration = Duration::from_millis(250);

const OPEN: [(&str, &str); 3] = [
    ("open sessions", "SELECT count(*) AS n FROM checkout_sessions WHERE status = 'open'"),
    ("open attempts", "SELECT count(*) AS n FROM attempts WHERE status IN ('open', 'unknown')"),
    ("outbox rows", "SELECT count(*) AS n FROM outbox WHERE dead_at IS NULL"),
];

/// Lets the time of all open sessions be over, lets the janitor's next question be due now, and waits until nothing is
/// open and nothing waits to be delivered. Answers what is left after a long time: nothing, unless something is wrong.
pub async fn drain(database: &Database) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let left = left(database).await;
        if left.is_empty() || begun.elapsed() > LIMIT {
            return left;
        }
        hurry(database).await;
        tokio::time::sleep(GLANCE).await;
    }
}

async fn left(database: &Database) -> Vec<String> {
    let mut left = Vec::new();
    for (what, sql) in OPEN {
        let count: i64 = database.read().await.expect("reads").query(sql).one().await.expect("counts").get("n").expect("a number");
        if count > 0 {
            left.push(format!("{count} {what}"));
        }
    }
    left
}

/// As if a day had passed for sessions and the back-off of questions: what waits for a clock waits no longer.
async fn hurry(database: &Database) {
    let now = RunningClock.now();
    let mut session = database.begin().await.expect("begins");
    let expire = "UPDATE checkout_sessions SET expires_at = $1 WHERE status = 'open' AND expires_at > $1";
    session.query(expire).bind(now).execute().await.expect("expires");
    let ask = "UPDATE attempts SET check_at = $1 WHERE status IN ('open', 'unknown') AND check_at > $1 AND updated_at < $2";
    session.query(ask).bind(now).bind(now.minus(Duration::from_secs(2))).execute().await.expect("asks sooner");
    session.commit().await.expect("commits");
}
