//! Leases on outbox rows. Every change of the holder is a conditional update, checked by the number of rows changed. These commits do
//! not wait for the disk: if a power failure undoes one, its job only runs again.

use crate::persistence::{Connection, Database, Sql, payload};
use souk_domain::events::Topic;
use souk_domain::shared::{EventId, StorageError, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// The holder of rows that are in the queue. Workers use random names.
const RELAY: &str = "relay";

/// A row pushed to the queue. Its attempt count at that time distinguishes a late delivery from the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub id: EventId,
    pub attempts: u32,
}

/// A row claimed by a worker.
#[derive(Debug)]
pub struct LeasedJob {
    pub id: EventId,
    /// The stored name. This version may not know the topic.
    pub topic: String,
    pub payload: BTreeMap<String, String>,
    /// Includes this attempt.
    pub attempts: u32,
    pub max_attempts: u32,
    pub claim: String,
}

/// Goes from lane to lane in the index, because a long backlog of one lane must not make the search slow.
pub(crate) const DUE_LANES: &str = "WITH RECURSIVE lanes (lane) AS (
      SELECT MIN(lane) FROM outbox WHERE dead_at IS NULL
      UNION ALL
      SELECT (SELECT MIN(o.lane) FROM outbox o WHERE o.dead_at IS NULL AND o.lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL)
    SELECT lanes.lane FROM lanes WHERE lanes.lane IS NOT NULL AND EXISTS (
      SELECT 1 FROM outbox o WHERE o.lane = lanes.lane AND o.dead_at IS NULL AND o.run_at <= $1
      AND (o.claimed_until IS NULL OR o.claimed_until <= $1))";

/// Returns the lanes that have due rows. A read, so that the relay of an idle store does not take the write lock every second.
pub async fn due_lanes(database: &Database, now: Timestamp) -> Result<Vec<String>, StorageError> {
    let rows = database.read().await?.query(DUE_LANES).bind(now).all().await?;
    rows.iter().map(|row| row.get("lane")).collect()
}

/// Claims due rows of a lane for the queue, so that at most `limit` rows of the lane are in the queue at once.
pub async fn claim_for_relay(
    connection: &mut Connection,
    lane: &str,
    now: Timestamp,
    lease: Duration,
    limit: u32,
) -> Result<Vec<Pushed>, StorageError> {
    let count = "SELECT count(*) AS n FROM outbox WHERE claimed_until > $1 AND claim = $2 AND lane = $3 AND dead_at IS NULL";
    let in_queue: u32 = connection.query(count).bind(now).bind(RELAY).bind(lane).one().await?.get("n")?;
    let claim = Sql {
        sqlite: "UPDATE outbox SET claim = $1, claimed_until = $2 WHERE id IN (
                   SELECT id FROM outbox WHERE lane = $5 AND dead_at IS NULL AND run_at <= $3
                   AND (claimed_until IS NULL OR claimed_until <= $3)
                   AND attempts < max_attempts ORDER BY run_at LIMIT $4) RETURNING id, attempts",
        postgres: "UPDATE outbox SET claim = $1, claimed_until = $2 WHERE id IN (
                   SELECT id FROM outbox WHERE lane = $5 AND dead_at IS NULL AND run_at <= $3
                   AND (claimed_until IS NULL OR claimed_until <= $3)
                   AND attempts < max_attempts ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING id, attempts",
    };
    let query = connection.query_per_dialect(claim).bind(RELAY).bind(now.plus(lease)).bind(now).bind(limit.saturating_sub(in_queue));
    let rows = query.bind(lane).all().await?;
    rows.iter().map(|row| Ok(Pushed { id: row.get("id")?, attempts: row.get("attempts")? })).collect()
}

/// Turns rows into dead letters whose last allowed attempt never ended, because its process died or lost the database until the lease
/// expired. Returns the number of rows.
pub async fn dead_letter_expired(connection: &mut Connection, now: Timestamp) -> Result<u64, StorageError> {
    let update = "UPDATE outbox SET dead_at = $1, claim = NULL, claimed_until = NULL, last_error = $2
                  WHERE dead_at IS NULL AND attempts >= max_attempts AND run_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1)";
    connection.query(update).bind(now).bind("the last attempt did not end before its lease ran out").execute().await
}

