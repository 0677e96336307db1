//! The baseline of renewals: writes the rows of renewals with the best bulk SQL of each database, directly on the driver. It uses one
//! prepared multi-row statement per table, with the same batch size, number series and durability as the store. It reads, computes and
//! signs less than a renewal must, so no renewal can be faster.

use crate::rows::{Cell, Change, Column, DUE, Due, NUMBERS, Table, renewals};
use crate::setup::Setup;
use sqlx::encode::Encode;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::types::time::OffsetDateTime;
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, Row as _, Type};
use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

/// Statement texts by table and number of rows; the driver prepares each once.
#[derive(Default)]
pub struct Statements(HashMap<(&'static str, usize), Arc<str>>);

impl Statements {
    fn of(&mut self, table: &Table, build: fn(&Table) -> String) -> AssertSqlSafe<Arc<str>> {
        let text = self.0.entry((table.name, table.rows)).or_insert_with(|| build(table).into());
        AssertSqlSafe(Arc::clone(text))
    }
}

/// A separate connection beside those of the store.
pub enum Baseline {
    Sqlite(SqliteConnection, Statements),
    Postgres(PgConnection, Statements),
}

impl Baseline {
    pub async fn open(setup: &Setup) -> Self {
        let address = setup.database.address();
        if setup.engine == "postgres" {
            // Like the store's connections.
            let options = PgConnectOptions::from_str(address).expect("an address").options([("random_page_cost", "1.1")]);
            return Self::Postgres(options.connect().await.expect("connects"), Statements::default());
        }
        let options = SqliteConnectOptions::from_str(address).expect("an address").foreign_keys(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        // Like the store's connection that writes. Another task checkpoints the log.
        let options = options.pragma("wal_autocheckpoint", "20000").pragma("cache_size", "-16384").pragma("temp_store", "MEMORY");
        let connection = options.connect().await.expect("opens");
        Self::Sqlite(connection, Statements::default())
    }

    /// Renews the next `count` due subscriptions.
    pub async fn renew(&mut self, now: i64, count: i64) {
        match self {
            Self::Sqlite(connection, statements) => renew_on_sqlite(connection, statements, now, count).await,
            Self::Postgres(connection, statements) => renew_on_postgres(connection, statements, now, count).await,
        }
    }
}

/// Every column of an update except the key, with the expression of its value.
fn assignments(table: &Table, value: impl Fn(usize) -> String) -> String {
    (1..table.columns.len()).fold(String::new(), |mut sql, place| {
        write!(sql, ", {} = {}", table.columns[place].0, value(place)).expect("is text");
        sql
    })
}

fn names(table: &Table) -> String {
    table.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

async fn renew_on_sqlite(connection: &mut SqliteConnection, statements: &mut Statements, now: i64, count: i64) {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.expect("begins");
    let rows = sqlx::query(DUE).bind(now).bind(count).fetch_all(&mut *transaction).await.expect("reads");
    let due: Vec<_> = rows.iter().map(|row| read_due(row, |row| row.get("period_end"))).collect();
    let last = sqlx::query(NUMBERS).bind(false).bind(count).fetch_one(&mut *transaction).await.expect("counts").get::<i64, _>(0);
    for table in renewals(&due, last + 1 - count, now) {
        let sql = statements.of(&table, sqlite_text);
        let arguments = sqlite_arguments(&table);
        sqlx::query_with(sql, arguments).execute(&mut *transaction).await.expect("writes");
    }
    transaction.commit().await.expect("commits");
}

/// The statement text for SQLite. Values that all rows share are bound before the rows.
fn sqlite_text(table: &Table) -> String {
    let mut place_of_row = 0;
    let values: Vec<_> = table
        .columns
        .iter()
        .map(|(_, column)| match column {
            Column::Shared(_) => "?".to_owned(),
            _ => {
                place_of_row += 1;
                format!("v.column{place_of_row}")
            }
        })
        .collect();
    let mark = format!("({})", vec!["?"; place_of_row].join(", "));
    let rows = vec![mark; table.rows].join(", ");
    let Table { name, columns, .. } = table;
    match table.change {
        Change::Insert => format!("INSERT INTO {name} ({}) SELECT {} FROM (VALUES {rows}) AS v", names(table), values.join(", ")),
        // Without a condition, SQLite would read the conflict clause as a join.
        Change::Upsert(conflict) => {
            format!("INSERT INTO {name} ({}) SELECT {} FROM (VALUES {rows}) AS v WHERE TRUE {conflict}", names(table), values.join(", "))
        }
        Change::Update(always) => {
            let set = assignments(table, |place| values[place].clone());
            format!("UPDATE {name} SET {always}{set} FROM (VALUES {rows}) AS v WHERE {name}.{} = v.column1", columns[0].0)
        }
    }
}

fn sqlite_arguments(table: &Table) -> SqliteArguments {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(table.rows * table.columns.len(), 0);
    for (_, column) in &table.columns {
        let Column::Shared(cell) = column else { continue };
        match cell {
            Cell::Text(text) => add_to_sqlite(&mut arguments, text.clone()),
            Cell::Integer(number) | Cell::Time(number) => add_to_sqlite(&mut arguments, *number),
            Cell::Bool(truth) => add_to_sqlite(&mut arguments, *truth),
            Cell::Amount(amount) => add_to_sqlite(&mut arguments, format!("{amount:039}")),
        }
    }
    for row in 0..table.rows {
        for (_, column) in &table.columns {
            match column {
                Column::Shared(_) => {}
                Column::Texts(texts) | Column::Jsons(texts) => add_to_sqlite(&mut arguments, texts[row].clone()),
                Column::Integers(numbers) | Column::Times(numbers) => add_to_sqlite(&mut arguments, numbers[row]),
                Column::Amounts(amounts) => add_to_sqlite(&mut arguments, format!("{:039}", amounts[row])),
                Column::Blobs(blobs) => add_to_sqlite(&mut arguments, blobs[row].clone()),
            }
        }
    }
    arguments
}

fn add_to_sqlite<T>(arguments: &mut SqliteArguments, value: T)
where
    T: for<'q> Encode<'q, Sqlite> + Type<Sqlite> + 'static,
{
    arguments.add(value).expect("is taken");
}

async fn renew_on_postgres(connection: &mut PgConnection, statements: &mut Statements, now: i64, count: i64) {
    let mut transaction = connection.begin().await.expect("begins");
    let rows = sqlx::query(DUE).bind(calendar(now)).bind(count).fetch_all(&mut *transaction).await.expect("reads");
    let due: Vec<_> = rows.iter().map(|row| read_due(row, |row| micros(row.get("period_end")))).collect();
    let last = sqlx::query(NUMBERS).bind(false).bind(count).fetch_one(&mut *transaction).await.expect("counts").get::<i64, _>(0);
    for table in renewals(&due, last + 1 - count, now) {
        let sql = statements.of(&table, postgres_text);
        let arguments = postgres_arguments(table);
        sqlx::query_with(sql, arguments).execute(&mut *transaction).await.expect("writes");
    }
    transaction.commit().await.expect("commits");
}

/// The statement text for PostgreSQL, with one array parameter per column.
fn postgres_text(table: &Table) -> String {
    let (mut arrays, mut columns_of_rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (name, column)) in table.columns.iter().enumerate() {
        let number = place + 1;
        let (array, cast) = match column {
            Column::Shared(cell) => {
                let kind = match cell {
                    Cell::Text(_) => "text",
                    Cell::Integer(_) => "bigint",
                    Cell::Bool(_) => "boolean",
                    Cell::Amount(_) => "text::numeric",
                    Cell::Time(_) => "timestamptz",
                };
                values.push(format!("${number}::{kind}"));
                continue;
            }
            Column::Texts(_) => ("text", ""),
            Column::Integers(_) => ("bigint", ""),
            Column::Amounts(_) => ("text", "::numeric"),
            Column::Times(_) => ("timestamptz", ""),
            Column::Jsons(_) => ("text", "::jsonb"),
            Column::Blobs(_) => ("bytea", ""),
        };
        arrays.push(format!("${number}::{array}[]"));
        columns_of_rows.push(*name);
        values.push(format!("v.{name}{cast}"));
    }
    let source = format!("unnest({}) AS v ({})", arrays.join(", "), columns_of_rows.join(", "));
    let Table { name, columns, .. } = table;
    match table.change {
        Change::Insert => format!("INSERT INTO {name} ({}) SELECT {} FROM {source}", names(table), values.join(", ")),
        Change::Upsert(conflict) => {
            format!("INSERT INTO {name} ({}) SELECT {} FROM {source} {conflict}", names(table), values.join(", "))
        }
        Change::Update(always) => {
            let set = assignments(table, |place| values[place].clone());
            format!("UPDATE {name} SET {always}{set} FROM {source} WHERE {name}.{key} = v.{key}", key = columns[0].0)
        }
    }
}

fn postgres_arguments(table: Table) -> PgArguments {
    let mut arguments = PgArguments::default();
    for (_, column) in table.columns {
        match column {
            Column::Shared(Cell::Text(text)) => add_to_postgres(&mut arguments, text),
            Column::Shared(Cell::Integer(number)) => add_to_postgres(&mut arguments, number),
            Column::Shared(Cell::Bool(truth)) => add_to_postgres(&mut arguments, truth),
            Column::Shared(Cell::Amount(amount)) => add_to_postgres(&mut arguments, amount.to_string()),
            Column::Shared(Cell::Time(at)) => add_to_postgres(&mut arguments, calendar(at)),
            Column::Texts(texts) | Column::Jsons(texts) => add_to_postgres(&mut arguments, texts),
            Column::Integers(numbers) => add_to_postgres(&mut arguments, numbers),
            Column::Amounts(amounts) => add_to_postgres(&mut arguments, amounts.iter().map(u128::to_string).collect::<Vec<_>>()),
            Column::Times(times) => add_to_postgres(&mut arguments, times.into_iter().map(calendar).collect::<Vec<_>>()),
            Column::Blobs(blobs) => add_to_postgres(&mut arguments, blobs),
        }
    }
    arguments
}

fn add_to_postgres<T>(arguments: &mut PgArguments, value: T)
where
    T: for<'q> Encode<'q, Postgres> + Type<Postgres> + 'static,
{
    arguments.add(value).expect("is taken");
}

fn read_due<R: sqlx::Row>(row: &R, period_end: impl Fn(&R) -> i64) -> Due
where
    for<'r> String: sqlx::Decode<'r, R::Database> + Type<R::Database>,
    &'static str: sqlx::ColumnIndex<R>,
{
    let text = |column: &'static str| row.get::<String, _>(column);
    Due {
        id: text("id"),
        customer: text("customer_id"),
        currency: text("currency_id"),
        method: text("method_id"),
        period_end: period_end(row),
    }
}

fn calendar(micros: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000).expect("a time of the calendar")
}

fn micros(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000).expect("a time of this age")
}
