//! Wraps apalis. This is the only module that knows the defects of apalis 1.0:
//!
//! | defect | workaround |
//! |---|---|
//! | buffered tasks stop the heartbeats and run twice | `batch_size(1)` |
//! | the default polling stalls until the next heartbeat | [`PollTicks`], our own poll strategy |
//! | a worker's name is rejected after a quick restart | a new random name per start |
//! | orphaned tasks are found only after 60 or 300 s | heartbeats every 5 s; a worker counts as dead after three missed ones |
//! | any backend error ends the worker; restarts have no delay | this module restarts the worker with a growing delay |
//! | Redis: idempotency keys are not stored by default | `idempotency_ttl` |
//! | Redis: about 8,000 due deliveries stop the queue permanently | the relay's limit; no delivery is delayed in the queue |
//! | retries have no back-off and ignore limits | a delivery always succeeds for apalis; attempts are counted in the outbox |
//! | SQLite: the set-up turns `synchronous` off and uses sqlx's migration table | a separate file, migrations only, a separate table |
//! | finished deliveries are never deleted | this module deletes them once per lease |
//!
//! Each lane ([`souk_domain::events::Message::lane`]) is a queue of its own in apalis, with its own worker. A lane is opened by its first
//! push.

use super::leases::Pushed;
use super::worker::JobRunner;
use super::{QueueConfig, Work};
use apalis::prelude::*;
use apalis_core::backend::Vacuum;
use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use apalis_redis::{ConnectionManager, RedisStorage};
use apalis_sqlite::SqliteStorage;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, FuturesUnordered};
use redis::aio::ConnectionManagerConfig;
use serde::{Deserialize, Serialize};
use souk_domain::shared::{EventId, StorageError};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// apalis measures its intervals in whole seconds.
const SECOND: Duration = Duration::from_secs(1);
const MISSED_HEARTBEATS: usize = 3;
/// How long Redis may take to answer.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the queue may take to record the jobs that end during shutdown.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest delay before a failed worker is restarted.
const RESTART_DELAY_MAX: Duration = Duration::from_secs(30);

/// Where deliveries are stored: in a separate SQLite file, or on a Redis server that several processes share.
#[derive(Debug, Clone)]
pub enum QueueBackend {
    Sqlite(PathBuf),
    Redis(String),
}

