//! One SQL text on two drivers.

use super::batch::{Statement, placeholders, postgres_arguments, sqlite_arguments};
use super::database::{Engine, storage};
use super::row::{Answer, Row};
use super::value::{Bound, Values};
use souk_domain::shared::StorageError;
use sqlx::Transaction;
use sqlx::pool::PoolConnection;
use sqlx::postgres::Postgres;
use sqlx::sqlite::Sqlite;
use std::sync::Arc;
use tokio::sync::Notify;

/// Rows that one statement writes at most: with the widest table, far below the 32,766 values that SQLite binds.
const ROWS_MAX: usize = 64;

/// A connection, in a transaction ([`super::Database::begin`]) or not ([`super::Database::read`]). Dropped, it rolls back.
///
/// A transaction begins with the first statement that must run at once. On SQLite, a unit of work that has only deferred statements
/// ([`Query::later`]) never begins one of its own: it shares a commit with others (`group_commit.rs`).
///
/// A statement that PostgreSQL refuses, also for a duplicate key, aborts its transaction: where a duplicate is expected,
/// write `ON CONFLICT DO NOTHING` and look at the number of rows.
pub struct Connection {
    state: ConnectionState,
    published: Arc<Notify>,
    publishes: bool,
    /// Deferred statements, in order. Empty on PostgreSQL, and once the transaction has begun.
    deferred: Vec<Statement>,
    /// A deferred statement failed or was interrupted, so nothing may be committed.
    failed: bool,
}

pub(super) enum ConnectionState {
    /// A transaction that has not begun.
    NotBegun(Engine),
    Sqlite(Handle<Sqlite>),
    Postgres(Handle<Postgres>),
}

pub(super) enum Handle<D: sqlx::Database> {
    Transaction(Transaction<'static, D>),
    Plain(PoolConnection<D>),
}

impl<D: sqlx::Database> Handle<D> {
    fn get(&mut self) -> &mut D::Connection {
        match self {
            Self::Transaction(transaction) => transaction,
            Self::Plain(connection) => connection,
        }
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Transaction(transaction) => transaction.commit().await,
            Self::Plain(_) => Ok(()),
        }
    }

    async fn rollback(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Transaction(transaction) => transaction.rollback().await,
            Self::Plain(_) => Ok(()),
        }
    }
}

macro_rules! connection_states {
    ($($driver:ident),*) => {$(
        impl From<Transaction<'static, $driver>> for ConnectionState {
            fn from(transaction: Transaction<'static, $driver>) -> Self { Self::$driver(Handle::Transaction(transaction)) }
        }

        impl From<PoolConnection<$driver>> for ConnectionState {
            fn from(connection: PoolConnection<$driver>) -> Self { Self::$driver(Handle::Plain(connection)) }
        }
    )*};
}
connection_states!(Sqlite, Postgres);

/// The rare statement that has two texts.
#[derive(Debug, Clone, Copy)]
pub struct Sql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Connection {
    pub(super) fn new(state: ConnectionState, published: Arc<Notify>) -> Self {
        Self { state, published, publishes: false, deferred: Vec::new(), failed: false }
    }

    /// A statement with `$1`, `$2`, ... for the values bound to it, in order.
    pub fn query(&mut self, sql: &'static str) -> Query<'_> {
        Query { connection: self, sql, values: Values::default() }
    }

    pub fn query_per_dialect(&mut self, sql: Sql) -> Query<'_> {
        let text = if self.is_sqlite() { sql.sqlite } else { sql.postgres };
        self.query(text)
    }

    fn is_sqlite(&self) -> bool {
        matches!(self.state, ConnectionState::Sqlite(_) | ConnectionState::NotBegun(Engine::Sqlite { .. }))
    }

    /// Begins the transaction if it is due, and runs the deferred statements: before any statement that runs at once.
    async fn begin_and_flush(&mut self) -> Result<(), StorageError> {
        if self.failed {
            return Err(StorageError::Conflict);
        }
        if let ConnectionState::NotBegun(engine) = &self.state {
            // If the caller stops waiting here, the deferred statements are lost.
            self.failed = true;
            self.state = engine.begin().await?;
            for statement in std::mem::take(&mut self.deferred) {
                self.run_expecting(statement).await?;
            }
            self.failed = false;
        }
        Ok(())
    }

