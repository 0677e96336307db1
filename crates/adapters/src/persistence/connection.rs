//! Runs one SQL text on either of the two drivers.

use super::batch::{Inputs, Rows, Statement, postgres_arguments, sqlite_arguments};
use super::database::{Engine, commit_failure, storage};
use super::row::{QueryResult, Row};
use super::value::{Bound, Values};
use futures_util::stream::{self, BoxStream, StreamExt};
use souk_domain::access::Did;
use souk_domain::shared::{Id, StorageError};
use sqlx::Transaction;
use sqlx::pool::PoolConnection;
use sqlx::postgres::Postgres;
use sqlx::sqlite::Sqlite;
use std::sync::Arc;
use tokio::sync::Notify;

/// The most rows that one statement writes: a batch of renewals is written with one statement for each table. Even with the widest table
/// this stays far below the 32,766 values that SQLite can bind.
const ROWS_MAX: usize = 200;

/// A database connection, inside a transaction ([`super::Database::begin`]) or outside one ([`super::Database::read`]). Dropping it
/// rolls the transaction back.
///
/// The transaction begins with the first statement that must run at once. On SQLite, a unit of work that has only deferred statements
/// ([`Query::defer`]) never begins its own transaction: it shares a commit with other units (`group_commit.rs`).
///
/// On PostgreSQL, a statement that fails aborts its transaction, even if the cause is a duplicate key. Where a duplicate is expected,
/// write `ON CONFLICT DO NOTHING` and check the number of rows.
pub struct Connection {
    state: ConnectionState,
    published: Arc<Notify>,
    publishes: bool,
    /// Deferred statements, in order. Always empty on PostgreSQL and after the transaction has begun.
    deferred: Vec<Statement>,
    /// True once a deferred statement failed or was interrupted. The commit then fails.
    failed: bool,
    /// The id prefixes that [`Connection::note`] keeps.
    noted_kinds: Vec<&'static str>,
    noted: Vec<String>,
}

/// Every DID begins with it, and no id does.
pub(super) const DID_PREFIX: &str = "z";

/// The most objects that a unit of work notes.
const NOTED_MAX: usize = 100;

pub(super) enum ConnectionState {
    /// The transaction begins with its first statement.
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

/// A statement whose text differs between the two databases.
#[derive(Debug, Clone, Copy)]
pub struct Sql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Connection {
    pub(super) fn new(state: ConnectionState, published: Arc<Notify>) -> Self {
        Self { state, published, publishes: false, deferred: Vec::new(), failed: false, noted_kinds: Vec::new(), noted: Vec::new() }
    }

    /// Keeps the ids of these kinds that repositories note.
    pub(super) fn note_kinds(&mut self, kinds: &[&[&'static str]]) {
        self.noted_kinds = kinds.concat();
    }

    /// Notes an object that this unit of work creates, or finds created by an equal request. If the caller's answer is lost, it is
    /// rebuilt from this object; the audit log names it.
    pub(super) fn note<I: Id>(&mut self, id: &I) {
        if self.noted_kinds.contains(&I::PREFIX) && self.noted.len() < NOTED_MAX {
            self.noted.push(id.to_string());
        }
    }

    /// As [`Self::note`], for an object that is named by its DID.
    pub(super) fn note_did(&mut self, did: &Did) {
        if self.noted_kinds.contains(&DID_PREFIX) && self.noted.len() < NOTED_MAX {
            self.noted.push(did.to_string());
        }
    }

    pub(super) fn noted(&self) -> &[String] {
        &self.noted
    }

    /// Returns whether no statement has run or waits for the commit.
    pub(super) fn is_unused(&self) -> bool {
        matches!(self.state, ConnectionState::NotBegun(_)) && self.deferred.is_empty()
    }

    /// Prepares a statement. `$1`, `$2`, ... stand for the bound values, in order.
    pub fn query(&mut self, sql: &'static str) -> Query<'_> {
        Query { connection: self, sql, values: Values::default() }
    }

    pub fn query_per_dialect(&mut self, sql: Sql) -> Query<'_> {
        let text = if self.is_sqlite() { sql.sqlite } else { sql.postgres };
        self.query(text)
    }

    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self.state, ConnectionState::Sqlite(_) | ConnectionState::NotBegun(Engine::Sqlite { .. }))
    }

    /// Begins the transaction if it has not begun, and runs the deferred statements. Called before every statement that runs at once.
    async fn begin_and_flush(&mut self) -> Result<(), StorageError> {
        if self.failed {
            return Err(StorageError::Conflict);
        }
        if let ConnectionState::NotBegun(engine) = &self.state {
            // If the caller's future is dropped at an await below, the deferred statements are lost, so the commit must fail.
            self.failed = true;
            self.state = engine.begin().await?;
            for statement in std::mem::take(&mut self.deferred) {
                self.run_expecting(statement).await?;
            }
            self.failed = false;
        }
        Ok(())
    }

