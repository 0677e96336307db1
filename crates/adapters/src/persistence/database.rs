//! The database of this process: one of two kinds, chosen by its address.

use super::connection::{Connection, ConnectionState};
use super::group_commit::GroupCommit;
use souk_domain::shared::StorageError;
use sqlx::pool::CloseEvent;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, Postgres, Transaction};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Begins on SQLite, with commits that wait for the disk.
pub(super) const DURABLE: &str = "PRAGMA synchronous = FULL; BEGIN IMMEDIATE";
/// How long a statement waits for another process that holds the SQLite file.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait before a file is opened again that another process has locked.
const LOCKED: Duration = Duration::from_millis(20);
const SQLITE_READERS: u32 = 4;
/// Rows that the thread of a connection reads ahead: a batch of any of our rounds, so that it need not wait for whoever takes them.
const SQLITE_ROWS: usize = 512;
/// Pages of the write-ahead log from which a commit itself copies them into the file: far more than are written between two looks of
/// the task that does so beside the commits.
const LOG_PAGES_MAX: &str = "20000";
/// How often the log is copied into the file.
const CHECKPOINTS: Duration = Duration::from_millis(500);
const POSTGRES_CONNECTIONS: u32 = 16;
/// How long `begin` and `read` wait for a free connection before they fail.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);
/// A connection to PostgreSQL that nobody used for so long is asked whether it is there.
const FRESH: Duration = Duration::from_secs(1);
/// Prepared statements kept per connection; those that are used often fit.
const STATEMENT_CACHE: usize = 500;

/// Connections to the payment database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Database {
    pub(super) engine: Engine,
    /// Rung after a commit that wrote to the outbox.
    pub(super) published: Arc<Notify>,
}

#[derive(Debug, Clone)]
pub(super) enum Engine {
    /// One writer, because SQLite has one; readers that cannot write, because WAL lets them run beside it.
    Sqlite {
        writer: SqlitePool,
        reader: SqlitePool,
        /// Units of work that share a commit.
        group_commit: Arc<GroupCommit>,
    },
    Postgres(PgPool),
}

impl Engine {
    pub(super) async fn begin(&self) -> Result<ConnectionState, StorageError> {
        self.begin_each(DURABLE, "BEGIN").await
    }

    async fn begin_each(&self, sqlite: &'static str, postgres: &'static str) -> Result<ConnectionState, StorageError> {
        Ok(match self {
            Self::Sqlite { writer, .. } => writer.begin_with(sqlite).await.map_err(storage)?.into(),
            Self::Postgres(pool) => begin_whole(pool, postgres).await.map_err(storage)?.into(),
        })
    }
}