    /// Inserts rows by as few statements as [`ROWS_MAX`] permits: `into` names the table and its columns, every row has a value for
    /// each of them, and `conflict` is what follows the values. Answers how many rows were written.
    pub async fn insert(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<u64, StorageError> {
        self.run_all(self.inserts(into, rows, conflict)?).await
    }

    /// As [`Connection::insert`], but as [`Query::later`]: a row that is not written is [`StorageError::Conflict`].
    pub async fn insert_later(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<(), StorageError> {
        for statement in self.inserts(into, rows, conflict)? {
            self.defer(statement).await?;
        }
        Ok(())
    }

    /// Changes rows by as few statements as [`ROWS_MAX`] permits: `set` names the table and the columns to set, `filter` is the
    /// condition. In both, `new.column1`, `new.column2`, ... are the values of a row. Answers how many rows were changed.
    pub async fn update(&mut self, set: &'static str, rows: Vec<Values>, filter: &'static str) -> Result<u64, StorageError> {
        self.run_all(self.statements(rows, |values| format!("{set} FROM (VALUES {values}) AS new WHERE {filter}"))?).await
    }

    fn inserts(&self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<Vec<Statement>, StorageError> {
        self.statements(rows, |values| format!("{into} VALUES {values} {conflict}"))
    }

    /// The statements that write rows, from the text around their values. Each must write all of its rows if it is deferred.
    fn statements(&self, rows: Vec<Values>, text: impl Fn(&str) -> String) -> Result<Vec<Statement>, StorageError> {
        // SQLite's numbered parameters have names, and each is bound by a walk over all of them.
        let are_numbered = !self.is_sqlite();
        let (mut rows, mut statements) = (rows.into_iter(), Vec::new());
        while let Some(size) = rows.len().min(ROWS_MAX).checked_ilog2() {
            // Powers of two only, so that a connection keeps few statements prepared.
            let chunk: Vec<_> = rows.by_ref().take(1 << size).map(|row| row.0).collect::<Result<_, _>>()?;
            let sql = text(&placeholders(&chunk, are_numbered));
            let values = chunk.into_iter().flatten().collect();
            statements.push(Statement { sql: sql.into(), values, expected_rows: Some(1 << size) });
        }
        Ok(statements)
    }

    /// Runs statements at once. Answers how many rows they changed.
    async fn run_all(&mut self, statements: Vec<Statement>) -> Result<u64, StorageError> {
        let mut changed = 0;
        for statement in statements {
            self.begin_and_flush().await?;
            changed += self.run_now(statement).await?;
        }
        Ok(changed)
    }

    /// Runs a statement in the transaction that has begun; returns how many rows it changed.
    async fn run_now(&mut self, statement: Statement) -> Result<u64, StorageError> {
        count_statement();
        let sql = sqlx::AssertSqlSafe(statement.sql.into_owned());
        match &mut self.state {
            ConnectionState::NotBegun(_) => return Err(not_begun()),
            ConnectionState::Sqlite(handle) => {
                let done = sqlx::query_with(sql, sqlite_arguments(statement.values)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
            ConnectionState::Postgres(handle) => {
                let done = sqlx::query_with(sql, postgres_arguments(statement.values)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
        }
        .map_err(storage)
    }

    /// Runs a statement that must change its expected number of rows.
    async fn run_expecting(&mut self, statement: Statement) -> Result<(), StorageError> {
        let expected = statement.expected_rows;
        let changed = self.run_now(statement).await?;
        if expected.is_none_or(|expected| expected == changed) { Ok(()) } else { Err(StorageError::Conflict) }
    }

    /// Keeps a statement for the commit where the unit of work may share one, and runs it now elsewhere.
    async fn defer(&mut self, statement: Statement) -> Result<(), StorageError> {
        if let (ConnectionState::NotBegun(Engine::Sqlite { .. }), false) = (&self.state, self.failed) {
            self.deferred.push(statement);
            return Ok(());
        }
        self.begin_and_flush().await?;
        self.failed = true;
        self.run_expecting(statement).await?;
        self.failed = false;
        Ok(())
    }

    /// Makes the commit wake the relay of this process.
    pub(crate) fn notify_on_commit(&mut self) {
        self.publishes = true;
    }

    pub async fn rollback(self) -> Result<(), StorageError> {
        match self.state {
            ConnectionState::NotBegun(_) => return Ok(()),
            ConnectionState::Sqlite(handle) => handle.rollback().await,
            ConnectionState::Postgres(handle) => handle.rollback().await,
        }
        .map_err(storage)
    }

    pub async fn commit(self) -> Result<(), StorageError> {
        if self.failed {
            return Err(StorageError::Conflict);
        }
        #[cfg(feature = "testing")]
        super::statement_counter::commit();
        match self.state {
            ConnectionState::NotBegun(Engine::Sqlite { writer, group_commit, .. }) => {
                self.deferred.iter().for_each(|_| count_statement());
                group_commit.commit(writer, self.deferred).await?;
            }
            // Nothing was run, and PostgreSQL defers nothing.
            ConnectionState::NotBegun(Engine::Postgres(_)) => {}
            ConnectionState::Sqlite(handle) => handle.commit().await.map_err(storage)?,
            ConnectionState::Postgres(handle) => handle.commit().await.map_err(storage)?,
        }
        if self.publishes {
            self.published.notify_one();
        }
        Ok(())
    }
}

/// A statement and the values bound to it.
#[must_use = "a query does nothing until it is run"]
pub struct Query<'s> {
    connection: &'s mut Connection,
    sql: &'static str,
    values: Values,
}

macro_rules! run {
    ($query:ident, $run:ident) => {{
        $query.connection.begin_and_flush().await?;
        count_statement();
        let (sql, values) = ($query.sql, $query.values.0?);
        match &mut $query.connection.state {
            ConnectionState::NotBegun(_) => return Err(not_begun()),
            ConnectionState::Sqlite(handle) => {
                let answer = sqlx::query_with(sql, sqlite_arguments(values)?).$run(handle.get()).await;
                answer.map_err(storage)?.into_answer(sql)
            }
            ConnectionState::Postgres(handle) => {
                let answer = sqlx::query_with(sql, postgres_arguments(values)?).$run(handle.get()).await;
                answer.map_err(storage)?.into_answer(sql)
            }
        }
    }};
}

impl Query<'_> {
    /// Binds the next value, as [`Values::bind`].
    pub fn bind(mut self, value: impl Bound) -> Self {
        self.values = self.values.bind(value);
        self
    }

    pub async fn all(self) -> Result<Vec<Row>, StorageError> {
        Ok(run!(self, fetch_all))
    }

    /// The first row, if there is one.
    pub async fn optional(self) -> Result<Option<Row>, StorageError> {
        Ok(run!(self, fetch_optional))
    }

    /// The first row; its absence is an error.
    pub async fn one(self) -> Result<Row, StorageError> {
        Ok(run!(self, fetch_one))
    }

    /// How many rows were inserted, changed or deleted.
    pub async fn execute(self) -> Result<u64, StorageError> {
        Ok(run!(self, execute))
    }

    /// Runs one statement whose answer nobody needs before the commit: on SQLite with the commit, if nothing before it had to run at
    /// once; else now. On SQLite a unit of work of deferred statements alone shares its commit with others and does not hold the write
    /// lock while its caller computes.
    ///
    /// `rows` is how many rows it must change; another number is [`StorageError::Conflict`]. That and other errors are returned by this
    /// call or by a later one of the unit of work, at the latest by its commit; from then on it can only be rolled back.
    pub async fn later(self, rows: Option<u64>) -> Result<(), StorageError> {
        let statement = Statement { sql: self.sql.into(), values: self.values.0?, expected_rows: rows };
        self.connection.defer(statement).await
    }
}

/// Every statement begins its transaction before it runs.
fn not_begun() -> StorageError {
    StorageError::Driver("a transaction has not begun".into())
}

/// Counts a statement, where tests and benches do.
fn count_statement() {
    #[cfg(feature = "testing")]
    super::statement_counter::statement();
}
