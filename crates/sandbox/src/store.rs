//! The sandbox's storage: a separate file with SQLite, a separate schema with PostgreSQL, never part of a unit of work of the store.
//!
//! Statements are written once for both databases, in `$1` style, over columns of two types: `TEXT` and `BIGINT`.

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgRow};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Connection as _, Executor, Postgres, Row as _, Sqlite, Transaction};
use std::path::Path;
use std::time::Duration;

/// Number of connections; few suffice for one person trying things out, or for a test.
const CONNECTIONS: u32 = 8;
/// Maximum wait of a SQLite writer for another one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum SandboxDbError {
    #[error("the sandbox's storage failed: {0}")]
    Driver(#[from] sqlx::Error),
    #[error("the sandbox's storage holds what the sandbox never writes: {0}")]
    Corrupt(String),
    #[error("a state cannot be stored: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("the ledger's schema is not valid: {0}")]
    Schema(String),
}

/// An open sandbox database.
#[derive(Clone)]
pub enum SandboxDb {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl SandboxDb {
    /// Opens the file and creates it if it is missing.
    pub async fn open_sqlite(path: &Path) -> Result<Self, SandboxDbError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        // If SQLite has rolled a transaction back (for example, when the disk is full), sqlx still counts it as open and could begin
        // no other one on that connection. Such a connection is discarded.
        let has_ended = |connection: &SqliteConnection| !connection.is_in_transaction();
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS);
        let pool = pool.before_acquire(move |connection, _| Box::pin(async move { Ok(has_ended(connection)) }));
        Ok(Self::Sqlite(pool.connect_with(options).await?))
    }

    /// Opens the schema `sandbox` of a PostgreSQL database and creates it if it is missing.
    pub async fn open_postgres(url: &str) -> Result<Self, SandboxDbError> {
        let options: PgConnectOptions = url.parse::<PgConnectOptions>()?.options([("search_path", "sandbox")]);
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?;
        let mut tx = begin_postgres(&pool).await?;
        lock_schema(&mut tx).await?;
        tx.execute("CREATE SCHEMA IF NOT EXISTS sandbox").await?;
        tx.commit().await?;
        Ok(Self::Postgres(pool))
    }

    /// Runs `statements`, one process at a time. Each is a `CREATE .. IF NOT EXISTS` that both databases accept. On PostgreSQL each has its
    /// own transaction: one for all would lock all tables, which running processes lock in another order.
    pub async fn create_tables(&self, statements: &[&'static str]) -> Result<(), SandboxDbError> {
        let at_once = match self {
            Self::Sqlite(_) => statements.len().max(1),
            Self::Postgres(_) => 1,
        };
        for statements in statements.chunks(at_once) {
            let mut tx = self.begin().await?;
            if let SandboxTx::Postgres(inner) = &mut tx {
                lock_schema(inner).await?;
            }
            for statement in statements {
                tx.execute(statement, &[]).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// Begins a transaction that may write. On SQLite it takes the write lock immediately.
    pub async fn begin(&self) -> Result<SandboxTx, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(pool) => SandboxTx::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            Self::Postgres(pool) => SandboxTx::Postgres(begin_postgres(pool).await?),
        })
    }

    /// Reads outside a transaction.
    pub async fn rows(&self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(pool) => sqlite(sql, values).fetch_all(pool).await?.into_iter().map(Row::Sqlite).collect(),
            Self::Postgres(pool) => postgres(sql, values).fetch_all(pool).await?.into_iter().map(Row::Postgres).collect(),
        })
    }
}

/// An open transaction; dropped, it rolls back.
pub enum SandboxTx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl SandboxTx {
    /// Selects the statement for this database: PostgreSQL locks rows with `FOR UPDATE`, SQLite has a single writer.
    pub const fn per_dialect(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        }
    }

    /// Runs a statement and returns the number of changed rows.
    pub async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(tx) => sqlite(sql, values).execute(&mut **tx).await?.rows_affected(),
            Self::Postgres(tx) => postgres(sql, values).execute(&mut **tx).await?.rows_affected(),
        })
    }

    pub async fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(tx) => sqlite(sql, values).fetch_all(&mut **tx).await?.into_iter().map(Row::Sqlite).collect(),
            Self::Postgres(tx) => postgres(sql, values).fetch_all(&mut **tx).await?.into_iter().map(Row::Postgres).collect(),
        })
    }

    pub async fn commit(self) -> Result<(), SandboxDbError> {
        match self {
            Self::Sqlite(tx) => tx.commit().await?,
            Self::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }
}