impl Database {
    /// Opens `sqlite://path/to/file` (created when absent) or `postgres://user@host/name`. Migrates nothing.
    pub async fn open(address: &str) -> Result<Self, StorageError> {
        if let Some(path) = address.strip_prefix("sqlite://") {
            Self::open_file(Path::new(path)).await
        } else if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(address).map_err(storage)?.statement_cache_capacity(STATEMENT_CACHE);
            let pool = PgPoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE_TIMEOUT);
            // To ask before each use would cost as much as a statement.
            let pool = pool.test_before_acquire(false).before_acquire(|connection, kept| {
                Box::pin(async move {
                    if kept.idle_for >= FRESH {
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

    /// Opens an SQLite file, created when absent. Its folder must exist.
    pub async fn open_file(path: &Path) -> Result<Self, StorageError> {
        // Of two processes that switch a new file to its log, SQLite refuses one at once, for they would wait for each other.
        let patient = async {
            loop {
                match Self::open_file_now(path).await {
                    Err(error) if is_locked(&error) => tokio::time::sleep(LOCKED).await,
                    opened => return opened,
                }
            }
        };
        let opened = match tokio::time::timeout(SQLITE_BUSY_TIMEOUT, patient).await {
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
        // A file does not hang up: to ask before each use whether it is there would cost as much as a statement.
        let pool = || SqlitePoolOptions::new().acquire_timeout(ACQUIRE_TIMEOUT).test_before_acquire(false);
        let writing = options.clone().journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let writing = writing.pragma("wal_autocheckpoint", LOG_PAGES_MAX);
        // A transaction that SQLite has undone by itself, as where the disk is full, has not ended for sqlx, and none could begin again.
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

    /// A transaction, which begins with its first statement ([`Connection`]); a commit that was answered survives a power cut. On SQLite it
    /// then takes the write lock at once (`BEGIN IMMEDIATE`): a transaction that reads first and upgrades later fails as busy whatever the
    /// timeout. A second one within one task waits in vain.
    pub async fn begin(&self) -> Result<Connection, StorageError> {
        Ok(Connection::new(ConnectionState::NotBegun(self.engine.clone()), Arc::clone(&self.published)))
    }

    /// Begins a transaction whose commit does not wait for the disk. It survives the end of the process, but a power
    /// cut may take it back (and then all relaxed commits after it): for what is repeated anyway, such as leases.
    pub async fn begin_relaxed(&self) -> Result<Connection, StorageError> {
        let postgres = "BEGIN; SET LOCAL synchronous_commit TO off";
        let state = self.engine.begin_each("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", postgres).await?;
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// A connection for reads, each statement on its own. SQLite refuses writes here.
    pub async fn read(&self) -> Result<Connection, StorageError> {
        let state = match &self.engine {
            Engine::Sqlite { reader, .. } => reader.acquire().await.map_err(storage)?.into(),
            Engine::Postgres(pool) => pool.acquire().await.map_err(storage)?.into(),
        };
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Begins a transaction that reads one state of the whole database, whatever others commit meanwhile, and writes nothing.
    pub async fn snapshot(&self) -> Result<Connection, StorageError> {
        let state = match &self.engine {
            Engine::Sqlite { reader, .. } => reader.begin_with("BEGIN").await.map_err(storage)?.into(),
            Engine::Postgres(pool) => begin_whole(pool, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").await.map_err(storage)?.into(),
        };
        Ok(Connection::new(state, Arc::clone(&self.published)))
    }

    /// Answers when the database can be asked something; for readiness.
    pub async fn ping(&self) -> Result<(), StorageError> {
        self.read().await?.query("SELECT 1 AS one").execute().await.map(|_| ())
    }

    /// Waits for the next commit of this process that wrote to the outbox; one that came since the last wait counts.
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

/// Begins, whether its caller waits for it or not: sqlx gives a connection back in the transaction that somebody had stopped waiting for,
/// and the next one, who may mean to write for good, would go on in it.
async fn begin_whole(pool: &PgPool, statement: &'static str) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let pool = pool.clone();
    tokio::spawn(async move { pool.begin_with(statement).await }).await.map_err(|_| sqlx::Error::WorkerCrashed)?
}

/// Copies the log into the file beside the commits, which would wait for the disk twice otherwise. Ends with the database.
async fn checkpoint(mut connection: SqliteConnection, mut closed: CloseEvent) {
    while tokio::time::timeout(CHECKPOINTS, &mut closed).await.is_err() {
        // Passive: it stops where somebody still reads, and keeps nobody waiting. What fails is tried again.
        let _ = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await;
    }
    let _ = connection.close().await;
}

/// SQLITE_BUSY, whatever the reason: its extended codes end in the same byte.
fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}

/// Deadlocks, and transactions that could not be put into any order.
const CONFLICTS: [&str; 2] = ["40P01", "40001"];

/// A driver's error as ours. Unique violations become [`StorageError::Duplicate`] with the constraint's name on
/// PostgreSQL, and `table.column, table.column` on SQLite.
pub(super) fn storage(error: sqlx::Error) -> StorageError {
    match error.as_database_error() {
        Some(refusal) if refusal.is_unique_violation() => {
            let told = refusal.message().trim_start_matches("UNIQUE constraint failed: ");
            StorageError::Duplicate(refusal.constraint().unwrap_or(told).to_owned())
        }
        Some(refusal) if refusal.code().is_some_and(|code| CONFLICTS.contains(&code.as_ref())) => StorageError::Conflict,
        _ => StorageError::Driver(Box::new(error)),
    }
}
