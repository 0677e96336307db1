//! Statements with their values, prepared for either driver.

use super::database::storage;
use super::value::{Column, Value};
use souk_domain::shared::StorageError;
use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use std::borrow::Cow;

/// One statement that returns no rows.
#[derive(Debug)]
pub(super) struct Statement {
    pub sql: Cow<'static, str>,
    pub inputs: Inputs,
    /// The number of rows the statement must change; `None` accepts any number.
    pub expected_rows: Option<u64>,
}

/// What is bound to a statement.
#[derive(Debug)]
pub(super) enum Inputs {
    Values(Vec<Value>),
    /// The columns of many rows; only on PostgreSQL.
    Columns(Vec<Column>),
}

/// Turns rows into columns. The values of a column have one kind.
pub(super) fn columns(rows: Vec<Vec<Value>>) -> Vec<Column> {
    let count = rows.len();
    let mut columns: Vec<Column> = Vec::new();
    for row in rows {
        for (place, value) in row.into_iter().enumerate() {
            match columns.get_mut(place) {
                Some(column) => column.values.push(value),
                None => {
                    let mut column = Column { kind: value.kind(), values: Vec::with_capacity(count) };
                    column.values.push(value);
                    columns.push(column);
                }
            }
        }
    }
    columns
}

/// Runs statements in order and stops at the first that fails. A statement that does not change its expected number of rows fails with
/// [`StorageError::Conflict`].
pub(super) async fn run_on_sqlite(connection: &mut SqliteConnection, statements: Vec<Statement>) -> Result<(), StorageError> {
    for Statement { sql, inputs, expected_rows } in statements {
        let query = sqlx::query_with(sqlx::AssertSqlSafe(sql.into_owned()), sqlite_arguments(inputs)?);
        let changed = query.execute(&mut *connection).await.map_err(storage)?.rows_affected();
        if expected_rows.is_some_and(|expected| expected != changed) {
            return Err(StorageError::Conflict);
        }
    }
    Ok(())
}

/// Returns `($1, $2), ($3, $4)` if `are_numbered`, else `(?, ?), (?, ?)`. All rows have the same number of values.
pub(super) fn placeholders(rows: &[Vec<Value>], are_numbered: bool) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    if are_numbered {
        let row = |first: usize| (first..first + columns).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
        return (0..rows.len()).map(|at| format!("({})", row(at * columns + 1))).collect::<Vec<_>>().join(", ");
    }
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row.as_str(); rows.len()].join(", ")
}

pub(super) fn sqlite_arguments(inputs: Inputs) -> Result<SqliteArguments, StorageError> {
    let Inputs::Values(values) = inputs else { return Err(StorageError::Driver("SQLite has no arrays".into())) };
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        value.add_to_sqlite(&mut arguments).map_err(StorageError::Driver)?;
    }
    Ok(arguments)
}

pub(super) fn postgres_arguments(inputs: Inputs) -> Result<PgArguments, StorageError> {
    let mut arguments = PgArguments::default();
    match inputs {
        Inputs::Values(values) => values.into_iter().try_for_each(|value| value.add_to_postgres(&mut arguments)),
        Inputs::Columns(columns) => columns.into_iter().try_for_each(|column| column.add_to_postgres(&mut arguments)),
    }
    .map_err(StorageError::Driver)?;
    Ok(arguments)
}
