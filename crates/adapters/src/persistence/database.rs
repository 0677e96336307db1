//! Opens the payment database: SQLite or PostgreSQL, depending on its address.

use super::connection::{Connection, ConnectionState};
use super::group_commit::GroupCommit;
use souk_domain::shared::StorageError;
use sqlx::pool::CloseEvent;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, Pool, Postgres, Transaction};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Begins a transaction on SQLite whose commit waits for the disk.
pub(super) const DURABLE: &str = "PRAGMA synchronous = FULL; BEGIN IMMEDIATE";
/// How long a statement waits for another process that holds the SQLite file.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay before a retry to open a file that another process has locked.
const OPEN_RETRY_DELAY: Duration = Duration::from_millis(20);
const SQLITE_READERS: u32 = 4;
/// Rows that a connection's thread reads ahead. Large enough for any of our batches, so that the thread does not wait for the consumer.
const SQLITE_ROWS: usize = 512;
/// The number of pages in the write-ahead log from which a commit checkpoints them itself. It is far above what is written within
/// [`CHECKPOINTS`], so that normally only the [`checkpoint`] task does this work.
const LOG_PAGES_MAX: &str = "20000";
/// The page cache of the connection that writes, as SQLite's `cache_size`: a negative number of KiB.
const WRITER_CACHE: &str = "-16384";
/// How often the write-ahead log is checkpointed into the file.
const CHECKPOINTS: Duration = Duration::from_millis(500);
const POSTGRES_CONNECTIONS: u32 = 16;
/// How long `begin` and `read` wait for a free connection before they fail.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one statement may run on PostgreSQL, and wait for a lock, so that a hanging query or a forgotten transaction does not stop the
/// store. Migrations and snapshots of the whole database run without these limits.
const STATEMENT_TIMEOUTS: [(&str, &str); 2] = [("statement_timeout", "30s"), ("lock_timeout", "10s")];
/// Solid-state disks read any page equally fast. With PostgreSQL's default for spinning disks, a table with outdated statistics is sorted as
/// a whole where an index gives the first rows in order.
const DISK_COSTS: [(&str, &str); 1] = [("random_page_cost", "1.1")];
/// Begins a snapshot without the limits of [`STATEMENT_TIMEOUTS`].
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0";
/// The same for a transaction that writes.
const UNLIMITED: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0";
/// A PostgreSQL connection that was idle for at least this long is pinged before use.
const PING_AFTER_IDLE: Duration = Duration::from_secs(1);
/// Prepared statements cached per connection: enough for all that are used often.
const STATEMENT_CACHE: usize = 500;

/// Connections to the payment database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Database {
    pub(super) engine: Engine,
    /// Notified after each commit that wrote to the outbox.
    pub(super) published: Arc<Notify>,
}

#[derive(Debug, Clone)]
pub(super) enum Engine {
    /// One writer, because SQLite allows only one; read-only connections, because WAL lets them run concurrently with it.
    Sqlite {
        writer: SqlitePool,
        reader: SqlitePool,
        /// Commits several units of work together.
        group_commit: Arc<GroupCommit>,
    },
    Postgres(PgPool),
}

/// The use of the connections to the payment database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUse {
    pub connections: u32,
    pub idle: u32,
    /// How often this process has waited because every connection was in use.
    pub waits: u64,
    /// The total time of these waits.
    pub waited: Duration,
}

/// The waits of all pools of this process. Its metrics have one series.
static WAITS: AtomicU64 = AtomicU64::new(0);
static WAITED_MICROS: AtomicU64 = AtomicU64::new(0);

