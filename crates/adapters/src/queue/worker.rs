//! Handles one delivery: claims its row, runs the handler and records the outcome.

use super::Work;
use super::leases::{self, LeasedJob, Pushed};
use futures_util::FutureExt;
use souk_domain::events::{Job, JobError, MAX_ATTEMPTS, Topic};
use souk_domain::shared::StorageError;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Runs each delivery in its own task, so that a restart of the apalis worker does not interrupt it.
#[derive(Clone)]
pub struct JobRunner {
    work: Work,
    running: TaskTracker,
    abandoned: CancellationToken,
}

impl JobRunner {
    pub fn new(work: Work) -> Self {
        Self { work, running: TaskTracker::new(), abandoned: CancellationToken::new() }
    }

    /// Runs a delivery and returns when it has ended, successfully or not.
    pub async fn run(&self, pushed: Pushed) {
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

    /// Waits for running jobs up to the timeout, then drops those that still run.
    pub async fn finish(&self, shutdown_timeout: Duration) {
        self.running.close();
        if tokio::time::timeout(shutdown_timeout, self.running.wait()).await.is_err() {
            tracing::warn!(jobs = self.running.len(), "jobs are still running; another process will repeat them");
            self.abandoned.cancel();
            self.running.wait().await;
        }
    }
}

/// Claims a delivery's row, runs its job and records the outcome. Returns false if the row could not be claimed, because the delivery is
/// a duplicate or out of date, or if another process has to run the job.
pub async fn attempt(work: &Work, pushed: &Pushed) -> Result<bool, StorageError> {
    // The relay of a process that knows the time has pushed it. It is pushed again when the relay's claim ends.
    if !work.trust.knows_time() && leases::depends_on_time(&work.database, pushed).await? {
        return Ok(false);
    }
    let name = format!("worker:{:032x}", u128::from_le_bytes(work.random.bytes()));
    let claimed = leases::claim_for_work(&work.database, pushed, name, work.clock.now(), work.config.lease).await?;
    let Some(job) = claimed else { return Ok(false) };
    let outcome = tokio::select! {
        outcome = run_handler(work, &job) => outcome,
        () = hold_lease(work, &job) => {
            tracing::warn!(event = %job.id, "the lease of a running job was lost; the job was stopped");
            return Ok(true);
        }
    };
    record(work, &job, outcome).await?;
    Ok(true)
}

async fn run_handler(work: &Work, job: &LeasedJob) -> Result<(), JobError> {
    let Some(topic) = Topic::from_name(&job.topic) else {
        return Err(JobError::Fail(format!("no consumer knows the topic {}", job.topic)));
    };
    let message = Job { id: job.id.clone(), topic, payload: job.payload.clone(), attempt: job.attempts };
    let ran = AssertUnwindSafe(work.handler.handle(message)).catch_unwind().await;
    ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(JobError::Retry(format!("the consumer panicked: {}", text.unwrap_or("without a message"))))
    })
}

/// Extends the lease periodically. Returns once another holder has the row. Retries if the database cannot be reached.
async fn hold_lease(work: &Work, job: &LeasedJob) {
    loop {
        tokio::time::sleep(work.config.heartbeat).await;
        match leases::extend(&work.database, job, work.clock.now().plus(work.config.lease)).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, event = %job.id, "a lease could not be extended"),
        }
    }
}

async fn record(work: &Work, job: &LeasedJob, outcome: Result<(), JobError>) -> Result<(), StorageError> {
    let now = work.clock.now();
    let (message, again_at) = match outcome {
        Ok(()) => {
            tracing::debug!(event = %job.id, topic = job.topic, "a job is done");
            return leases::finish(&work.database, job).await.map(|_| ());
        }
        Err(JobError::Later(until)) => return leases::reschedule(&work.database, job, until).await.map(|_| ()),
        Err(JobError::Retry(message)) => {
            // A dead letter that was retried starts over with the first delay: each retry raised `max_attempts`.
            let attempt = job.attempts.saturating_sub(job.max_attempts.saturating_sub(MAX_ATTEMPTS));
            (message, (job.attempts < job.max_attempts).then(|| now.plus(work.config.backoff.after(attempt))))
        }
        Err(JobError::Fail(message)) => (message, None),
    };
    if again_at.is_none() {
        tracing::error!(event = %job.id, topic = job.topic, attempts = job.attempts, error = message, "a job has become a dead letter");
    }
    leases::fail(&work.database, job, &message, again_at, now).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_one;
    use crate::persistence::{Database, SqlOutbox};
    use crate::queue::QueueConfig;
    use crate::queue::leases::claim_for_relay;
    use crate::testing::{FixedClock, SeededRandom};
    use async_trait::async_trait;
    use souk_domain::events::{Handler, Message, Outbox};
    use souk_domain::operation::ClockTrust;
    use souk_domain::shared::{Clock, EventId};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Done;

    #[async_trait]
    impl Handler for Done {
        async fn handle(&self, _: Job) -> Result<(), JobError> {
            Ok(())
        }
    }

    /// Whether the process knows the time.
    #[derive(Default)]
    struct Knowledge(AtomicBool);

    impl ClockTrust for Knowledge {
        fn is_trusted(&self) -> bool {
            false
        }

        fn knows_time(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
    }

    on_one! {
        async fn a_reminder_is_left_to_a_process_that_knows_the_time(db: &TestDatabase) {
            let (clock, random, knowledge) = (Arc::new(FixedClock::default()), Arc::new(SeededRandom::new(1)), Arc::new(Knowledge::default()));
            let config = QueueConfig::default();
            let trust = Arc::clone(&knowledge) as Arc<dyn ClockTrust>;
            let (database, handler) = (Database::clone(db), Arc::new(Done));
            let work = Work { database, handler, clock: clock.clone(), trust, random: random.clone(), config };
            let mut connection = db.begin().await.expect("begins");
            let mut pushed = Vec::new();
            for topic in [Topic::Realtime, Topic::ReminderMail] {
                let id = EventId::new(clock.now(), random.as_ref());
                SqlOutbox(&mut connection).publish(&id, &Message::new(topic, clock.now()), clock.now()).await.expect("publishes");
                pushed.extend(claim_for_relay(&mut connection, topic.name(), clock.now(), work.config.lease, 9).await.expect("claims"));
            }
            connection.commit().await.expect("commits");
            assert_eq!(pushed.len(), 2, "another process knows the time, and has pushed both");
            assert!(attempt(&work, &pushed[0]).await.expect("runs"));
            assert!(!attempt(&work, &pushed[1]).await.expect("looks"));
            knowledge.0.store(true, Ordering::SeqCst);
            assert!(attempt(&work, &pushed[1]).await.expect("runs"), "it was not consumed");
        }
    }
}
