//! One delivery, from the claim to the outcome.

use super::Work;
use super::leases::{self, LeasedJob, Pushed};
use futures_util::FutureExt;
use souk_domain::events::{Job, JobError, MAX_ATTEMPTS, Topic};
use souk_domain::shared::StorageError;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Carries out deliveries in tasks of their own, so that a restart of the queue's worker interrupts none.
#[derive(Clone)]
pub struct Performer {
    work: Work,
    running: TaskTracker,
    abandoned: CancellationToken,
}

impl Performer {
    pub fn new(work: Work) -> Self {
        Self { work, running: TaskTracker::new(), abandoned: CancellationToken::new() }
    }

    /// Carries out a delivery; returns when it has ended, well or not.
    pub async fn perform(&self, pushed: Pushed) {
        let this = self.clone();
        let task = self.running.spawn(async move {
            tokio::select! {
                () = this.abandoned.cancelled() => {}
                outcome = attempt(&this.work, &pushed) => {
                    if let Err(error) = outcome {
                        tracing::warn!(%error, event = %pushed.id, "a delivery could not be claimed or recorded; it will be delivered again");
                    }
                }
            }
        });
        if let Err(error) = task.await {
            tracing::error!(%error, "a job panicked");
        }
    }

    /// Waits for what runs, then drops what still does.
    pub async fn finish(&self, patience: Duration) {
        self.running.close();
        if tokio::time::timeout(patience, self.running.wait()).await.is_err() {
            tracing::warn!(jobs = self.running.len(), "jobs are still running; another process will repeat them");
            self.abandoned.cancel();
            self.running.wait().await;
        }
    }
}

/// Claims, runs, records. True when the delivery was ours to carry out.
pub async fn attempt(work: &Work, pushed: &Pushed) -> Result<bool, StorageError> {
    let name = format!("worker:{:032x}", u128::from_le_bytes(work.random.bytes()));
    let claimed = leases::claim_for_work(&work.database, pushed, name, work.clock.now(), work.config.lease).await?;
    let Some(held) = claimed else { return Ok(false) };
    let outcome = tokio::select! {
        outcome = carry_out(work, &held) => outcome,
        () = keep(work, &held) => {
            tracing::warn!(event = %held.id, "the lease of a running job was lost; the job was stopped");
            return Ok(true);
        }
    };
    record(work, &held, outcome).await?;
    Ok(true)
}

async fn carry_out(work: &Work, held: &LeasedJob) -> Result<(), JobError> {
    let Some(topic) = Topic::from_name(&held.topic) else {
        return Err(JobError::Fail(format!("no consumer knows the topic {}", held.topic)));
    };
    let job = Job { id: held.id.clone(), topic, payload: held.payload.clone(), attempt: held.attempts };
    let ran = AssertUnwindSafe(work.handler.handle(job)).catch_unwind().await;
    ran.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(JobError::Retry(format!("the consumer panicked: {}", said.unwrap_or("without a message"))))
    })
}

/// Extends the lease until the row is somebody else's. A database that cannot be reached is asked again.
async fn keep(work: &Work, held: &LeasedJob) {
    loop {
        tokio::time::sleep(work.config.heartbeat).await;
        match leases::extend(&work.database, held, work.clock.now().plus(work.config.lease)).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, event = %held.id, "a lease could not be extended"),
        }
    }
}

async fn record(work: &Work, held: &LeasedJob, outcome: Result<(), JobError>) -> Result<(), StorageError> {
    let now = work.clock.now();
    let (message, again_at) = match outcome {
        Ok(()) => {
            tracing::debug!(event = %held.id, topic = held.topic, "a job is done");
            return leases::finish(&work.database, held).await.map(|_| ());
        }
        Err(JobError::Retry(message)) => {
            // Counted from its revival, if it had one.
            let attempt = held.attempts.saturating_sub(held.max_attempts.saturating_sub(MAX_ATTEMPTS));
            (message, (held.attempts < held.max_attempts).then(|| now.plus(work.config.backoff.after(attempt))))
        }
        Err(JobError::Fail(message)) => (message, None),
    };
    if again_at.is_none() {
        tracing::error!(event = %held.id, topic = held.topic, attempts = held.attempts, error = message, "a job has become a dead letter");
    }
    leases::fail(&work.database, held, &message, again_at, now).await.map(|_| ())
}