/// Errors of the queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("the queue's file failed: {0}")]
    Sqlite(#[from] sqlx::Error),
    #[error("the queue's file could not be prepared: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("Redis failed: {0}")]
    Redis(#[from] redis::RedisError),
    #[error("the queue rejected a delivery: {0}")]
    Push(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The content of a delivery: the event's id and the row's attempt count when it was pushed.
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

#[derive(Clone)]
enum Server {
    Sqlite(SqlitePool),
    Redis(ConnectionManager),
}

/// A queue of apalis.
#[derive(Clone)]
struct Lane {
    name: String,
    storage: Storage,
    /// Notified after each push of this process.
    pushed: Arc<Notify>,
}

/// An open queue. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    server: Server,
    config: QueueConfig,
    lanes: Arc<Mutex<BTreeMap<String, Lane>>>,
    /// Notified when a lane is opened.
    opened: Arc<Notify>,
}

impl Queue {
    pub async fn open(backend: &QueueBackend, config: &QueueConfig) -> Result<Self, QueueError> {
        let server = match backend {
            QueueBackend::Sqlite(path) => {
                let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).busy_timeout(Duration::from_secs(10));
                // NORMAL suffices: the relay pushes deliveries again that a power failure removes from this file.
                let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
                // A connection whose transaction SQLite rolled back (for example, when the disk was full) could begin no other one.
                let has_ended = |connection: &SqliteConnection| !connection.is_in_transaction();
                let pool = SqlitePoolOptions::new().max_connections(1);
                let pool = pool.before_acquire(move |connection, _| Box::pin(async move { Ok(has_ended(connection)) }));
                let pool = pool.connect_with(options).await?;
                let mut migrations = SqliteStorage::<()>::migrations();
                migrations.dangerous_set_table_name("_apalis_migrations");
                migrations.run(&pool).await?;
                Server::Sqlite(pool)
            }
            QueueBackend::Redis(address) => {
                let limits = ConnectionManagerConfig::new()
                    .set_response_timeout(Some(REDIS_TIMEOUT))
                    .set_connection_timeout(Some(REDIS_TIMEOUT))
                    .set_number_of_retries(1);
                Server::Redis(ConnectionManager::new_with_config(redis::Client::open(address.as_str())?, limits).await?)
            }
        };
        Ok(Self { server, config: config.clone(), lanes: Arc::default(), opened: Arc::default() })
    }

    /// Checks that the queue can be reached, for readiness.
    pub async fn ping(&self) -> Result<(), QueueError> {
        match &self.server {
            Server::Sqlite(pool) => sqlx::query("SELECT 1").execute(pool).await.map(|_| ())?,
            Server::Redis(connection) => redis::cmd("PING").query_async::<String>(&mut connection.clone()).await.map(|_| ())?,
        }
        Ok(())
    }

    fn lanes(&self) -> Vec<Lane> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn lane(&self, name: &str) -> Lane {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(name) {
            return lane.clone();
        }
        let lane = Lane { name: name.to_owned(), storage: self.storage(name), pushed: Arc::default() };
        lanes.insert(name.to_owned(), lane.clone());
        self.opened.notify_one();
        lane
    }

    fn storage(&self, lane: &str) -> Storage {
        let (queue, heartbeat) = (format!("{}:{lane}", self.config.name), self.config.heartbeat.max(SECOND));
        match &self.server {
            Server::Sqlite(pool) => {
                let settings = apalis_sqlite::Config::default().queue(&queue).batch_size(1);
                let settings = settings.heartbeat_interval(heartbeat).missed_heartbeats(MISSED_HEARTBEATS);
                Storage::Sqlite(SqliteStorage::new(pool).with_config(settings))
            }
            Server::Redis(connection) => {
                let settings = apalis_redis::Config::default().queue(&queue).batch_size(1).emit_events(false);
                let settings = settings.heartbeat_interval(heartbeat).missed_heartbeats(MISSED_HEARTBEATS);
                // The keys must expire before the lease does; otherwise the next push of a lost delivery would count as a duplicate.
                let key_ttl = self.config.lease.saturating_sub(SECOND).max(SECOND);
                Storage::Redis(RedisStorage::new(connection.clone()).with_config(settings.idempotency_ttl(Some(key_ttl))))
            }
        }
    }

    /// Pushes deliveries to a lane.
    pub(super) async fn push(&self, lane: &str, pushed: &[Pushed]) -> Result<(), QueueError> {
        if pushed.is_empty() {
            return Ok(());
        }
        let deliveries = pushed.iter().map(|pushed| {
            let delivery = Delivery { event: pushed.id.to_string(), attempts: pushed.attempts };
            TaskBuilder::new(delivery).idempotency_key(format!("{}:{}", pushed.id, pushed.attempts)).build()
        });
        let mut deliveries = stream::iter(deliveries.collect::<Vec<_>>());
        let lane = self.lane(lane);
        match lane.storage {
            Storage::Sqlite(mut storage) => storage.push_all(&mut deliveries).await.map_err(|error| QueueError::Push(error.to_string()))?,
            Storage::Redis(mut storage) => storage.push_all(&mut deliveries).await.map_err(|error| QueueError::Push(error.to_string()))?,
        }
        lane.pushed.notify_one();
        Ok(())
    }

    /// Deletes finished deliveries, and the records of workers that stopped more than an hour ago.
    async fn clean(&self) -> Result<(), QueueError> {
        if let Server::Sqlite(pool) = &self.server {
            // A delivery older than ten leases is stuck. Its row has been pushed again or is being handled.
            let old = i64::try_from(self.config.lease.as_secs().max(1).saturating_mul(10)).unwrap_or(i64::MAX);
            let delete = "DELETE FROM Jobs WHERE status IN ('Done', 'Failed', 'Killed') OR run_at < unixepoch() - $1";
            sqlx::query(delete).bind(old).execute(pool).await?;
            let delete = "DELETE FROM Workers WHERE last_seen < unixepoch() - 3600
                          AND id NOT IN (SELECT lock_by FROM Jobs WHERE lock_by IS NOT NULL)";
            sqlx::query(delete).execute(pool).await?;
        }
        for lane in self.lanes() {
            if let Storage::Redis(mut storage) = lane.storage {
                let done = storage.get_config().done_jobs_set();
                storage.vacuum().await.map_err(|error| QueueError::Push(error.to_string()))?;
                let mut connection = storage.get_connection().clone();
                redis::cmd("DEL").arg(done).query_async::<u32>(&mut connection).await?;
            }
        }
        Ok(())
    }
}

/// Runs one apalis worker until it fails or shutdown begins. A macro, because the two backends share no type that is short to name.
macro_rules! run_worker {
    ($backend:expr, $name:expr, $work:expr, $runner:expr, $shutdown:expr) => {{
        let context = WorkerContext::new(&$name);
        let runner = $runner.clone();
        let worker =
            WorkerBuilder::new(context.clone()).backend($backend).concurrency($work.config.concurrency).build(move |delivery: Delivery| {
                let runner = runner.clone();
                async move { deliver(&runner, delivery).await }
            });
        let mut running = Box::pin(worker.run());
        tokio::select! {
            ended = &mut running => ended,
            () = $shutdown.cancelled() => {
                if let Err(error) = context.stop() {
                    tracing::debug!(%error, "the queue's worker had not begun");
                }
                tokio::time::timeout($work.config.shutdown_timeout + ACKNOWLEDGE_TIMEOUT, running).await.unwrap_or(Ok(()))
            }
        }
    }};
}

/// Runs the workers of every lane until `shutdown`, and cleans the queue concurrently.
pub async fn run(queue: &Queue, work: &Work, runner: &JobRunner, shutdown: &CancellationToken) {
    let working = async {
        let (mut known, mut workers) = (BTreeSet::new(), FuturesUnordered::new());
        while !shutdown.is_cancelled() {
            let new = queue.lanes().into_iter().filter(|lane| known.insert(lane.name.clone()));
            workers.extend(new.map(|lane| supervise(lane, work, runner, shutdown)));
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = queue.opened.notified() => {}
                Some(()) = workers.next() => {}
            }
        }
        while workers.next().await.is_some() {}
    };
    let cleaning = async {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(work.config.lease) => {}
            }
            if let Err(error) = queue.clean().await {
                tracing::warn!(%error, "finished deliveries could not be deleted");
            }
        }
    };
    tokio::join!(working, cleaning);
}

