//! From the outbox into the queue.

use super::leases::{anything_due, claim_for_relay, dead_letter_expired};
use super::{Queue, QueueError, Work};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Rows on their way through the queue at once. apalis on Redis stops for good at about 8,000 due deliveries.
const UNDER_WAY: u32 = 1_000;
/// The longest wait after a failure, seconds.
const LONGEST_DELAY: u64 = 30;

/// Pushes what is due whenever a commit of this process wrote to the outbox, and each `relay_poll`.
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

async fn push_due(queue: &Queue, work: &Work) -> Result<(), QueueError> {
    let now = work.clock.now();
    if !anything_due(&work.database, now).await? {
        return Ok(());
    }
    let mut connection = work.database.begin_relaxed().await?;
    let buried = dead_letter_expired(&mut connection, now).await?;
    let pushed = claim_for_relay(&mut connection, now, work.config.lease, UNDER_WAY).await?;
    connection.commit().await?;
    if buried > 0 {
        tracing::error!(buried, "jobs whose last attempt never ended became dead letters");
    }
    // Committed first: a push without a claim could be taken twice, a claim without a push lapses and comes again.
    queue.push(&pushed).await
}