/// Measures the wait for a connection if the pool has none to spare.
async fn measured<T, D: sqlx::Database>(pool: &Pool<D>, connection: impl Future<Output = T>) -> T {
    if pool.num_idle() > 0 || pool.size() < pool.options().get_max_connections() {
        return connection.await;
    }
    let began = Instant::now();
    let connection = connection.await;
    WAITS.fetch_add(1, Ordering::Relaxed);
    WAITED_MICROS.fetch_add(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    connection
}

impl Engine {
    pub(super) async fn begin(&self) -> Result<ConnectionState, StorageError> {
        self.begin_per_engine(DURABLE, "BEGIN").await
    }

    async fn begin_per_engine(&self, sqlite: &'static str, postgres: &'static str) -> Result<ConnectionState, StorageError> {
        Ok(match self {
            Self::Sqlite { writer, .. } => measured(writer, writer.begin_with(sqlite)).await.map_err(storage)?.into(),
            Self::Postgres(pool) => measured(pool, begin_detached(pool, postgres)).await.map_err(storage)?.into(),
        })
    }
}

impl Database {
    /// Opens `sqlite://path/to/file` (created if absent) or `postgres://user@host/name`. Runs no migrations.
    pub async fn open(address: &str) -> Result<Self, StorageError> {
        if let Some(path) = address.strip_prefix("sqlite://") {
            Self::open_file(Path::new(path)).await
        } else if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(address).map_err(storage)?.statement_cache_capacity(STATEMENT_CACHE);
            let options = options.options(STATEMENT_TIMEOUTS).options(DISK_COSTS);
            let pool = PgPoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE_TIMEOUT);
            // A ping before each use would cost as much as a statement.
            let pool = pool.test_before_acquire(false).before_acquire(|connection, usage| {
                Box::pin(async move {
                    if usage.idle_for >= PING_AFTER_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            });
            Ok(Self::new(Engine::Postgres(pool.connect_with(options).await.map_err(storage)?)))
        } else {
            Err(StorageError::Driver("expected an address that begins with sqlite:// or postgres://".into()))
        }
    }

    /// Opens an SQLite file and creates it if absent. Its folder must exist.
    pub async fn open_file(path: &Path) -> Result<Self, StorageError> {
        // When two processes switch a new file to WAL at the same time, SQLite rejects one at once, whatever its busy timeout, because
        // waiting would deadlock. Retry.
        let retries = async {
            loop {
                match Self::open_file_now(path).await {
                    Err(error) if is_locked(&error) => tokio::time::sleep(OPEN_RETRY_DELAY).await,
                    opened => return opened,
                }
            }
        };
        let opened = match tokio::time::timeout(SQLITE_BUSY_TIMEOUT, retries).await {
            Ok(opened) => opened,
            Err(_) => Self::open_file_now(path).await,
        };
        opened.map_err(storage)
    }

    async fn open_file_now(path: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .busy_timeout(SQLITE_BUSY_TIMEOUT)
            .statement_cache_capacity(STATEMENT_CACHE)
            .row_buffer_size(SQLITE_ROWS);
        // A connection to a file does not break, and a test before each use would cost as much as a statement.
        let pool = || SqlitePoolOptions::new().acquire_timeout(ACQUIRE_TIMEOUT).test_before_acquire(false);
        let writing = options.clone().journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let writing = writing.pragma("wal_autocheckpoint", LOG_PAGES_MAX);
        // A batch fits into the cache and its undo log into memory, so that only its commit writes to files.
        let writing = writing.pragma("cache_size", WRITER_CACHE).pragma("temp_store", "MEMORY");
        // If SQLite has rolled a transaction back (for example, when the disk is full), sqlx still counts it as open and could begin
        // no other one on that connection. Such a connection is discarded.
        let has_ended = |connection: &SqliteConnection| !connection.is_in_transaction();
        let writer = pool().max_connections(1).before_acquire(move |connection, _| Box::pin(async move { Ok(has_ended(connection)) }));
        let writer = writer.connect_with(writing.clone()).await?;
        let reader = pool().max_connections(SQLITE_READERS).connect_with(options.pragma("query_only", "ON")).await?;
        tokio::spawn(checkpoint(writing.connect().await?, writer.close_event()));
        Ok(Self::new(Engine::Sqlite { writer, reader, group_commit: Arc::default() }))
    }

    fn new(engine: Engine) -> Self {
        Self { engine, published: Arc::default() }
    }

    /// Returns a connection whose transaction begins with its first statement (see [`Connection`]). Once `commit` returns, the
    /// transaction survives a power failure. On SQLite it takes the write lock when it begins (`BEGIN IMMEDIATE`), because a transaction
    /// that reads first and upgrades later fails with SQLITE_BUSY regardless of the timeout. A task must not open a second one while it
    /// holds the first: it would wait for itself.
    pub async fn begin(&self) -> Result<Connection, StorageError> {
        Ok(Connection::new(ConnectionState::NotBegun(self.engine.clone()), Arc::clone(&self.published)))
    }

    /// Begins a transaction whose commit does not wait for the disk. It survives the end of the process, but a power failure may undo it
    /// together with all relaxed commits after it. Use it for work that is repeated anyway, such as leases.
    pub async fn begin_relaxed(&self) -> Result<Connection, StorageError> {
        let postgres = "BEGIN; SET LOCAL synchronous_commit TO off";
        let state = self.engine.begin_per_engine("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", postgres).await?;
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Begins a transaction that writes without the limits of [`STATEMENT_TIMEOUTS`], for a restore.
    pub async fn begin_unlimited(&self) -> Result<Connection, StorageError> {
        let state = self.engine.begin_per_engine(DURABLE, UNLIMITED).await?;
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Returns a connection for reads outside a transaction: each statement stands alone. SQLite rejects writes on it.
    pub async fn read(&self) -> Result<Connection, StorageError> {
        let state = match &self.engine {
            Engine::Sqlite { reader, .. } => measured(reader, reader.acquire()).await.map_err(storage)?.into(),
            Engine::Postgres(pool) => measured(pool, pool.acquire()).await.map_err(storage)?.into(),
        };
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Begins a read-only transaction that sees one consistent snapshot of the whole database.
    pub async fn snapshot(&self) -> Result<Connection, StorageError> {
        let state = match &self.engine {
            Engine::Sqlite { reader, .. } => reader.begin_with("BEGIN").await.map_err(storage)?.into(),
            Engine::Postgres(pool) => begin_detached(pool, SNAPSHOT).await.map_err(storage)?.into(),
        };
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Runs a trivial query, as a readiness check.
    pub async fn ping(&self) -> Result<(), StorageError> {
        self.read().await?.query("SELECT 1 AS one").execute().await.map(|_| ())
    }

    /// The connections now, and the waits since the process began.
    #[must_use]
    pub fn pool_use(&self) -> PoolUse {
        let (connections, idle) = match &self.engine {
            Engine::Sqlite { writer, reader, .. } => (writer.size() + reader.size(), writer.num_idle() + reader.num_idle()),
            Engine::Postgres(pool) => (pool.size(), pool.num_idle()),
        };
        PoolUse {
            connections,
            idle: u32::try_from(idle).unwrap_or(u32::MAX),
            waits: WAITS.load(Ordering::Relaxed),
            waited: Duration::from_micros(WAITED_MICROS.load(Ordering::Relaxed)),
        }
    }

    /// Waits for this process's next commit that writes to the outbox. Returns at once if there was one since the last wait.
    pub async fn published(&self) {
        self.published.notified().await;
    }

    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite { writer, reader, .. } => {
                reader.close().await;
                writer.close().await;
            }
            Engine::Postgres(pool) => pool.close().await,
        }
    }
}

/// Begins a transaction in a task of its own, so that it completes even if the caller's future is dropped. Otherwise sqlx would return
/// the connection to the pool inside the open transaction, and its next user would continue in that transaction.
async fn begin_detached(pool: &PgPool, statement: &'static str) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let pool = pool.clone();
    tokio::spawn(async move { pool.begin_with(statement).await }).await.map_err(|_| sqlx::Error::WorkerCrashed)?
}

/// Checkpoints the write-ahead log in the background, so that commits need not wait for the disk a second time. Ends when the pool
/// closes.
async fn checkpoint(mut connection: SqliteConnection, mut closed: CloseEvent) {
    while tokio::time::timeout(CHECKPOINTS, &mut closed).await.is_err() {
        // A passive checkpoint stops at pages that are still being read and blocks nobody. The next round retries what failed.
        if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await {
            tracing::warn!(%error, "the write-ahead log was not checkpointed");
        }
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the connection of the checkpoints was not closed cleanly");
    }
}

/// Returns whether the error is SQLITE_BUSY or one of its extended codes, which share the low byte.
fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

/// PostgreSQL's SQLSTATE codes for a deadlock and for a serialization failure.
const CONFLICTS: [&str; 2] = ["40P01", "40001"];

/// SQLSTATE classes with which PostgreSQL rejects a commit: violated constraints, invalid transaction states, and rollbacks.
const REJECTED_COMMITS: [&str; 3] = ["23", "25", "40"];

/// Converts the error of a commit on PostgreSQL. Unless the database says that it rolled back, for example after a timeout or a lost
/// connection, the commit may have taken effect.
pub(super) fn commit_failure(error: sqlx::Error) -> StorageError {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.is_some_and(|code| REJECTED_COMMITS.iter().any(|class| code.starts_with(class))) {
        true => storage(error),
        false => StorageError::CommitUnknown(Box::new(error)),
    }
}

/// The codes of a full disk: SQLITE_FULL, and PostgreSQL's `disk_full`.
const NO_SPACE: [&str; 2] = ["13", "53100"];

/// Converts a driver's error. A unique violation becomes [`StorageError::Duplicate`] with the constraint's name on PostgreSQL, and
/// with `table.column, table.column` on SQLite.
pub(super) fn storage(error: sqlx::Error) -> StorageError {
    match error.as_database_error() {
        Some(database_error) if database_error.is_unique_violation() => {
            let columns = database_error.message().trim_start_matches("UNIQUE constraint failed: ");
            StorageError::Duplicate(database_error.constraint().unwrap_or(columns).to_owned())
        }
        Some(database_error) if database_error.code().is_some_and(|code| CONFLICTS.contains(&code.as_ref())) => StorageError::Conflict,
        Some(database_error) if database_error.code().is_some_and(|code| NO_SPACE.contains(&code.as_ref())) => {
            StorageError::NoSpace(Box::new(error))
        }
        _ => StorageError::Driver(Box::new(error)),
    }
}
