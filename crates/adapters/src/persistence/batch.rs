//! Statements with their values, prepared for either driver.

use super::database::storage;
use super::value::Value;
use souk_domain::shared::StorageError;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use std::borrow::Cow;

/// One statement that returns no rows.
#[derive(Debug)]
pub(super) struct Statement {
    pub sql: Cow<'static, str>,
    pub values: Vec<Value>,
    /// The number of rows the statement must change; `None` accepts any number.
    pub expected_rows: Option<u64>,
}

/// Runs statements in order and stops at the first that fails. A statement that does not change its expected number of rows fails with
/// [`StorageError::Conflict`].
pub(super) async fn run_on_sqlite(connection: &mut SqliteConnection, statements: Vec<Statement>) -> Result<(), StorageError> {
    for Statement { sql, values, expected_rows } in statements {
        let query = sqlx::query_with(sqlx::AssertSqlSafe(sql.into_owned()), sqlite_arguments(values)?);
        let changed = query.execute(&mut *connection).await.map_err(storage)?.rows_affected();
        if expected_rows.is_some_and(|expected| expected != changed) {
            return Err(StorageError::Conflict);
        }
    }
    Ok(())
}

/// Returns `($1, $2), ($3, $4)` if `are_numbered`, else `(?, ?), (?, ?)`.
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
