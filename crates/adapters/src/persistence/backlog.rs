//! How far work is behind, for the owner's metrics. Rows that wait on purpose are not behind, so they are counted by themselves. A statement
//! reads rows that are due or on hold, and few of the others.

use super::attempts_on_hold::{self, not_on_hold};
use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Database, Row, Sql};
use souk_domain::payment::HoldClass;
use souk_domain::shared::{MethodId, StorageError, Timestamp};
use std::time::Duration;

/// Messages of one topic that are due and not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDepth {
    pub topic: String,
    /// At most 100,000 of all topics together are counted.
    pub depth: u64,
    /// How long the first of them has been due.
    pub lag: Duration,
    /// How long ago the oldest of them was written.
    pub age: Duration,
}

/// The state of the outbox and of the scans that find due work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    pub queues: Vec<QueueDepth>,
    /// At most 10,000 are counted.
    pub dead_letters: u64,
    /// How long the first row that each scan would process has been due; zero if there is none.
    pub due: Vec<(&'static str, Duration)>,
    /// Rows that wait on purpose: the due ones that a scan skips, subscriptions, payments and transfers on hold. At most 10,000 of each are counted.
    pub waiting: Vec<(&'static str, u64)>,
}

const QUEUES: &str = "SELECT topic, COUNT(*) AS depth, MIN(run_at) AS due, MIN(created_at) AS created
    FROM (SELECT topic, run_at, created_at FROM outbox WHERE dead_at IS NULL AND run_at <= $1 ORDER BY run_at LIMIT 100000) AS waiting
    GROUP BY topic ORDER BY topic";
const DEAD_LETTERS: &str = "SELECT COUNT(*) AS count FROM (SELECT id FROM outbox WHERE dead_at IS NOT NULL LIMIT 10000) AS dead";

/// The most rows of each kind that are counted as waiting.
const WAITING_MAX: u32 = 10_000;

/// A scan of `souk_workers::schedule` that has an index for its due rows. Rows of test clocks have a time of their own. `$1`: the methods of
/// a sandbox that is off; `$2`: the time; `$3`: [`WAITING_MAX`].
pub(super) struct Scan {
    work: &'static str,
    /// Since when the first row that the scan would process is due.
    pub(super) first: Sql,
    /// The number of due rows that the scan skips, among the first due ones.
    pub(super) waiting: Sql,
}

pub(super) const SCANS: [Scan; 3] = [
    Scan {
        work: "renewals",
        first: sql_per_dialect!(
            "SELECT due_at AS due FROM subscriptions WHERE due_at <= $2 AND clock_id IS NULL AND NOT (method_id " (among "$1") ")
             ORDER BY due_at, id LIMIT 1"
        ),
        waiting: sql_per_dialect!(
            "SELECT COUNT(*) AS count FROM (SELECT method_id FROM subscriptions WHERE due_at <= $2 AND clock_id IS NULL
                 ORDER BY due_at, id LIMIT $3) AS due WHERE method_id " (among "$1")
        ),
    },
    Scan {
        work: "retries",
        first: sql_per_dialect!(
            "SELECT retry_at AS due FROM invoices WHERE retry_at <= $2 AND clock_id IS NULL AND NOT EXISTS
                 (SELECT 1 FROM subscriptions s WHERE s.id = invoices.subscription_id
                  AND (s.on_hold IS NOT NULL OR s.method_id " (among "$1") "))
             AND NOT EXISTS (SELECT 1 FROM found_payments f
                 WHERE f.livemode = invoices.livemode AND f.currency_id = invoices.currency_id AND f.handled_at IS NULL AND f.incoming = TRUE)
             ORDER BY retry_at, id LIMIT 1"
        ),
        waiting: sql_per_dialect!(
            "SELECT COUNT(*) AS count FROM (SELECT subscription_id, livemode, currency_id FROM invoices
                 WHERE retry_at <= $2 AND clock_id IS NULL ORDER BY retry_at, id LIMIT $3) AS due WHERE EXISTS
                 (SELECT 1 FROM subscriptions s WHERE s.id = due.subscription_id
                  AND (s.on_hold IS NOT NULL OR s.method_id " (among "$1") "))
             OR EXISTS (SELECT 1 FROM found_payments f
                 WHERE f.livemode = due.livemode AND f.currency_id = due.currency_id AND f.handled_at IS NULL AND f.incoming = TRUE)"
        ),
    },
    Scan {
        work: "stakes",
        first: sql_per_dialect!(
            "SELECT return_at AS due FROM stakes WHERE return_at <= $2 AND return_at IS NOT NULL AND reserved_by IS NULL
                 AND NOT EXISTS (SELECT 1 FROM test_clocks c WHERE c.customer_id = stakes.customer_id) AND NOT (method_id " (among "$1") ")
             ORDER BY return_at, id LIMIT 1"
        ),
        waiting: sql_per_dialect!(
            "SELECT COUNT(*) AS count FROM (SELECT method_id, customer_id FROM stakes
                 WHERE return_at <= $2 AND return_at IS NOT NULL AND reserved_by IS NULL ORDER BY return_at, id LIMIT $3) AS due
             WHERE method_id " (among "$1") " AND NOT EXISTS (SELECT 1 FROM test_clocks c WHERE c.customer_id = due.customer_id)"
        ),
    },
];

