//! One SQL text on two drivers.

use super::database::{Engine, storage};
use super::row::{Answer, Row};
use super::statement::{Waiting, placeholders, postgres_arguments, run_all_postgres, run_all_sqlite, sqlite_arguments, written_by};
use super::value::{Bound, Value, Values};
use super::whole;
use souk_domain::shared::StorageError;
use sqlx::Transaction;
use sqlx::pool::PoolConnection;
use sqlx::postgres::Postgres;
use sqlx::sqlite::Sqlite;
use std::sync::Arc;
use tokio::sync::Notify;

/// Rows that one statement inserts at most: with the widest table, far below the 32,766 values that SQLite binds.
const ROWS_MAX: usize = 64;
/// Values of a statement that waits for the next one, at most.
const VALUES_PUT_OFF: usize = 64;
/// Statements that wait for the next one, at most: each sequence of them is prepared and kept as one.
const WAITING: usize = 8;

/// A connection, in a transaction ([`super::Database::begin`]) or not ([`super::Database::read`]). Dropped, it rolls back.
///
/// A transaction begins with the first statement that must be run at once. Where none must, all of them are run with the commit
/// ([`Query::later`], `whole.rs`), and nobody else waits for what goes to and fro.
///
/// A statement that PostgreSQL refuses, also for a duplicate key, spoils its transaction: where a duplicate is expected,
/// write `ON CONFLICT DO NOTHING` and look at the number of rows.
pub struct Session {
    connection: Connection,
    published: Arc<Notify>,
    publishes: bool,
    waiting: Vec<Waiting>,
    /// What waited was not run as it should have been, so nothing that follows may be kept.
    broken: bool,
}

pub(super) enum Connection {
    /// A transaction that has not begun.
    Due(Engine),
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

macro_rules! connections {
    ($($driver:ident),*) => {$(
        impl From<Transaction<'static, $driver>> for Connection {
            fn from(transaction: Transaction<'static, $driver>) -> Self { Self::$driver(Handle::Transaction(transaction)) }
        }

        impl From<PoolConnection<$driver>> for Connection {
            fn from(connection: PoolConnection<$driver>) -> Self { Self::$driver(Handle::Plain(connection)) }
        }
    )*};
}
connections!(Sqlite, Postgres);

/// The rare statement that has two texts.
#[derive(Debug, Clone, Copy)]
pub struct Sql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Session {
    pub(super) fn new(connection: Connection, published: Arc<Notify>) -> Self {
        Self { connection, published, publishes: false, waiting: Vec::new(), broken: false }
    }

    /// A statement with `$1`, `$2`, ... for the values bound to it, in order.
    pub fn query(&mut self, sql: &'static str) -> Query<'_> {
        Query { session: self, sql, values: Values::default() }
    }

    pub fn query_each(&mut self, sql: Sql) -> Query<'_> {
        let text = if self.is_sqlite() { sql.sqlite } else { sql.postgres };
        self.query(text)
    }

    fn is_sqlite(&self) -> bool {
        matches!(self.connection, Connection::Sqlite(_) | Connection::Due(Engine::Sqlite { .. }))
    }

    /// Begins the transaction, if it is due.
    async fn begin(&mut self) -> Result<(), StorageError> {
        if let (Connection::Due(engine), false) = (&self.connection, self.broken) {
            // Whoever gives up here has not run what it was to run.
            self.broken = true;
            self.connection = engine.begin().await?;
            self.broken = false;
        }
        Ok(())
    }