/// Whether the job of a delivery is due because of the time alone ([`Topic::depends_on_time`]).
pub async fn depends_on_time(database: &Database, pushed: &Pushed) -> Result<bool, StorageError> {
    let row = database.read().await?.query("SELECT topic FROM outbox WHERE id = $1").bind(&pushed.id).optional().await?;
    let topic = row.map(|row| row.get::<String>("topic")).transpose()?;
    Ok(topic.as_deref().and_then(Topic::from_name).is_some_and(Topic::depends_on_time))
}

/// Claims a delivered row and counts the attempt. Returns `None` if the row is gone or claimed, or if the delivery is for an earlier
/// attempt.
pub async fn claim_for_work(
    database: &Database,
    pushed: &Pushed,
    claim: String,
    now: Timestamp,
    lease: Duration,
) -> Result<Option<LeasedJob>, StorageError> {
    let mut connection = database.begin_relaxed().await?;
    let update = "UPDATE outbox SET claim = $1, claimed_until = $2, attempts = attempts + 1
                  WHERE id = $3 AND attempts = $4 AND attempts < max_attempts AND dead_at IS NULL AND run_at <= $5
                  AND (claim IS NULL OR claim = $6 OR claimed_until <= $5)
                  RETURNING topic, payload, attempts, max_attempts";
    let query = connection.query(update).bind(&claim).bind(now.plus(lease)).bind(&pushed.id).bind(pushed.attempts).bind(now).bind(RELAY);
    let Some(row) = query.optional().await? else { return Ok(None) };
    connection.commit().await?;
    let (topic, payload) = (row.get("topic")?, payload(&row)?);
    Ok(Some(LeasedJob {
        id: pushed.id.clone(),
        topic,
        payload,
        attempts: row.get("attempts")?,
        max_attempts: row.get("max_attempts")?,
        claim,
    }))
}

/// Extends a lease. Returns false if the row has another holder now.
pub async fn extend(database: &Database, held: &LeasedJob, until: Timestamp) -> Result<bool, StorageError> {
    let update = "UPDATE outbox SET claimed_until = $1 WHERE id = $2 AND claim = $3";
    change_one(database, |connection| connection.query(update).bind(until).bind(&held.id).bind(&held.claim)).await
}

/// Deletes the row of a finished job. Returns false if the row has another holder now.
pub async fn finish(database: &Database, held: &LeasedJob) -> Result<bool, StorageError> {
    change_one(database, |connection| connection.query("DELETE FROM outbox WHERE id = $1 AND claim = $2").bind(&held.id).bind(&held.claim))
        .await
}

/// Releases the row of a job that has to wait, until it is due. The attempt does not count towards the limit; its number stays, because
/// the queue still knows the delivery. Returns false if the row has another holder now.
pub async fn reschedule(database: &Database, held: &LeasedJob, until: Timestamp) -> Result<bool, StorageError> {
    let update = "UPDATE outbox SET run_at = $1, max_attempts = max_attempts + 1, claim = NULL, claimed_until = NULL
                  WHERE id = $2 AND claim = $3";
    change_one(database, |connection| connection.query(update).bind(until).bind(&held.id).bind(&held.claim)).await
}

/// Records a failed attempt: the row is due again at `again_at`, or becomes a dead letter if that is `None`. Returns false if the row has
/// another holder now.
pub async fn fail(
    database: &Database,
    held: &LeasedJob,
    error: &str,
    again_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let update = "UPDATE outbox SET run_at = $1, dead_at = $2, last_error = $3, claim = NULL, claimed_until = NULL
                  WHERE id = $4 AND claim = $5";
    let dead_at = if again_at.is_some() { None } else { Some(now) };
    change_one(database, |connection| {
        let query = connection.query(update).bind(again_at.unwrap_or(now)).bind(dead_at);
        query.bind(error).bind(&held.id).bind(&held.claim)
    })
    .await
}

