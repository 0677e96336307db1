//! One SQL text on two drivers.

use super::database::{Engine, storage};
use super::value::{Bound, Kind, Stored, Value, Values};
use super::whole;
use futures_util::TryStreamExt;
use souk_domain::shared::StorageError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Column, Executor, Row as _, Transaction};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::Notify;

/// Rows that one statement inserts at most: with the widest table, far below the 32,766 values that SQLite binds.
const ROWS_MAX: usize = 64;
/// Values of a statement that waits for the next one, at most.
const VALUES_PUT_OFF: usize = 64;
/// How a statement begins that PostgreSQL may run as a part of another one; the table follows.
const WRITES: [&str; 2] = ["INSERT INTO ", "UPDATE "];
/// What one must have: the rows themselves, or the key of one. A part sees the state before the first part, and had that to wait for somebody
/// else, what is looked for otherwise may have come meanwhile.
const ROWS: &str = " VALUES ";
const KEY: &str = " WHERE id = $1";
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

/// A statement that is run with the next one ([`Query::later`]).
pub(super) struct Waiting {
    pub sql: Cow<'static, str>,
    pub values: Vec<Value>,
    /// How many rows it must change.
    pub rows: Option<u64>,
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

/// Runs statements in their order by one call; answers how many rows each of them changed.
async fn run_all_sqlite(connection: &mut SqliteConnection, statements: Vec<Waiting>) -> Result<Vec<u64>, StorageError> {
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    for statement in statements {
        texts.push(in_order(&statement.sql, statement.values, &mut values)?);
    }
    let query = sqlx::query_with(sqlx::AssertSqlSafe(texts.join("; ")), sqlite_arguments(values)?);
    let mut done = connection.fetch_many(query);
    let mut changes = Vec::new();
    while let Some(step) = done.try_next().await.map_err(storage)? {
        changes.extend(step.left().map(|done| done.rows_affected()));
    }
    Ok(changes)
}

/// The same as parts of one statement, each of which is run when its rows are counted: in their order too, so that rows are locked as
/// everywhere else.
async fn run_all_postgres(connection: &mut PgConnection, statements: Vec<Waiting>) -> Result<Vec<u64>, StorageError> {
    let (count, (parts, values)) = (statements.len(), parts(statements)?);
    let counts: Vec<_> = (0..count).map(count_of).collect();
    let sql = format!("{parts} SELECT {}", counts.join(", "));
    let row = sqlx::query_with(sqlx::AssertSqlSafe(sql), postgres_arguments(values)?).fetch_one(connection).await.map_err(storage)?;
    (0..count).map(|place| row.try_get(place).map(i64::cast_unsigned).map_err(storage)).collect()
}

/// Statements as the parts of another one, and their values together.
pub(super) fn parts(statements: Vec<Waiting>) -> Result<(String, Vec<Value>), StorageError> {
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    for (place, statement) in statements.into_iter().enumerate() {
        let before = values.len();
        let sql = renamed(&statement.sql, |number| Some(format!("${}", number + before)))?;
        parts.push(format!("part_{place} AS ({sql} RETURNING 1)"));
        values.extend(statement.values);
    }
    Ok((format!("WITH {}", parts.join(", ")), values))
}

/// How many rows a part changed.
pub(super) fn count_of(place: usize) -> String {
    format!("(SELECT count(*) FROM part_{place})")
}

/// The table that a statement writes, where PostgreSQL can run it as a part of another one.
fn written_by(sql: &str) -> Option<&str> {
    let sql = sql.trim_start();
    let rest = WRITES.iter().find_map(|begin| sql.strip_prefix(begin))?;
    let table = rest.split(|sign: char| sign.is_whitespace() || sign == '(').next()?;
    let looks_for_nothing = sql.contains(if sql.starts_with(WRITES[0]) { ROWS } else { KEY });
    (looks_for_nothing && !sql.contains("RETURNING")).then_some(table)
}

/// The statement with its numbered parameters as plain ones, which count on from the statement before it, and their values.
pub(super) fn in_order(sql: &str, values: Vec<Value>, all: &mut Vec<Value>) -> Result<String, StorageError> {
    if !sql.contains('$') {
        all.extend(values);
        return Ok(sql.to_owned());
    }
    renamed(sql, |number| {
        all.push(values.get(number.checked_sub(1)?)?.clone());
        Some("?".to_owned())
    })
}

/// The statement with other names for its numbered parameters.
fn renamed(sql: &str, mut name: impl FnMut(usize) -> Option<String>) -> Result<String, StorageError> {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let Some(name) = part[..digits].parse().ok().and_then(&mut name) else {
            return Err(StorageError::Driver(format!("a parameter has no value: {sql}").into()));
        };
        text.push_str(&name);
        text.push_str(&part[digits..]);
    }
    Ok(text)
}

