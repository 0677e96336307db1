//! Pushes due outbox rows to the queue.

use super::leases::{claim_for_relay, dead_letter_expired, due_lanes};
use super::{Queue, QueueError, Work};
use souk_domain::events::Topic;
use souk_domain::shared::{StorageError, Timestamp};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most rows of a lane in the queue at once. apalis on Redis stalls permanently at about 8,000 due deliveries.
const IN_QUEUE_MAX: u32 = 1_000;
/// The longest delay after a failure, in seconds.
const LONGEST_DELAY: u64 = 30;

/// Pushes due rows after every commit of this process that wrote to the outbox, and at least every `relay_poll`.
pub async fn run(queue: &Queue, work: &Work, shutdown: &CancellationToken) {
    let mut failures = 0u32;
    loop {
        let pause = if failures == 0 { work.config.relay_poll } else { pause_after(failures) };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = work.database.published(), if failures == 0 => {}
            () = tokio::time::sleep(pause) => {}
        }
        match push_due(queue, work).await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures = failures.saturating_add(1);
                tracing::warn!(%error, failures, "the relay could not push messages; it will try again");
            }
        }
    }
}

fn pause_after(failures: u32) -> Duration {
    Duration::from_secs(2u64.saturating_pow(failures.saturating_sub(1)).min(LONGEST_DELAY))
}

/// The lanes with rows to deliver now. Rows that depend on the time wait unchanged while the process does not know it.
pub(super) async fn open_lanes(work: &Work, now: Timestamp) -> Result<Vec<String>, StorageError> {
    let mut lanes = due_lanes(&work.database, now).await?;
    if !work.trust.knows_time() {
        lanes.retain(|lane| !Topic::from_name(lane).is_some_and(Topic::depends_on_time));
    }
    Ok(lanes)
}

async fn push_due(queue: &Queue, work: &Work) -> Result<(), QueueError> {
    let now = work.clock.now();
    let lanes = open_lanes(work, now).await?;
    if lanes.is_empty() {
        return Ok(());
    }
    let mut connection = work.database.begin_relaxed().await?;
    let expired = dead_letter_expired(&mut connection, now).await?;
    let mut pushed = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let claimed = claim_for_relay(&mut connection, &lane, now, work.config.lease, IN_QUEUE_MAX).await?;
        pushed.push((lane, claimed));
    }
    connection.commit().await?;
    if expired > 0 {
        tracing::error!(expired, "jobs whose last attempt never ended became dead letters");
    }
    // Commit the claims before the push. A claim without a push expires and is repeated, but a push without a claim could run twice.
    let mut outcome = Ok(());
    for (lane, claimed) in &pushed {
        outcome = queue.push(lane, claimed).await.and(outcome);
    }
    outcome
}