async fn change_one(
    database: &Database,
    change: impl for<'s> FnOnce(&'s mut Connection) -> crate::persistence::Query<'s>,
) -> Result<bool, StorageError> {
    let mut connection = database.begin_relaxed().await?;
    let changed = change(&mut connection).execute().await?;
    connection.commit().await?;
    Ok(changed == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_both;
    use crate::persistence::{SqlClockStates, SqlOutbox};
    use crate::testing::{FixedClock, SeededRandom};
    use souk_domain::events::{Message, Outbox};
    use souk_domain::operation::ClockStates;
    use souk_domain::shared::Clock;

    const LEASE: Duration = Duration::from_secs(20);

    async fn publish(db: &Database, count: u64, now: Timestamp) {
        let mut connection = db.begin().await.expect("begins");
        for seed in 0..count {
            let id = EventId::new(now, &SeededRandom::new(seed));
            SqlOutbox(&mut connection).publish(&id, &Message::new(Topic::Realtime, now), now).await.expect("publishes");
        }
        connection.commit().await.expect("commits");
    }

    async fn relay(db: &Database, now: Timestamp, limit: u32) -> Vec<Pushed> {
        let mut connection = db.begin().await.expect("begins");
        let pushed = claim_for_relay(&mut connection, Topic::Realtime.name(), now, LEASE, limit).await.expect("claims");
        connection.commit().await.expect("commits");
        pushed
    }

    async fn take(db: &Database, pushed: &Pushed, name: &str, now: Timestamp) -> Option<LeasedJob> {
        claim_for_work(db, pushed, name.to_owned(), now, LEASE).await.expect("queries")
    }

    on_both! {
        async fn of_ten_workers_that_race_for_one_delivery_one_claims_it(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 1, now).await;
            let pushed = relay(db, now, 10).await.remove(0);
            let workers = (0..10).map(|number| {
                let (db, pushed) = (Database::clone(db), pushed.clone());
                tokio::spawn(async move { take(&db, &pushed, &format!("worker:{number}"), now).await })
            });
            let mut holders = Vec::new();
            for worker in workers.collect::<Vec<_>>() {
                holders.extend(worker.await.expect("queries"));
            }
            assert_eq!(holders.iter().map(|held| held.attempts).collect::<Vec<_>>(), [1]);
        }

        async fn relays_that_race_never_claim_the_same_row(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 100, now).await;
            let relays = (0..4).map(|_| {
                let db = Database::clone(db);
                tokio::spawn(async move { relay(&db, now, 1_000).await })
            });
            let mut claimed = Vec::new();
            for relay in relays.collect::<Vec<_>>() {
                claimed.extend(relay.await.expect("claims").into_iter().map(|pushed| pushed.id));
            }
            claimed.sort();
            claimed.dedup();
            assert_eq!(claimed.len(), 100);
            assert!(relay(db, now, 1_000).await.is_empty());
        }

        async fn the_relay_claims_no_more_rows_than_the_limit(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 30, now).await;
            assert_eq!(relay(db, now, 20).await.len(), 20);
            assert_eq!(relay(db, now, 20).await.len(), 0);
            assert_eq!(relay(db, now.plus(LEASE), 20).await.len(), 20);
        }

        async fn each_lane_has_a_limit_of_its_own(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 30, now).await;
            let mut connection = db.begin().await.expect("begins");
            for (seed, method, run_at) in [(100, "pm_1", now), (101, "pm_2", now), (102, "pm_3", now.plus(LEASE))] {
                let charge = Message::new(Topic::Charge, run_at).with("method", method);
                SqlOutbox(&mut connection).publish(&EventId::new(now, &SeededRandom::new(seed)), &charge, now).await.expect("publishes");
            }
            connection.commit().await.expect("commits");
            assert_eq!(due_lanes(db, now).await.expect("looks"), ["charge:pm_1", "charge:pm_2", "realtime"]);
            assert_eq!(relay(db, now, 20).await.len(), 20);
            let mut connection = db.begin().await.expect("begins");
            assert_eq!(claim_for_relay(&mut connection, "charge:pm_1", now, LEASE, 20).await.expect("claims").len(), 1);
            connection.commit().await.expect("commits");
            assert_eq!(due_lanes(db, now).await.expect("looks"), ["charge:pm_2", "realtime"]);
        }

        async fn a_late_delivery_of_an_earlier_attempt_claims_nothing(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 1, now).await;
            let pushed = relay(db, now, 1).await.remove(0);
            let held = take(db, &pushed, "worker:a", now).await.expect("takes");
            assert!(fail(db, &held, "no luck", Some(now), now).await.expect("records"));
            assert!(take(db, &pushed, "worker:b", now).await.is_none());
            let again = relay(db, now, 1).await.remove(0);
            assert_eq!((again.id.clone(), again.attempts), (pushed.id, 1));
            assert!(take(db, &again, "worker:b", now).await.is_some());
        }

        async fn a_worker_that_lost_its_lease_cannot_extend_finish_or_fail_the_job(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 1, now).await;
            let pushed = relay(db, now, 1).await.remove(0);
            let late = take(db, &pushed, "worker:late", now).await.expect("takes");
            let later = now.plus(LEASE);
            let again = relay(db, later, 1).await.remove(0);
            let held = take(db, &again, "worker:new", later).await.expect("takes");
            assert!(!extend(db, &late, later.plus(LEASE)).await.expect("queries"));
            assert!(!finish(db, &late).await.expect("queries"));
            assert!(!fail(db, &late, "late", None, later).await.expect("queries"));
            assert!(finish(db, &held).await.expect("finishes"));
            assert!(due_lanes(db, later.plus(LEASE)).await.expect("looks").is_empty());
        }

        async fn leases_and_retries_of_a_wrong_clock_end_soon_and_scheduled_messages_keep_their_time(db: &TestDatabase) {
            let day = Duration::from_secs(86_400);
            let (now, wrong) = (FixedClock::default().now(), FixedClock::default().now().plus(day * 3_650));
            publish(db, 3, now).await;
            let mut connection = db.begin().await.expect("begins");
            for (seed, run_at, published_at) in [(10, wrong, wrong), (11, now.plus(day * 9), now), (12, wrong.plus(day), wrong)] {
                let id = EventId::new(published_at, &SeededRandom::new(seed));
                SqlOutbox(&mut connection).publish(&id, &Message::new(Topic::Realtime, run_at), published_at).await.expect("publishes");
            }
            connection.commit().await.expect("commits");
            // One is in the queue, one is retried, and one waits.
            let mut pushed = relay(db, wrong.minus(day), 3).await;
            let held = take(db, &pushed.remove(0), "worker:a", wrong.minus(day)).await.expect("takes");
            assert!(fail(db, &held, "no luck", Some(wrong), wrong).await.expect("records"));
            let later = now.plus(Duration::from_secs(120));
            assert_eq!(relay(db, later, 9).await.len(), 0, "they sleep for years");
            let mut connection = db.begin().await.expect("begins");
            SqlClockStates(&mut connection).pull_forward(now).await.expect("writes");
            connection.commit().await.expect("commits");
            assert_eq!(relay(db, now, 9).await.len(), 2, "the retry, and what the clock published to be delivered at once");
            assert_eq!(relay(db, later, 9).await.len(), 4, "and those whose leases have ended");
            assert_eq!(relay(db, now.plus(day * 9), 9).await.len(), 5, "and what was scheduled");
        }

        async fn a_last_attempt_that_never_ended_becomes_a_dead_letter_when_its_lease_expires(db: &TestDatabase) {
            let now = FixedClock::default().now();
            publish(db, 1, now).await;
            let mut connection = db.begin().await.expect("begins");
            connection.query("UPDATE outbox SET max_attempts = 1").execute().await.expect("limits");
            connection.commit().await.expect("commits");
            let pushed = relay(db, now, 1).await.remove(0);
            take(db, &pushed, "worker:a", now).await.expect("takes");
            let mut connection = db.begin().await.expect("begins");
            assert_eq!(dead_letter_expired(&mut connection, now.plus(LEASE).minus(Duration::from_micros(1))).await.expect("looks"), 0);
            assert_eq!(dead_letter_expired(&mut connection, now.plus(LEASE)).await.expect("buries"), 1);
            assert_eq!(SqlOutbox(&mut connection).dead_letters(10).await.expect("lists").len(), 1);
        }
    }
}
