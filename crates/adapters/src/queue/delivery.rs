//! apalis, guarded. This is the only module that knows what apalis 1.0 does wrong:
//!
//! | defect | cure here |
//! |---|---|
//! | buffered tasks stop the heartbeats, and run twice | `batch_size(1)` |
//! | stock polling stalls until the next heartbeat | [`Ticks`], a poll strategy of our own |
//! | a worker's name is refused after a quick restart | a new random name per start |
//! | orphans are found after 60 or 300 s | heartbeats that are 5 s apart, three missed |
//! | any error of the backend ends the worker; restarts do not pause | restarted here with a growing pause |
//! | Redis: keys that tell duplicates are not kept at all | `idempotency_ttl` |
//! | Redis: about 8,000 due deliveries stop the queue for good | the relay's limit; nothing is delayed in the queue |
//! | retries without back-off, limits ignored | a delivery always ends well; attempts are counted in the outbox |
//! | SQLite: set-up turns `synchronous` off and claims sqlx's migration table | a file of its own, migrations alone, another table |
//! | finished deliveries stay for ever | deleted once per lease |

use super::leases::Pushed;
use super::worker::Performer;
use super::{QueueConfig, Work};
use apalis::prelude::*;
use apalis_core::backend::Vacuum;
use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use apalis_redis::{ConnectionManager, RedisStorage};
use apalis_sqlite::SqliteStorage;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use redis::aio::ConnectionManagerConfig;
use serde::{Deserialize, Serialize};
use souk_domain::shared::{EventId, StorageError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// apalis counts in whole seconds.
const SECOND: Duration = Duration::from_secs(1);
const MISSED_HEARTBEATS: usize = 3;
/// How long Redis may take to answer.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the queue may take to note the jobs that ended with the shutdown.
const ACKNOWLEDGING: Duration = Duration::from_millis(500);
/// The longest pause before a worker that failed is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where deliveries wait: on a file beside SQLite, or on a Redis that several processes share.
#[derive(Debug, Clone)]
pub enum QueueBackend {
    Sqlite(PathBuf),
    Redis(String),
}

/// Why the queue did not take or answer something.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("the queue's file failed: {0}")]
    Sqlite(#[from] sqlx::Error),
    #[error("the queue's file could not be prepared: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("Redis failed: {0}")]
    Redis(#[from] redis::RedisError),
    #[error("the queue refused a delivery: {0}")]
    Push(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// What goes through the queue: an id, and the attempts the row had.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Delivery {
    event: String,
    attempts: u32,
}

#[derive(Clone)]
enum Storage {
    Sqlite(SqliteStorage<Delivery>),
    Redis(RedisStorage<Delivery>),
}

/// An open queue. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    storage: Storage,
    /// Rung when this process pushed.
    pushed: Arc<Notify>,
}

impl Queue {
    pub async fn open(backend: &QueueBackend, config: &QueueConfig) -> Result<Self, QueueError> {
        let heartbeat = config.heartbeat.max(SECOND);
        let storage = match backend {
            QueueBackend::Sqlite(path) => {
                let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).busy_timeout(Duration::from_secs(10));
                // NORMAL: what a power cut takes from this file is pushed again.
                let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
                let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
                let mut migrations = SqliteStorage::<()>::migrations();
                migrations.dangerous_set_table_name("_apalis_migrations");
                migrations.run(&pool).await?;
                let settings = apalis_sqlite::Config::default().queue(&config.name).batch_size(1);
                let settings = settings.heartbeat_interval(heartbeat).missed_heartbeats(MISSED_HEARTBEATS);
                Storage::Sqlite(SqliteStorage::new(&pool).with_config(settings))
            }
            QueueBackend::Redis(address) => {
                let limits = ConnectionManagerConfig::new()
                    .set_response_timeout(Some(REDIS_TIMEOUT))
                    .set_connection_timeout(Some(REDIS_TIMEOUT))
                    .set_number_of_retries(1);
                let connection = ConnectionManager::new_with_config(redis::Client::open(address.as_str())?, limits).await?;
                let settings = apalis_redis::Config::default().queue(&config.name).batch_size(1).emit_events(false);
                let settings = settings.heartbeat_interval(heartbeat).missed_heartbeats(MISSED_HEARTBEATS);
                // Forgotten before the lease runs out, or the next push of a lost delivery would be taken for a double.
                let keep_keys = config.lease.saturating_sub(SECOND).max(SECOND);
                Storage::Redis(RedisStorage::new(connection).with_config(settings.idempotency_ttl(Some(keep_keys))))
            }
        };
        Ok(Self { storage, pushed: Arc::default() })
    }

    /// Answers when the queue can be reached; for readiness.
    pub async fn ping(&self) -> Result<(), QueueError> {
        match &self.storage {
            Storage::Sqlite(storage) => sqlx::query("SELECT 1").execute(storage.pool()).await.map(|_| ())?,
            Storage::Redis(storage) => {
                let mut connection = storage.clone().get_connection().clone();
                redis::cmd("PING").query_async::<String>(&mut connection).await.map(|_| ())?;
            }
        }
        Ok(())
    }

    pub(super) async fn push(&self, pushed: &[Pushed]) -> Result<(), QueueError> {
        if pushed.is_empty() {
            return Ok(());
        }
        let deliveries = pushed.iter().map(|pushed| {
            let delivery = Delivery { event: pushed.id.to_string(), attempts: pushed.attempts };
            TaskBuilder::new(delivery).idempotency_key(format!("{}:{}", pushed.id, pushed.attempts)).build()
        });
        let mut deliveries = stream::iter(deliveries.collect::<Vec<_>>());
        match self.storage.clone() {
            Storage::Sqlite(mut storage) => storage.push_all(&mut deliveries).await.map_err(|error| QueueError::Push(error.to_string()))?,
            Storage::Redis(mut storage) => storage.push_all(&mut deliveries).await.map_err(|error| QueueError::Push(error.to_string()))?,
        }
        self.pushed.notify_one();
        Ok(())
    }

    /// Deletes what was delivered, and workers that are long gone.
    async fn clean(&self, config: &QueueConfig) -> Result<(), QueueError> {
        match self.storage.clone() {
            Storage::Sqlite(storage) => {
                // Whatever is older than some leases is stuck; its row has been pushed again, or is in work.
                let old = i64::try_from(config.lease.as_secs().max(1).saturating_mul(10)).unwrap_or(i64::MAX);
                let delete = "DELETE FROM Jobs WHERE status IN ('Done', 'Failed', 'Killed') OR run_at < unixepoch() - $1";
                sqlx::query(delete).bind(old).execute(storage.pool()).await?;
                let delete = "DELETE FROM Workers WHERE last_seen < unixepoch() - 3600
                              AND id NOT IN (SELECT lock_by FROM Jobs WHERE lock_by IS NOT NULL)";
                sqlx::query(delete).execute(storage.pool()).await?;
            }
            Storage::Redis(mut storage) => {
                let done = storage.get_config().done_jobs_set();
                storage.vacuum().await.map_err(|error| QueueError::Push(error.to_string()))?;
                let mut connection = storage.get_connection().clone();
                redis::cmd("DEL").arg(done).query_async::<u32>(&mut connection).await?;
            }
        }
        Ok(())
    }
}

/// One life of an apalis worker. A macro, because the two backends have no type in common that can be named shortly.
macro_rules! run_worker {
    ($backend:expr, $name:expr, $work:expr, $performer:expr, $shutdown:expr) => {{
        let context = WorkerContext::new(&$name);
        let performer = $performer.clone();
        let worker =
            WorkerBuilder::new(context.clone()).backend($backend).concurrency($work.config.concurrency).build(move |delivery: Delivery| {
                let performer = performer.clone();
                async move { deliver(&performer, delivery).await }
            });
        let mut running = Box::pin(worker.run());
        tokio::select! {
            ended = &mut running => ended,
            () = $shutdown.cancelled() => {
                if let Err(error) = context.stop() {
                    tracing::debug!(%error, "the queue's worker had not begun");
                }
                tokio::time::timeout($work.config.patience + ACKNOWLEDGING, running).await.unwrap_or(Ok(()))
            }
        }
    }};
}
/// Works until `shutdown`: one apalis worker at a time, started anew whenever it fails, and the cleaning beside it.
pub async fn run(queue: &Queue, work: &Work, performer: &Performer, shutdown: &CancellationToken) {
    let supervised = async {
        let mut failures = 0u32;
        while !shutdown.is_cancelled() {
            let name = format!("{}:{:032x}", work.config.name, u128::from_le_bytes(work.random.bytes()));
            let started = tokio::time::Instant::now();
            let ended = match queue.storage.clone() {
                Storage::Sqlite(storage) => {
                    let backend = storage.poll_with_strategy(Ticks::new(work.config.delivery_poll, Arc::clone(&queue.pushed)));
                    run_worker!(backend, name, work, performer, shutdown)
                }
                Storage::Redis(storage) => {
                    let backend = storage.poll_with_strategy(Ticks::new(work.config.delivery_poll, Arc::clone(&queue.pushed)));
                    run_worker!(backend, name, work, performer, shutdown)
                }
            };
            if shutdown.is_cancelled() {
                return;
            }
            // A worker that lived for a while failed for another reason than the one before it.
            failures = if started.elapsed() > LONGEST_PAUSE { 1 } else { failures.saturating_add(1) };
            let pause = Duration::from_millis(100).saturating_mul(2u32.saturating_pow(failures)).min(LONGEST_PAUSE);
            tracing::warn!(ended = ?ended.err().map(|error| error.to_string()), ?pause, "the queue's worker stopped; it restarts");
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    };
    let cleaning = async {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(work.config.lease) => {}
            }
            if let Err(error) = queue.clean(&work.config).await {
                tracing::warn!(%error, "finished deliveries could not be deleted");
            }
        }
    };
    tokio::join!(supervised, cleaning);
}

/// Always ends well for apalis: what happened to the job is in the outbox.
async fn deliver(performer: &Performer, delivery: Delivery) {
    match EventId::parse(&delivery.event) {
        Ok(id) => performer.perform(Pushed { id, attempts: delivery.attempts }).await,
        Err(error) => tracing::error!(%error, "a delivery names no event"),
    }
}

/// Wakes the worker each `period`, and at once when this process pushed.
struct Ticks(BoxStream<'static, ()>);

impl Ticks {
    fn new(period: Duration, pushed: Arc<Notify>) -> Self {
        let ticks = stream::unfold(pushed, move |pushed| async move {
            // Whichever comes first.
            let _ = tokio::time::timeout(period, pushed.notified()).await;
            Some(((), pushed))
        });
        Self(ticks.boxed())
    }
}

impl PollStrategy for Ticks {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        // Until it is pending: only then is the worker's waker registered for the next tick.
        while self.0.poll_next_unpin(cx).is_ready() {}
        Poll::Ready(Some(()))
    }
}