/// Of each method: when its first attempt is to be checked, and how many are due at `$1`, at most `$2`.
pub(super) const ATTEMPTS: &str = concat!(
    "SELECT m.id, (SELECT a.check_at FROM attempts a WHERE a.method_id = m.id AND a.status IN ('open', 'unknown') AND a.check_at <= $1 AND ",
    not_on_hold!(),
    " ORDER BY a.check_at, a.id LIMIT 1) AS due,
    (SELECT COUNT(*) FROM (SELECT 1 AS found FROM attempts a WHERE a.method_id = m.id AND a.status IN ('open', 'unknown')
         AND a.check_at <= $1 AND ",
    not_on_hold!(),
    " LIMIT $2) AS found) AS count FROM payment_methods m ORDER BY m.id"
);
pub(super) const SUBSCRIPTIONS_ON_HOLD: &str =
    "SELECT COUNT(*) AS count FROM (SELECT id FROM subscriptions WHERE on_hold IS NOT NULL LIMIT $1) AS held";

/// Reads the backlog at `now`. `paused`: the methods of a sandbox that is off.
pub async fn backlog(database: &Database, now: Timestamp, paused: &[MethodId]) -> Result<Backlog, StorageError> {
    let mut connection = database.read().await?;
    let rows = connection.query(QUEUES).bind(now).all().await?;
    let queues = rows.iter().map(|row| queue_depth(row, now)).collect::<Result<_, _>>()?;
    let dead_letters = count(connection.query(DEAD_LETTERS).all().await?.first())?;
    let mut backlog = Backlog { queues, dead_letters, due: Vec::new(), waiting: Vec::new() };
    let lag = |since: Option<Timestamp>| since.map_or(Duration::ZERO, |since| now.since(since));
    for Scan { work, first, waiting } in SCANS {
        let first = connection.query_per_dialect(first).bind(keys(paused)).bind(now).optional().await?;
        backlog.due.push((work, lag(first.map(|row| row.get("due")).transpose()?)));
        let waiting = connection.query_per_dialect(waiting).bind(keys(paused)).bind(now).bind(WAITING_MAX).all().await?;
        backlog.waiting.push((work, count(waiting.first())?));
    }
    let attempts = attempts(&mut connection, now, paused).await?;
    backlog.due.push(("attempts", lag(attempts.first)));
    let on_hold = connection.query(SUBSCRIPTIONS_ON_HOLD).bind(WAITING_MAX).all().await?;
    backlog.waiting.extend([("attempts", attempts.waiting), ("subscriptions", count(on_hold.first())?)]);
    for (name, class) in [("payments", HoldClass::Payments), ("transfers", HoldClass::Transfers)] {
        let on_hold = attempts_on_hold::count(&mut connection, class, WAITING_MAX).await?;
        backlog.waiting.push((name, u64::from(on_hold)));
    }
    Ok(backlog)
}

fn count(row: Option<&Row>) -> Result<u64, StorageError> {
    Ok(row.map_or(Ok(0), |row| row.get::<i64>("count"))?.unsigned_abs())
}

/// The due attempts.
struct DueAttempts {
    /// Since when the first one of a method that is not paused is due.
    first: Option<Timestamp>,
    /// The number of those of paused methods.
    waiting: u64,
}

async fn attempts(connection: &mut Connection, now: Timestamp, paused: &[MethodId]) -> Result<DueAttempts, StorageError> {
    let mut found = DueAttempts { first: None, waiting: 0 };
    for row in connection.query(ATTEMPTS).bind(now).bind(WAITING_MAX).all().await? {
        if paused.contains(&row.get("id")?) {
            found.waiting += count(Some(&row))?;
        } else {
            found.first = [found.first, row.get("due")?].into_iter().flatten().min();
        }
    }
    Ok(found)
}

fn queue_depth(row: &Row, now: Timestamp) -> Result<QueueDepth, StorageError> {
    Ok(QueueDepth {
        topic: row.get("topic")?,
        depth: row.get::<i64>("depth")?.unsigned_abs(),
        lag: now.since(row.get("due")?),
        age: now.since(row.get("created")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_both;
    use crate::persistence::SqlOutbox;
    use crate::testing::{FixedClock, SeededRandom};
    use souk_domain::events::{Message, Outbox, Topic};
    use souk_domain::shared::{Clock, EventId};

    on_both! {
        async fn due_messages_are_counted_by_topic_with_their_age(db: &TestDatabase) {
            let now = FixedClock::default().now();
            let ago = |seconds| now.minus(Duration::from_secs(seconds));
            let mut connection = db.begin().await.expect("begins");
            let messages = [
                (Topic::ReceiptMail, ago(60), ago(90)),
                (Topic::ReceiptMail, ago(5), ago(5)),
                (Topic::Realtime, ago(0), ago(0)),
                (Topic::Charge, now.plus(Duration::from_secs(60)), ago(0)),
            ];
            for (seed, (topic, run_at, created_at)) in (1..).zip(messages) {
                let id = EventId::new(created_at, &SeededRandom::new(seed));
                SqlOutbox(&mut connection).publish(&id, &Message::new(topic, run_at), created_at).await.expect("publishes");
            }
            connection.commit().await.expect("commits");
            let first = backlog(db, now, &[]).await.expect("reads");
            let queues: Vec<_> =
                first.queues.iter().map(|queue| (queue.topic.as_str(), queue.depth, queue.lag.as_secs(), queue.age.as_secs())).collect();
            assert_eq!(queues, [("realtime", 1, 0, 0), ("receipt_mail", 2, 60, 90)]);
            assert_eq!(first.dead_letters, 0);
            assert!(first.due.iter().all(|(_, lag)| lag.is_zero()), "{:?}", first.due);
            assert!(first.waiting.iter().all(|(_, count)| *count == 0), "{:?}", first.waiting);

            let mut connection = db.begin().await.expect("begins");
            connection.query("UPDATE outbox SET dead_at = $1 WHERE topic = 'realtime'").bind(now).execute().await.expect("buries");
            connection.commit().await.expect("commits");
            let later = backlog(db, now.plus(Duration::from_secs(30)), &[]).await.expect("reads");
            assert_eq!((later.dead_letters, later.queues.len()), (1, 1));
            assert_eq!(later.queues[0].lag.as_secs(), 90);
        }
    }
}