    /// Inserts rows by as few statements as [`ROWS_MAX`] permits: `into` names the table and its columns, every row has a value for
    /// each of them, and `conflict` is what follows the values. Answers how many rows were written.
    pub async fn insert(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<u64, StorageError> {
        let mut written = 0;
        for (sql, values, _) in self.inserts(into, rows, conflict)? {
            written += self.run(sql, values).await?;
        }
        Ok(written)
    }

    /// As [`Session::insert`], but as [`Query::later`]: a row that is not written is [`StorageError::Conflict`].
    pub async fn insert_later(&mut self, into: &'static str, rows: Vec<Values>, conflict: &'static str) -> Result<(), StorageError> {
        for (sql, values, rows) in self.inserts(into, rows, conflict)? {
            self.put_off(Waiting { sql: sql.into(), values, rows: Some(rows) }).await?;
        }
        Ok(())
    }

    /// The statements that insert rows, with their values and how many rows each has.
    fn inserts(
        &self,
        into: &'static str,
        rows: Vec<Values>,
        conflict: &'static str,
    ) -> Result<Vec<(String, Vec<Value>, u64)>, StorageError> {
        // SQLite's numbered parameters have names, and each is bound by a walk over all of them.
        let are_numbered = !self.is_sqlite();
        let (mut rows, mut statements) = (rows.into_iter(), Vec::new());
        while let Some(size) = rows.len().min(ROWS_MAX).checked_ilog2() {
            // Powers of two only, so that a connection keeps few statements prepared.
            let chunk: Vec<_> = rows.by_ref().take(1 << size).map(|row| row.0).collect::<Result<_, _>>()?;
            let sql = format!("{into} VALUES {} {conflict}", placeholders(&chunk, are_numbered));
            statements.push((sql, chunk.into_iter().flatten().collect(), 1 << size));
        }
        Ok(statements)
    }

    /// Runs a statement that was put together; answers how many rows it changed.
    async fn run(&mut self, sql: String, values: Vec<Value>) -> Result<u64, StorageError> {
        self.catch_up().await?;
        self.run_now(sql, values).await
    }

    async fn run_now(&mut self, sql: String, values: Vec<Value>) -> Result<u64, StorageError> {
        tally();
        let sql = sqlx::AssertSqlSafe(sql);
        match &mut self.connection {
            Connection::Due(_) => return Err(not_begun()),
            Connection::Sqlite(handle) => {
                let done = sqlx::query_with(sql, sqlite_arguments(values)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
            Connection::Postgres(handle) => {
                let done = sqlx::query_with(sql, postgres_arguments(values)?).execute(handle.get()).await;
                done.map(|done| done.rows_affected())
            }
        }
        .map_err(storage)
    }

    /// Leaves a statement for the next call where that spares one, and runs it at once elsewhere.
    async fn put_off(&mut self, statement: Waiting) -> Result<(), StorageError> {
        // Long ones would be prepared again for whatever they are run with.
        let is_short = statement.values.len() <= VALUES_PUT_OFF;
        if !is_short || self.waiting.len() == WAITING || !self.may_wait(&statement.sql) {
            self.catch_up().await?;
        }
        if is_short && !self.broken && self.may_wait(&statement.sql) {
            self.waiting.push(statement);
            return Ok(());
        }
        self.catch_up().await?;
        self.broken = true;
        let changed = self.run_now(statement.sql.into_owned(), statement.values).await?;
        expect(statement.rows, changed)?;
        self.broken = false;
        Ok(())
    }

    /// Whether a statement can be run by one call with those that wait, as if it came after them.
    fn may_wait(&self, sql: &str) -> bool {
        match self.connection {
            Connection::Sqlite(Handle::Transaction(_)) | Connection::Due(Engine::Sqlite { .. }) => true,
            Connection::Postgres(Handle::Transaction(_)) | Connection::Due(Engine::Postgres(_)) => {
                // Parts of one statement do not see what the others write, so none may name a table that one before it writes.
                let names_one = |waiting: &Waiting| written_by(&waiting.sql).is_none_or(|table| sql.contains(table));
                written_by(sql).is_some() && !self.waiting.iter().any(names_one)
            }
            Connection::Sqlite(Handle::Plain(_)) | Connection::Postgres(Handle::Plain(_)) => false,
        }
    }

    /// Runs what waits, and begins before.
    async fn catch_up(&mut self) -> Result<(), StorageError> {
        self.begin().await?;
        match self.waiting.is_empty() {
            _ if self.broken => Err(StorageError::Conflict),
            true => Ok(()),
            false => self.catch_up_with(None).await.map(drop),
        }
    }

    /// Runs what waits and a last statement by one call, in their order; answers how many rows the last one changed.
    async fn catch_up_with(&mut self, last: Option<Waiting>) -> Result<u64, StorageError> {
        self.begin().await?;
        self.broken = true;
        let mut statements = std::mem::take(&mut self.waiting);
        let wanted: Vec<_> = statements.iter().map(|statement| statement.rows).collect();
        statements.extend(last);
        statements.iter().for_each(|_| tally());
        let mut changes = match &mut self.connection {
            Connection::Due(_) => return Err(not_begun()),
            Connection::Sqlite(handle) => run_all_sqlite(handle.get(), statements).await?,
            Connection::Postgres(handle) => run_all_postgres(handle.get(), statements).await?,
        };
        if changes.len() < wanted.len() {
            return Err(StorageError::Driver("fewer statements were run than were asked for".into()));
        }
        let rest = changes.split_off(wanted.len());
        wanted.into_iter().zip(changes).try_for_each(|(wanted, changed)| expect(wanted, changed))?;
        self.broken = false;
        Ok(rest.iter().sum())
    }

    /// Makes the commit wake the relay of this process.
    pub(crate) fn rings_on_commit(&mut self) {
        self.publishes = true;
    }

    pub async fn roll_back(self) -> Result<(), StorageError> {
        match self.connection {
            Connection::Due(_) => return Ok(()),
            Connection::Sqlite(handle) => handle.rollback().await,
            Connection::Postgres(handle) => handle.rollback().await,
        }
        .map_err(storage)
    }

    pub async fn commit(mut self) -> Result<(), StorageError> {
        match self.connection {
            Connection::Due(_) if self.broken => return Err(StorageError::Conflict),
            Connection::Due(_) => {}
            _ => self.catch_up().await?,
        }
        #[cfg(feature = "testing")]
        super::tally::commit();
        match self.connection {
            Connection::Due(engine) => {
                self.waiting.iter().for_each(|_| tally());
                whole::run(engine, self.waiting).await?;
            }
            Connection::Sqlite(handle) => handle.commit().await.map_err(storage)?,
            Connection::Postgres(handle) => handle.commit().await.map_err(storage)?,
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
    session: &'s mut Session,
    sql: &'static str,
    values: Values,
}

macro_rules! run {
    ($query:ident, $run:ident) => {{
        $query.session.catch_up().await?;
        tally();
        let (sql, values) = ($query.sql, $query.values.0?);
        match &mut $query.session.connection {
            Connection::Due(_) => return Err(not_begun()),
            Connection::Sqlite(handle) => {
                let answer = sqlx::query_with(sql, sqlite_arguments(values)?).$run(handle.get()).await;
                answer.map_err(storage)?.into_answer(sql)
            }
            Connection::Postgres(handle) => {
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
        if self.session.waiting.is_empty() || !self.session.may_wait(self.sql) {
            return Ok(run!(self, execute));
        }
        let last = Waiting { sql: self.sql.into(), values: self.values.0?, rows: None };
        self.session.catch_up_with(Some(last)).await
    }

    /// Runs it with the next statement of the unit of work, or with its commit: SQLite is asked by a walk to another thread and back,
    /// PostgreSQL by one to another process, so several statements by one call cost little more than one. It is one statement, and
    /// answers no rows.
    ///
    /// What it is refused for is told by that later call; [`StorageError::Conflict`] where it changes another number of rows. From then on
    /// the unit of work can only be rolled back.
    pub async fn later(self, rows: Option<u64>) -> Result<(), StorageError> {
        debug_assert!(!self.sql.contains(';'), "one statement: {}", self.sql);
        let statement = Waiting { sql: self.sql.into(), values: self.values.0?, rows };
        self.session.put_off(statement).await
    }
}

/// Whoever runs a statement has begun before.
fn not_begun() -> StorageError {
    StorageError::Driver("a transaction has not begun".into())
}

fn expect(wanted: Option<u64>, changed: u64) -> Result<(), StorageError> {
    if wanted.is_none_or(|wanted| wanted == changed) { Ok(()) } else { Err(StorageError::Conflict) }
}

/// Counts a statement, where tests and benches do.
fn tally() {
    #[cfg(feature = "testing")]
    super::tally::statement();
}
