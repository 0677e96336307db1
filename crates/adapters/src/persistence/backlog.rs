//! How far work is behind, for the owner's metrics. Every statement reads a bounded number of rows.

use super::attempts_on_hold::not_on_hold;
use super::{Database, Row};
use souk_domain::shared::{StorageError, Timestamp};
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
    /// How long the first due row of each scan has been due; zero if none is.
    pub due: Vec<(&'static str, Duration)>,
}

const QUEUES: &str = "SELECT topic, COUNT(*) AS depth, MIN(run_at) AS due, MIN(created_at) AS created
    FROM (SELECT topic, run_at, created_at FROM outbox WHERE dead_at IS NULL AND run_at <= $1 ORDER BY run_at LIMIT 100000) AS waiting
    GROUP BY topic ORDER BY topic";
const DEAD_LETTERS: &str = "SELECT COUNT(*) AS count FROM (SELECT id FROM outbox WHERE dead_at IS NOT NULL LIMIT 10000) AS dead";

/// The first row of each scan of `souk_workers::schedule` that has an index for it. Rows of test clocks have a time of their own.
const SCANS: [(&str, &str); 4] = [
    ("renewals", "SELECT due_at AS due FROM subscriptions WHERE due_at IS NOT NULL AND clock_id IS NULL ORDER BY due_at, id LIMIT 1"),
    ("retries", "SELECT retry_at AS due FROM invoices WHERE retry_at IS NOT NULL AND clock_id IS NULL ORDER BY retry_at, id LIMIT 1"),
    (
        "attempts",
        concat!(
            "SELECT due FROM (SELECT (SELECT check_at FROM attempts WHERE method_id = m.id AND status IN ('open', 'unknown') AND ",
            not_on_hold!(),
            " ORDER BY check_at, id LIMIT 1) AS due FROM payment_methods m) AS first WHERE due IS NOT NULL ORDER BY due LIMIT 1"
        ),
    ),
    ("stakes", "SELECT return_at AS due FROM stakes WHERE return_at IS NOT NULL AND reserved_by IS NULL ORDER BY return_at, id LIMIT 1"),
];

/// Reads the backlog at `now`.
pub async fn backlog(database: &Database, now: Timestamp) -> Result<Backlog, StorageError> {
    let mut connection = database.read().await?;
    let rows = connection.query(QUEUES).bind(now).all().await?;
    let queues = rows.iter().map(|row| queue_depth(row, now)).collect::<Result<_, _>>()?;
    let dead = connection.query(DEAD_LETTERS).all().await?;
    let dead_letters = dead.first().map_or(Ok(0), |row| row.get::<i64>("count"))?;
    let mut due = Vec::with_capacity(SCANS.len());
    for (name, statement) in SCANS {
        let first = connection.query(statement).all().await?;
        let since = first.first().map(|row| row.get::<Timestamp>("due")).transpose()?;
        due.push((name, since.map_or(Duration::ZERO, |since| now.since(since))));
    }
    Ok(Backlog { queues, dead_letters: dead_letters.unsigned_abs(), due })
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
            let first = backlog(db, now).await.expect("reads");
            let queues: Vec<_> =
                first.queues.iter().map(|queue| (queue.topic.as_str(), queue.depth, queue.lag.as_secs(), queue.age.as_secs())).collect();
            assert_eq!(queues, [("realtime", 1, 0, 0), ("receipt_mail", 2, 60, 90)]);
            assert_eq!(first.dead_letters, 0);
            assert!(first.due.iter().all(|(_, lag)| lag.is_zero()), "{:?}", first.due);

            let mut connection = db.begin().await.expect("begins");
            connection.query("UPDATE outbox SET dead_at = $1 WHERE topic = 'realtime'").bind(now).execute().await.expect("buries");
            connection.commit().await.expect("commits");
            let later = backlog(db, now.plus(Duration::from_secs(30))).await.expect("reads");
            assert_eq!((later.dead_letters, later.queues.len()), (1, 1));
            assert_eq!(later.queues[0].lag.as_secs(), 90);
        }
    }
}
