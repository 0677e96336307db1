//! Delivers messages from the outbox to their handlers.
//!
//! The outbox row is authoritative: it says when it is due, how often it was tried and who holds its lease. The queue (apalis, see
//! `delivery`) only delivers the row's id, so a lost, duplicate or late delivery is harmless:
//!
//! 1. The relay claims due rows for the length of a lease and pushes `{event id}:{attempts so far}` to the queue. If no worker claims
//!    a row before the lease expires, the row is due again and pushed again.
//! 2. A worker that receives a delivery claims the row by a compare-and-set on its attempt counter. This counts the attempt before any
//!    work is done, so that a job that kills its process stops at its limit. The lease is extended while the handler runs.
//! 3. On success, the row is deleted. On failure, the row gets the time of its next attempt or becomes a dead letter.
//!
//! Each lane has its own limit of rows in the queue and its own workers, so a lane whose consumer hangs delays no other.

mod delivery;
mod drain;
mod leases;
mod relay;
mod worker;

pub use delivery::{Queue, QueueBackend, QueueError};
pub use drain::drain;

use crate::persistence::Database;
use souk_domain::events::Handler;
use souk_domain::operation::ClockTrust;
use souk_domain::shared::{Clock, Random};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use worker::JobRunner;

/// Intervals and limits of the queue. Tests shorten them.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// The queue's name. Stores that share a Redis server need different names.
    pub name: String,
    /// How long a claim on a row lasts. Must be longer than two heartbeats.
    pub lease: Duration,
    /// How often a running job extends its lease, and how often a worker reports to apalis that it is alive (at least 1 s there).
    pub heartbeat: Duration,
    /// How often the relay looks for due rows if no commit wakes it.
    pub relay_poll: Duration,
    /// How often a worker looks for deliveries if no push wakes it.
    pub delivery_poll: Duration,
    /// The number of jobs of each lane that run concurrently in this process.
    pub concurrency: usize,
    /// How long running jobs may continue after shutdown begins.
    pub shutdown_timeout: Duration,
    pub backoff: Backoff,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            name: "souk".to_owned(),
            lease: Duration::from_secs(20),
            heartbeat: Duration::from_secs(5),
            relay_poll: Duration::from_secs(1),
            delivery_poll: Duration::from_millis(250),
            concurrency: 8,
            shutdown_timeout: Duration::from_secs(8),
            backoff: Backoff { first: Duration::from_secs(5), cap: Duration::from_secs(3_600) },
        }
    }
}

/// The delay after a failed attempt: `first`, doubled with each further attempt, at most `cap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub cap: Duration,
}

impl Backoff {
    /// Returns the delay after attempt number `attempt`, counted from 1.
    #[must_use]
    pub fn after(self, attempt: u32) -> Duration {
        let factor = 2u32.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.cap)
    }
}

/// The dependencies of the relay and the workers.
#[derive(Clone)]
pub struct Work {
    pub database: Database,
    pub handler: Arc<dyn Handler>,
    pub clock: Arc<dyn Clock>,
    /// Whether messages may be sent because a time has come.
    pub trust: Arc<dyn ClockTrust>,
    pub random: Arc<dyn Random>,
    pub config: QueueConfig,
}

/// Runs the relay and the workers until `shutdown`, then waits up to the shutdown timeout for running jobs. Jobs that are still running
/// then are dropped; another process repeats them when their leases expire.
pub async fn run(queue: Queue, work: Work, shutdown: CancellationToken) {
    let runner = JobRunner::new(work.clone());
    let relay = relay::run(&queue, &work, &shutdown);
    let workers = delivery::run(&queue, &work, &runner, &shutdown);
    let finishing = async {
        shutdown.cancelled().await;
        runner.finish(work.config.shutdown_timeout).await;
    };
    tokio::join!(relay, workers, finishing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_its_cap() {
        let backoff = QueueConfig::default().backoff;
        let waits: Vec<u64> = [1, 2, 3, 10, 11, 40, u32::MAX].iter().map(|attempt| backoff.after(*attempt).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 2_560, 3_600, 3_600, 3_600]);
    }
}