/// A bound value.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Text(&'a str),
    Int(i64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// A row; columns are counted from 0 and must not be NULL.
pub enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub fn text(&self, column: usize) -> Result<String, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub fn int(&self, column: usize) -> Result<i64, SandboxDbError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    /// Reads a number that is stored as text, because no column type of both databases covers its range.
    pub fn number<T: std::str::FromStr>(&self, column: usize) -> Result<T, SandboxDbError> {
        let text = self.text(column)?;
        text.parse().map_err(|_| SandboxDbError::Corrupt(text))
    }
}

/// Begins the transaction on a separate task, so that a canceled caller cannot return a connection with an open transaction.
async fn begin_postgres(pool: &PgPool) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let pool = pool.clone();
    tokio::spawn(async move { pool.begin_with("BEGIN").await }).await.map_err(|_| sqlx::Error::WorkerCrashed)?
}

/// Serializes schema creation between processes, because PostgreSQL's `IF NOT EXISTS` does not wait for a concurrent creation.
async fn lock_schema(tx: &mut Transaction<'static, Postgres>) -> Result<(), SandboxDbError> {
    tx.execute("SELECT pg_advisory_xact_lock(5031726)").await?;
    Ok(())
}

fn sqlite<'q>(sql: &'static str, values: &[Value<'q>]) -> sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match *value {
        Value::Text(text) => query.bind(text),
        Value::Int(number) => query.bind(number),
    })
}

fn postgres<'q>(sql: &'static str, values: &[Value<'q>]) -> sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match *value {
        Value::Text(text) => query.bind(text),
        Value::Int(number) => query.bind(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_transaction_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("folder");
        let db = SandboxDb::open_sqlite(&folder.path().join("sandbox.db")).await.expect("opens");
        db.create_tables(&["CREATE TABLE IF NOT EXISTS things (name TEXT NOT NULL, size BIGINT NOT NULL)"]).await.expect("tables");
        let mut tx = db.begin().await.expect("begins");
        assert_eq!(tx.execute("INSERT INTO things VALUES ($1, $2)", &["kept".into(), 7.into()]).await.expect("inserts"), 1);
        tx.commit().await.expect("commits");
        let mut tx = db.begin().await.expect("begins");
        tx.execute("INSERT INTO things VALUES ($1, $2)", &["lost".into(), 8.into()]).await.expect("inserts");
        drop(tx);
        let rows = db.rows("SELECT name, size FROM things", &[]).await.expect("reads");
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].text(0).expect("text"), rows[0].int(1).expect("int")), ("kept".to_owned(), 7));
    }

    #[tokio::test]
    async fn writes_succeed_again_after_the_disk_was_full() {
        let folder = tempfile::tempdir().expect("folder");
        let db = SandboxDb::open_sqlite(&folder.path().join("sandbox.db")).await.expect("opens");
        db.create_tables(&["CREATE TABLE IF NOT EXISTS things (name TEXT NOT NULL)"]).await.expect("tables");
        let SandboxDb::Sqlite(pool) = &db else { panic!("this is SQLite") };
        let put = async |name: &str| {
            let mut tx = db.begin().await?;
            tx.execute("INSERT INTO things VALUES ($1)", &[name.into()]).await?;
            tx.commit().await
        };
        // Simulates a full disk. The limit ends with this connection; the pool replaces it after the failure.
        let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(pool).await.expect("answers");
        sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))).execute(pool).await.expect("limits");
        // The limited connection is one of several, whose turn comes.
        let large = "x".repeat(1 << 20);
        let refused = async {
            loop {
                if let Err(error) = put(&large).await {
                    return error;
                }
            }
        };
        let refused = tokio::time::timeout(BUSY_TIMEOUT, refused).await.expect("the connection's turn comes");
        assert!(refused.to_string().contains("full"), "{refused:?}");
        for _ in 0..2 * CONNECTIONS {
            put("small").await.expect("writes again");
        }
    }
}
