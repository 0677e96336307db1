//! The baseline of renewals: the rows of a renewal by the best bulk SQL of each database, straight on the driver: few statements of
//! many rows, prepared once, in batches as large as ours, with the number series, and committed as durably.
//!
//! Tables and columns are named by [`DUE`], [`NUMBERS`], [`renewals`] and [`renewal`] alone.

use crate::setup::Setup;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::types::time::OffsetDateTime;
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, Row as _};
use std::fmt::Write;
use std::str::FromStr;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Attempts that one message of the outbox names.
const MESSAGE: usize = 100;

/// A value as each database stores it.
enum Cell {
    Text(String),
    Integer(i64),
    Bool(bool),
    Amount(u128),
    /// Microseconds since 1970.
    Time(i64),
    Json(String),
    Bytes(Vec<u8>),
}
use Cell::{Amount, Bool, Bytes, Integer, Json, Time};

/// The columns of a row and their values.
type Row = Vec<(&'static str, Cell)>;

/// How rows get into a table.
enum Change {
    Insert,
    /// By the first column; the text is set in every row.
    Update(&'static str),
}

/// A subscription that is due.
struct Due {
    id: String,
    customer: String,
    currency: String,
    method: String,
    period_end: i64,
}

const DUE: &str = "SELECT id, customer_id, currency_id, method_id, period_end FROM subscriptions
    WHERE due_at <= $1 AND clock_id IS NULL ORDER BY due_at, id LIMIT $2";
const NUMBERS: &str = "UPDATE invoice_series SET last_number = last_number + $2 WHERE livemode = $1 RETURNING last_number";

fn text(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}

/// What is written for the renewals of a batch, table by table; `first` is the first invoice number.
fn renewals(due: &[Due], first: i64, now: i64) -> Vec<(&'static str, Change, Vec<Row>)> {
    let mut tables = vec![
        ("invoices", Change::Insert, Vec::new()),
        ("invoice_items", Change::Insert, Vec::new()),
        ("payment_intents", Change::Insert, Vec::new()),
        ("attempts", Change::Insert, Vec::new()),
        ("attempt_invoices", Change::Insert, Vec::new()),
        ("subscriptions", Change::Update("status = 'active', period_index = 0, version = version + 1"), Vec::new()),
        ("outbox", Change::Insert, Vec::new()),
    ];
    for (subscription, number) in due.iter().zip(first..) {
        for ((.., rows), row) in tables.iter_mut().zip(renewal(subscription, number, now)) {
            rows.push(row);
        }
    }
    for number in 0..due.len().div_ceil(MESSAGE) {
        let id = format!("evt_b{first:012}{number:08}");
        let row = vec![
            ("id", text(id)),
            ("topic", text("charge")),
            ("payload", Json("{}".to_owned())),
            ("run_at", Time(now)),
            ("created_at", Time(now)),
            ("max_attempts", Integer(10)),
        ];
        tables[6].2.push(row);
    }
    tables
}

/// The rows of one renewal, in the order of [`renewals`].
fn renewal(due: &Due, number: i64, now: i64) -> [Row; 6] {
    let Due { id, customer, currency, method, period_end: start } = due;
    let (start, end) = (*start, start + 30 * MICROS_PER_DAY);
    let [invoice, item, intent, attempt] = ["in_", "ii_", "pi_", "att_"].map(|prefix| format!("{prefix}b{number:020}"));
    let charge = crate::plans::CHARGE;
    let bill_to = r#"{"name":"Payer","email":"payer@souk.example","phone":"","address":null}"#;
    let calculation = format!(r#"{{"formula":"per_unit","unit":"{charge}","quantity":1}}"#);
    [
        vec![
            ("id", text(&invoice)),
            ("livemode", Bool(false)),
            ("number", Integer(number)),
            ("status", text("open")),
            ("reason", text("subscription_cycle")),
            ("description", text("Storm")),
            ("customer_id", text(customer)),
            ("currency_id", text(currency)),
            ("method_id", text(method)),
            ("subscription_id", text(id)),
            ("period_start", Time(start)),
            ("period_end", Time(end)),
            ("intent_id", text(&intent)),
            ("bill_to", Json(bill_to.to_owned())),
            ("total", Amount(charge)),
            ("amount_paid", Amount(0)),
            ("refusals", Integer(0)),
            ("created_at", Time(now)),
            ("finalized_at", Time(now)),
            ("updated_at", Time(now)),
        ],
        vec![
            ("id", text(&item)),
            ("invoice_id", text(&invoice)),
            ("position", Integer(0)),
            ("price_id", text("price_storm")),
            ("description", text("Storm")),
            ("quantity", Integer(1)),
            ("unit_amount", Amount(charge)),
            ("amount", Amount(charge)),
            ("period_start", Time(start)),
            ("period_end", Time(end)),
            ("calculation", Json(calculation)),
        ],
        vec![
            ("id", text(&intent)),
            ("livemode", Bool(false)),
            ("status", text("processing")),
            ("description", text("Storm")),
            ("amount", Amount(charge)),
            ("amount_received", Amount(0)),
            ("amount_refunded", Amount(0)),
            ("currency_id", text(currency)),
            ("method_id", text(method)),
            ("customer_id", text(customer)),
            ("subscription_id", text(id)),
            ("invoices", Json(format!(r#"["{invoice}"]"#))),
            ("reference", text("")),
            ("payer", text("")),
            ("created_at", Time(now)),
            ("updated_at", Time(now)),
        ],
        vec![
            ("id", text(&attempt)),
            ("purpose", text("payment")),
            ("subject", text(&intent)),
            ("kind", text("wallet")),
            ("method_id", text(method)),
            ("currency_id", text(currency)),
            ("amount", Amount(charge)),
            ("status", text("open")),
            ("payer", text("z1payer")),
            ("bytes", Bytes(vec![7; 420])),
            ("hash", text(format!("HASH{number:020}"))),
            ("checks", Integer(0)),
            ("check_at", Time(now)),
            ("created_at", Time(now)),
            ("updated_at", Time(now)),
        ],
        vec![("attempt_id", text(&attempt)), ("invoice_id", text(&invoice)), ("open", Bool(true))],
        vec![
            ("id", text(id)),
            ("period_start", Time(start)),
            ("period_end", Time(end)),
            ("due_at", Time(end)),
            ("latest_invoice_id", text(&invoice)),
            ("updated_at", Time(now)),
        ],
    ]
}

/// A connection of its own beside those of the store.
pub enum Baseline {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Baseline {
    pub async fn open(setup: &Setup) -> Self {
        let address = setup.database.address();
        if setup.engine == "postgres" {
            return Self::Postgres(PgConnection::connect(address).await.expect("connects"));
        }
        let options = SqliteConnectOptions::from_str(address).expect("an address").foreign_keys(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        // As the store's: another task copies the log into the file.
        Self::Sqlite(options.pragma("wal_autocheckpoint", "20000").connect().await.expect("opens"))
    }

    /// Renews the next `count` of those that are due.
    pub async fn renew(&mut self, now: i64, count: i64) {
        match self {
            Self::Sqlite(connection) => renew_on_sqlite(connection, now, count).await,
            Self::Postgres(connection) => renew_on_postgres(connection, now, count).await,
        }
    }
}

async fn renew_on_sqlite(connection: &mut SqliteConnection, now: i64, count: i64) {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.expect("begins");
    let rows = sqlx::query(DUE).bind(now).bind(count).fetch_all(&mut *transaction).await.expect("reads");
    let due: Vec<_> = rows.iter().map(|row| read_due(row, |row| row.get("period_end"))).collect();
    let last = sqlx::query(NUMBERS).bind(false).bind(count).fetch_one(&mut *transaction).await.expect("counts").get::<i64, _>(0);
    for (table, change, rows) in renewals(&due, last + 1 - count, now) {
        let columns: Vec<_> = rows[0].iter().map(|(name, _)| *name).collect();
        let mark = format!("({})", vec!["?"; columns.len()].join(", "));
        let values = vec![mark; rows.len()].join(", ");
        let sql = match change {
            Change::Insert => format!("INSERT INTO {table} ({}) VALUES {values}", columns.join(", ")),
            Change::Update(always) => {
                let source = format!("(WITH v ({}) AS (VALUES {values}) SELECT * FROM v)", columns.join(", "));
                format!(
                    "UPDATE {table} SET {always}{} FROM {source} AS v WHERE {table}.{key} = v.{key}",
                    assignments(&columns),
                    key = columns[0]
                )
            }
        };
        let mut arguments = SqliteArguments::default();
        for cell in rows.into_iter().flatten().map(|(_, cell)| cell) {
            let added = match cell {
                Cell::Text(text) | Json(text) => arguments.add(text),
                Integer(number) | Time(number) => arguments.add(number),
                Bool(truth) => arguments.add(truth),
                Amount(amount) => arguments.add(format!("{amount:039}")),
                Bytes(bytes) => arguments.add(bytes),
            };
            added.expect("is taken");
        }
        sqlx::query_with(AssertSqlSafe(sql), arguments).execute(&mut *transaction).await.expect("writes");
    }
    transaction.commit().await.expect("commits");
}

/// Values go as one array for each column.
async fn renew_on_postgres(connection: &mut PgConnection, now: i64, count: i64) {
    let mut transaction = connection.begin().await.expect("begins");
    let rows = sqlx::query(DUE).bind(calendar(now)).bind(count).fetch_all(&mut *transaction).await.expect("reads");
    let due: Vec<_> = rows.iter().map(|row| read_due(row, |row| micros(row.get("period_end")))).collect();
    let last = sqlx::query(NUMBERS).bind(false).bind(count).fetch_one(&mut *transaction).await.expect("counts").get::<i64, _>(0);
    for (table, change, rows) in renewals(&due, last + 1 - count, now) {
        let columns: Vec<_> = rows[0].iter().map(|(name, _)| *name).collect();
        let (mut arrays, mut selected) = (String::new(), String::new());
        for (place, (column, cell)) in rows[0].iter().enumerate() {
            let (array, cast) = match cell {
                Cell::Text(_) => ("text", ""),
                Integer(_) => ("bigint", ""),
                Bool(_) => ("boolean", ""),
                Amount(_) => ("text", "::numeric"),
                Time(_) => ("timestamptz", ""),
                Json(_) => ("text", "::jsonb"),
                Bytes(_) => ("bytea", ""),
            };
            let comma = if place == 0 { "" } else { ", " };
            write!(arrays, "{comma}${}::{array}[]", place + 1).expect("is text");
            write!(selected, "{comma}u.{column}{cast} AS {column}").expect("is text");
        }
        let names = columns.join(", ");
        let source = format!("SELECT {selected} FROM unnest({arrays}) AS u ({names})");
        let sql = match change {
            Change::Insert => format!("INSERT INTO {table} ({names}) {source}"),
            Change::Update(always) => {
                format!(
                    "UPDATE {table} SET {always}{} FROM ({source}) AS v WHERE {table}.{key} = v.{key}",
                    assignments(&columns),
                    key = columns[0]
                )
            }
        };
        let mut arguments = PgArguments::default();
        let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
        for _ in &columns {
            let column = rows.iter_mut().map(|row| row.next().expect("as many columns in each row").1).collect();
            add_column(&mut arguments, column);
        }
        sqlx::query_with(AssertSqlSafe(sql), arguments).execute(&mut *transaction).await.expect("writes");
    }
    transaction.commit().await.expect("commits");
}

/// Binds the values of a column, which are of one kind, as an array.
fn add_column(arguments: &mut PgArguments, column: Vec<Cell>) {
    let (mut texts, mut numbers, mut truths, mut times, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for cell in column {
        match cell {
            Cell::Text(text) | Json(text) => texts.push(text),
            Amount(amount) => texts.push(amount.to_string()),
            Integer(number) => numbers.push(number),
            Bool(truth) => truths.push(truth),
            Time(at) => times.push(calendar(at)),
            Bytes(value) => bytes.push(value),
        }
    }
    let added = if !texts.is_empty() {
        arguments.add(texts)
    } else if !numbers.is_empty() {
        arguments.add(numbers)
    } else if !truths.is_empty() {
        arguments.add(truths)
    } else if !times.is_empty() {
        arguments.add(times)
    } else {
        arguments.add(bytes)
    };
    added.expect("is taken");
}

fn read_due<R: sqlx::Row>(row: &R, period_end: impl Fn(&R) -> i64) -> Due
where
    for<'r> String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
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

/// Sets all columns but the first, the key.
fn assignments(columns: &[&str]) -> String {
    columns[1..].iter().fold(String::new(), |mut sql, column| {
        write!(sql, ", {column} = v.{column}").expect("is text");
        sql
    })
}

fn calendar(micros: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000).expect("a time of the calendar")
}

fn micros(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000).expect("a time of this age")
}