/// What a driver answers, as ours.
trait Answer {
    type Ours;
    fn into_answer(self, sql: &'static str) -> Self::Ours;
}

macro_rules! answers {
    ($($driver:ident, $row:ty, $done:ty;)*) => {$(
        impl Answer for $row {
            type Ours = Row;
            fn into_answer(self, sql: &'static str) -> Row { Row { sql, cells: Cells::$driver(self), part: None } }
        }

        impl Answer for $done {
            type Ours = u64;
            fn into_answer(self, _: &'static str) -> u64 { self.rows_affected() }
        }
    )*};
}
answers! {
    Sqlite, SqliteRow, sqlx::sqlite::SqliteQueryResult;
    Postgres, PgRow, sqlx::postgres::PgQueryResult;
}

impl<T: Answer> Answer for Option<T> {
    type Ours = Option<T::Ours>;
    fn into_answer(self, sql: &'static str) -> Self::Ours {
        self.map(|row| row.into_answer(sql))
    }
}

impl<T: Answer> Answer for Vec<T> {
    type Ours = Vec<T::Ours>;
    fn into_answer(self, sql: &'static str) -> Self::Ours {
        self.into_iter().map(|row| row.into_answer(sql)).collect()
    }
}

/// One row of an answer.
pub struct Row {
    sql: &'static str,
    cells: Cells,
    /// The columns that are looked at, where two tables have the same names.
    part: Option<Range<usize>>,
}

enum Cells {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// The value of a column by name. A value that does not read as `T` is [`StorageError::Corrupt`].
    pub fn get<T: Stored>(&self, column: &'static str) -> Result<T, StorageError> {
        match T::from_value(self.value(column, T::KIND)?) {
            Some(value) => Ok(value),
            None => {
                let value = self.value(column, T::KIND)?.shown();
                Err(StorageError::Corrupt { table: table_of(self.sql), column, value })
            }
        }
    }

    /// Reads a row of two joined tables, as [`Row::part`].
    pub fn pair<A, B>(
        mut self,
        first: impl FnOnce(&Row) -> Result<A, StorageError>,
        second: impl FnOnce(&Row) -> Result<B, StorageError>,
    ) -> Result<(A, B), StorageError> {
        Ok((first(self.part(0)?)?, second(self.part(1)?)?))
    }

    /// The row of joined tables, `SELECT a.*, b.*`, as that of one of them: by its own columns, of which `id` is the first.
    pub fn part(&mut self, number: usize) -> Result<&Self, StorageError> {
        let mut begin = 0;
        for _ in 0..number {
            begin = self.place_within(begin + 1..usize::MAX, "id")?;
        }
        let end = self.place_within(begin + 1..usize::MAX, "id").unwrap_or(usize::MAX);
        self.part = Some(begin..end);
        Ok(self)
    }

    /// Reads a part, where an outer join found it.
    pub fn if_there<T>(&self, read: impl FnOnce(&Row) -> Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        self.get::<Option<String>>("id")?.map(|_| read(self)).transpose()
    }

    /// Where the first column of a name is in a part of the row.
    fn place_within(&self, part: Range<usize>, column: &'static str) -> Result<usize, StorageError> {
        fn place<C: Column>(columns: &[C], part: Range<usize>, name: &str) -> Option<usize> {
            let mut places = part.start..part.end.min(columns.len());
            places.find(|place| columns[*place].name() == name)
        }
        let found = match &self.cells {
            Cells::Sqlite(row) => place(row.columns(), part, column),
            Cells::Postgres(row) => place(row.columns(), part, column),
        };
        found.ok_or_else(|| storage(sqlx::Error::ColumnNotFound(column.to_owned())))
    }

    fn value(&self, column: &'static str, kind: Kind) -> Result<Value, StorageError> {
        let place = match &self.part {
            None => None,
            Some(part) => Some(self.place_within(part.clone(), column)?),
        };
        match (&self.cells, place) {
            (Cells::Sqlite(row), None) => Value::of_sqlite(row, column, kind),
            (Cells::Sqlite(row), Some(place)) => Value::of_sqlite(row, place, kind),
            (Cells::Postgres(row), None) => Value::of_postgres(row, column, kind),
            (Cells::Postgres(row), Some(place)) => Value::of_postgres(row, place, kind),
        }
        .map_err(storage)
    }
}

/// The table that a statement names first, for messages.
fn table_of(sql: &'static str) -> &'static str {
    let mut words = sql.split_whitespace();
    words.find(|word| ["FROM", "INTO", "UPDATE"].iter().any(|mark| word.eq_ignore_ascii_case(mark)));
    words.next().unwrap_or("result")
}

/// `($1, $2), ($3, $4)`, or `(?, ?), (?, ?)`.
fn placeholders(rows: &[Vec<Value>], are_numbered: bool) -> String {
    let mut text = String::with_capacity(rows.iter().map(|row| 4 + 6 * row.len()).sum());
    let mut number = 0;
    for (place, row) in rows.iter().enumerate() {
        text.push_str(if place == 0 { "(" } else { ", (" });
        for column in 0..row.len() {
            text.push_str(if column == 0 { "" } else { ", " });
            number += 1;
            match are_numbered {
                true => text.extend(["$", &number.to_string()]),
                false => text.push('?'),
            }
        }
        text.push(')');
    }
    text
}

pub(super) fn sqlite_arguments(values: impl IntoIterator<Item = Value>) -> Result<SqliteArguments, StorageError> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        value.add_to_sqlite(&mut arguments).map_err(StorageError::Driver)?;
    }
    Ok(arguments)
}

pub(super) fn postgres_arguments(values: impl IntoIterator<Item = Value>) -> Result<PgArguments, StorageError> {
    let mut arguments = PgArguments::default();
    for value in values {
        value.add_to_postgres(&mut arguments).map_err(StorageError::Driver)?;
    }
    Ok(arguments)
}
