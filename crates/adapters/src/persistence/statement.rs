//! Statements that are run together: their texts and values, as either database takes them.

use super::database::storage;
use super::value::Value;
use futures_util::TryStreamExt;
use souk_domain::shared::StorageError;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Executor, Row as _};
use std::borrow::Cow;

/// How a statement begins that PostgreSQL may run as a part of another one; the table follows.
const WRITES: [&str; 2] = ["INSERT INTO ", "UPDATE "];
/// What one must have: the rows themselves, or the key of one. A part sees the state before the first part, and had that to wait for somebody
/// else, what is looked for otherwise may have come meanwhile.
const ROWS: &str = " VALUES ";
const KEY: &str = " WHERE id = $1";

/// A statement that is run with the next one ([`super::Query::later`]).
pub(super) struct Waiting {
    pub sql: Cow<'static, str>,
    pub values: Vec<Value>,
    /// How many rows it must change.
    pub rows: Option<u64>,
}

/// Runs statements in their order by one call; answers how many rows each of them changed.
pub(super) async fn run_all_sqlite(connection: &mut SqliteConnection, statements: Vec<Waiting>) -> Result<Vec<u64>, StorageError> {
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
pub(super) async fn run_all_postgres(connection: &mut PgConnection, statements: Vec<Waiting>) -> Result<Vec<u64>, StorageError> {
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
pub(super) fn written_by(sql: &str) -> Option<&str> {
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

/// `($1, $2), ($3, $4)`, or `(?, ?), (?, ?)`.
pub(super) fn placeholders(rows: &[Vec<Value>], are_numbered: bool) -> String {
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