    /// Inserts rows in batches of at most [`ROWS_MAX`]. `into` is the statement up to the values (`INSERT INTO table (columns)`), each
    /// row has one value per column, and `conflict` is the text after the values. Returns the number of rows written.
    pub async fn insert(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<u64, StorageError> {
        self.run_all(self.inserts(into, rows, conflict)?).await
    }

    /// Inserts rows as [`Connection::insert`] does, but deferred as by [`Query::defer`]. A row that is not written is
    /// [`StorageError::Conflict`].
    pub async fn insert_deferred(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<(), StorageError> {
        for statement in self.inserts(into, rows, conflict)? {
            self.defer(statement).await?;
        }
        Ok(())
    }

    /// Updates rows in batches of at most [`ROWS_MAX`]. `set` is the statement up to `FROM` (`UPDATE table SET ..`), and `filter` is the
    /// condition. In both, `new.column1`, `new.column2`, ... are the values of a row. Returns the number of rows changed.
    pub async fn update(&mut self, set: &'static str, rows: Vec<Values>, filter: &'static str) -> Result<u64, StorageError> {
        let statements = self.statements(rows, |values, from| {
            let values = values.iter().zip(1..).map(|(value, number)| format!("{value} AS column{number}"));
            format!("{set} FROM (SELECT {} {from}) AS new WHERE {filter}", values.collect::<Vec<_>>().join(", "))
        })?;
        self.run_all(statements).await
    }

    /// As [`Connection::insert`], with a text that is composed from the schema.
    pub(super) async fn insert_text(&mut self, into: &str, rows: Vec<Values>) -> Result<u64, StorageError> {
        self.run_all(self.inserts(into, rows, "")?).await
    }

    /// Runs a statement without values whose text is composed from the schema.
    pub(super) async fn run_text(&mut self, sql: String) -> Result<(), StorageError> {
        self.run_all(vec![Statement { sql: sql.into(), inputs: Inputs::Values(Vec::new()), expected_rows: None }]).await.map(drop)
    }

    /// Streams the rows of a statement, for tables that do not fit into memory. The transaction must have begun.
    pub(super) fn stream(&mut self, sql: String) -> BoxStream<'_, Result<Row, StorageError>> {
        let sql = sqlx::AssertSqlSafe(sql);
        match &mut self.state {
            ConnectionState::NotBegun(_) => stream::once(async { Err(not_begun()) }).boxed(),
            ConnectionState::Sqlite(handle) => {
                sqlx::query(sql).fetch(handle.get()).map(|row| Ok(row.map_err(storage)?.into_output("FROM a table"))).boxed()
            }
            ConnectionState::Postgres(handle) => {
                sqlx::query(sql).fetch(handle.get()).map(|row| Ok(row.map_err(storage)?.into_output("FROM a table"))).boxed()
            }
        }
    }

    fn inserts(&self, into: &str, rows: Vec<Values>, conflict: &'static str) -> Result<Vec<Statement>, StorageError> {
        // Without a condition, SQLite would read the conflict clause as a join.
        self.statements(rows, |values, from| format!("{into} SELECT {} {from} WHERE TRUE {conflict}", values.join(", ")))
    }

    /// Splits rows into statements. `text` builds the SQL from the values of a row and what they are selected from. A deferred statement
    /// must write all of its rows.
    fn statements(&self, rows: Vec<Values>, text: impl Fn(&[String], &str) -> String) -> Result<Vec<Statement>, StorageError> {
        let (is_sqlite, mut rows, mut statements) = (self.is_sqlite(), rows.into_iter(), Vec::new());
        while let Some(log) = rows.len().checked_ilog2() {
            // Smaller sizes are powers of two, so that SQLite's statement cache holds few texts.
            let size = if is_sqlite && rows.len() < ROWS_MAX { 1 << log } else { rows.len().min(ROWS_MAX) };
            let chunk = rows.by_ref().take(size).map(|row| row.0).collect::<Result<_, _>>()?;
            let Rows { values, from, inputs } = Rows::new(chunk, is_sqlite);
            statements.push(Statement { sql: text(&values, &from).into(), inputs, expected_rows: Some(size as u64) });
        }
        Ok(statements)
    }

    /// Runs statements at once and returns the number of rows they changed.
    async fn run_all(&mut self, statements: Vec<Statement>) -> Result<u64, StorageError> {
        let mut changed = 0;
        for statement in statements {
            self.begin_and_flush().await?;
            changed += self.run_now(statement).await?;
        }
        Ok(changed)
    }

    /// Runs a statement in a transaction that has begun, and returns the number of rows it changed.
    async fn run_now(&mut self, statement: Statement) -> Result<u64, StorageError> {
        count_statement(&statement.sql);
        let sql = sqlx::AssertSqlSafe(statement.sql.into_owned());
        match &mut self.state {
            ConnectionState::NotBegun(_) => return Err(not_begun()),
            ConnectionState::Sqlite(handle) => {
                let done = sqlx::query_with(sql, sqlite_arguments(statement.inputs)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
            ConnectionState::Postgres(handle) => {
                let done = sqlx::query_with(sql, postgres_arguments(statement.inputs)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
        }
        .map_err(storage)
    }

    /// Runs a statement; [`StorageError::Conflict`] if it does not change its expected number of rows.
    async fn run_expecting(&mut self, statement: Statement) -> Result<(), StorageError> {
        let expected = statement.expected_rows;
        let changed = self.run_now(statement).await?;
        if expected.is_none_or(|expected| expected == changed) { Ok(()) } else { Err(StorageError::Conflict) }
    }

    /// Keeps a statement for the commit if the unit of work can still share one; otherwise runs it now.
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

    /// Makes the commit wake this process's outbox relay.
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
                self.deferred.iter().for_each(|statement| count_statement(&statement.sql));
                group_commit.commit(writer, self.deferred).await?;
            }
            // No statement ran, and PostgreSQL defers none: there is nothing to commit.
            ConnectionState::NotBegun(Engine::Postgres(_)) => {}
            ConnectionState::Sqlite(handle) => handle.commit().await.map_err(storage)?,
            ConnectionState::Postgres(handle) => handle.commit().await.map_err(commit_failure)?,
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
        count_statement($query.sql);
        let (sql, values) = ($query.sql, Inputs::Values($query.values.0?));
        match &mut $query.connection.state {
            ConnectionState::NotBegun(_) => return Err(not_begun()),
            ConnectionState::Sqlite(handle) => {
                let result = sqlx::query_with(sql, sqlite_arguments(values)?).$run(handle.get()).await;
                result.map_err(storage)?.into_output(sql)
            }
            ConnectionState::Postgres(handle) => {
                let result = sqlx::query_with(sql, postgres_arguments(values)?).$run(handle.get()).await;
                result.map_err(storage)?.into_output(sql)
            }
        }
    }};
}

impl Query<'_> {
    /// Binds the next value, as [`Values::bind`] does.
    pub fn bind(mut self, value: impl Bound) -> Self {
        self.values = self.values.bind(value);
        self
    }

    pub async fn all(self) -> Result<Vec<Row>, StorageError> {
        Ok(run!(self, fetch_all))
    }

    /// Returns the first row, if any.
    pub async fn optional(self) -> Result<Option<Row>, StorageError> {
        Ok(run!(self, fetch_optional))
    }

    /// Returns the first row; it is an error if there is none.
    pub async fn one(self) -> Result<Row, StorageError> {
        Ok(run!(self, fetch_one))
    }

    /// Returns the number of rows inserted, changed or deleted.
    pub async fn execute(self) -> Result<u64, StorageError> {
        Ok(run!(self, execute))
    }

    /// Defers a statement whose result is not needed before the commit. On SQLite it runs with the commit, unless the transaction has
    /// already begun; otherwise it runs now. An SQLite unit of work that has only deferred statements shares its commit with other units
    /// and does not hold the write lock while its caller computes.
    ///
    /// `rows` is the number of rows the statement must change; any other number is [`StorageError::Conflict`]. That error and others are
    /// returned by this call or by a later call of the same unit of work, at the latest by its commit. After an error, the unit of work
    /// can only be rolled back.
    pub async fn defer(self, rows: Option<u64>) -> Result<(), StorageError> {
        let statement = Statement { sql: self.sql.into(), inputs: Inputs::Values(self.values.0?), expected_rows: rows };
        self.connection.defer(statement).await
    }
}

/// Unreachable: every statement begins its transaction before it runs.
fn not_begun() -> StorageError {
    StorageError::Driver("a transaction has not begun".into())
}

/// Counts a statement for tests and benchmarks; does nothing without the feature `testing`.
#[cfg_attr(not(feature = "testing"), expect(unused_variables, reason = "nothing is counted"))]
fn count_statement(sql: &str) {
    #[cfg(feature = "testing")]
    super::statement_counter::statement(sql);
}
