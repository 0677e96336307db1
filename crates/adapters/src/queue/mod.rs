//! From the outbox to the handlers.
//!
//! The outbox row is the truth: when it is due, how often it was tried, who holds it. The queue (apalis, see
//! `delivery`) only delivers the row's id. So a delivery may be lost, doubled or late:
//!
//! 1. The relay claims due rows for a lease and pushes `{event id}:{attempts so far}` to the queue. If nobody takes the
//!    row before the lease runs out, it is due again and pushed again.
//! 2. A worker that receives a delivery claims the row by a compare-and-set on the attempts, which counts the attempt
//!    before any work is done: a job that kills its process stops at its limit. While the handler runs, the lease is
//!    extended.
//! 3. Done, the row is deleted; failed, its next time is written, or that it is dead.

mod delivery;
mod drain;
mod leases;
mod relay;
mod worker;

pub use delivery::{Queue, QueueBackend, QueueError};
pub use drain::drain;

use crate::persistence::Database;
use souk_domain::events::Handler;
use souk_domain::shared::{Clock, Random};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use worker::Performer;

/// The queue's times and limits; tests shorten them.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// The queue's name; stores that share a Redis need one each.
    pub name: String,
    /// How long a row belongs to whoever claimed it last. Longer than two heartbeats.
    pub lease: Duration,
    /// How often a running job extends its lease, and a worker tells the queue that it lives (there at least 1 s).
    pub heartbeat: Duration,
    /// How often the relay looks for due rows when nothing wakes it.
    pub relay_poll: Duration,
    /// How often a worker looks for deliveries when nothing wakes it.
    pub delivery_poll: Duration,
    /// Jobs that run at once in this process.
    pub concurrency: usize,
    /// How long jobs in hand may take to finish after the shutdown began.
    pub patience: Duration,
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
            patience: Duration::from_secs(8),
            backoff: Backoff { first: Duration::from_secs(5), cap: Duration::from_secs(3_600) },
        }
    }
}

/// The wait after a failed attempt: `first`, doubled with each further attempt, at most `cap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub cap: Duration,
}

impl Backoff {
    /// The wait after attempt number `attempt`, 1-based.
    #[must_use]
    pub fn after(self, attempt: u32) -> Duration {
        let factor = 2u32.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.cap)
    }
}

/// What jobs are carried out with.
#[derive(Clone)]
pub struct Work {
    pub database: Database,
    pub handler: Arc<dyn Handler>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub config: QueueConfig,
}

/// Relays and works until `shutdown`, then waits for jobs in hand as long as the patience lasts. What is not finished by then is
/// dropped, and repeated by another process when its lease runs out.
pub async fn run(queue: Queue, work: Work, shutdown: CancellationToken) {
    let performer = Performer::new(work.clone());
    let relay = relay::run(&queue, &work, &shutdown);
    let workers = delivery::run(&queue, &work, &performer, &shutdown);
    let finishing = async {
        shutdown.cancelled().await;
        performer.finish(work.config.patience).await;
    };
    tokio::join!(relay, workers, finishing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_cap() {
        let backoff = QueueConfig::default().backoff;
        let waits: Vec<u64> = [1, 2, 3, 10, 11, 40, u32::MAX].iter().map(|attempt| backoff.after(*attempt).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 2_560, 3_600, 3_600, 3_600]);
    }
}