/// Runs one apalis worker of a lane at a time until `shutdown`, and restarts it whenever it fails.
async fn supervise(lane: Lane, work: &Work, runner: &JobRunner, shutdown: &CancellationToken) {
    let mut failures = 0u32;
    while !shutdown.is_cancelled() {
        let name = format!("{}:{}:{:032x}", work.config.name, lane.name, u128::from_le_bytes(work.random.bytes()));
        let started = tokio::time::Instant::now();
        let ticks = PollTicks::new(work.config.delivery_poll, Arc::clone(&lane.pushed));
        let ended = match lane.storage.clone() {
            Storage::Sqlite(storage) => run_worker!(storage.poll_with_strategy(ticks), name, work, runner, shutdown),
            Storage::Redis(storage) => run_worker!(storage.poll_with_strategy(ticks), name, work, runner, shutdown),
        };
        if shutdown.is_cancelled() {
            return;
        }
        // If the worker ran for a while, its failure is unrelated to the previous one: reset the back-off.
        failures = if started.elapsed() > RESTART_DELAY_MAX { 1 } else { failures.saturating_add(1) };
        let pause = Duration::from_millis(100).saturating_mul(2u32.saturating_pow(failures)).min(RESTART_DELAY_MAX);
        let ended = ended.err().map(|error| error.to_string());
        tracing::warn!(lane = lane.name, ?ended, ?pause, "a worker of the queue stopped; it restarts");
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Handles a delivery. Always succeeds for apalis, because the outbox records the job's outcome.
async fn deliver(runner: &JobRunner, delivery: Delivery) {
    match EventId::parse(&delivery.event) {
        Ok(id) => runner.run(Pushed { id, attempts: delivery.attempts }).await,
        Err(error) => tracing::error!(%error, "a delivery names no event"),
    }
}

/// Wakes the worker every `period`, and at once after a push of this process.
struct PollTicks(BoxStream<'static, ()>);

impl PollTicks {
    fn new(period: Duration, pushed: Arc<Notify>) -> Self {
        let ticks = stream::unfold(pushed, move |pushed| async move {
            tokio::select! {
                () = pushed.notified() => (),
                () = tokio::time::sleep(period) => (),
            }
            Some(((), pushed))
        });
        Self(ticks.boxed())
    }
}

impl PollStrategy for PollTicks {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        // Poll until the stream is pending: only then is the worker's waker registered for the next tick.
        while self.0.poll_next_unpin(cx).is_ready() {}
        Poll::Ready(Some(()))
    }
}
