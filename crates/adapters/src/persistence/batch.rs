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
    /// Values, and after them the columns of many rows; only on PostgreSQL.
    Columns(Vec<Value>, Vec<Column>),
}

/// A batch of this many rows binds a column once if all rows have the same value. In a smaller batch that would save little, and each
/// combination of such columns is one more text for the driver to prepare.
const EQUAL_FROM: usize = 16;

/// The values of many rows, as parts of a statement.
pub(super) struct Rows {
    /// The value of each column: a placeholder, or a column of `from`.
    pub values: Vec<String>,
    /// The FROM clause of the values, empty for one row. Its text must come after that of the values.
    pub from: String,
    pub inputs: Inputs,
}

impl Rows {
    /// All rows have the same number of values.
    pub(super) fn new(mut rows: Vec<Vec<Value>>, is_sqlite: bool) -> Self {
        let (mut bound, mut varying) = (Vec::new(), 0);
        let value = |equal| match equal {
            None => {
                varying += 1;
                format!("source.column{varying}")
            }
            Some(value) => {
                let kind = Value::kind(&value).postgres_name();
                bound.push(value);
                if is_sqlite { "?".to_owned() } else { format!("${}::{kind}", bound.len()) }
            }
        };
        let values = take_equal_columns(&mut rows).into_iter().map(value).collect();
        if varying == 0 {
            return Self { values, from: String::new(), inputs: Inputs::Values(bound) };
        }
        if is_sqlite {
            let from = format!("FROM (VALUES {}) AS source", placeholders(&rows));
            bound.reserve(rows.len() * varying);
            bound.extend(rows.into_iter().flatten());
            return Self { values, from, inputs: Inputs::Values(bound) };
        }
        // One text for any number of rows, and fewer values to bind.
        let columns = columns(rows);
        let array = |(column, number): (&Column, usize)| format!("${number}::{}[]", column.kind.postgres_name());
        let arrays: Vec<_> = columns.iter().zip(bound.len() + 1..).map(array).collect();
        let names: Vec<_> = (1..=varying).map(|number| format!("column{number}")).collect();
        let from = format!("FROM unnest({}) AS source ({})", arrays.join(", "), names.join(", "));
        Self { values, from, inputs: Inputs::Columns(bound, columns) }
    }
}

/// Returns the value of each column that is to be bound once, and takes it out of the rows. Leaves at least one column of several rows.
fn take_equal_columns(rows: &mut [Vec<Value>]) -> Vec<Option<Value>> {
    let (count, Some((first, others))) = (rows.len(), rows.split_first_mut()) else { return Vec::new() };
    let is_equal = |place: usize| (count == 1 || count >= EQUAL_FROM) && others.iter().all(|row| row[place] == first[place]);
    let mut are_equal: Vec<_> = (0..first.len()).map(is_equal).collect();
    if count > 1 && are_equal.iter().all(|is_equal| *is_equal) {
        are_equal[0] = false;
    }
    for row in others {
        let mut places = are_equal.iter();
        row.retain(|_| !places.next().is_some_and(|is_equal| *is_equal));
    }
    let (mut equal, mut varying) = (Vec::with_capacity(first.len()), Vec::with_capacity(first.len()));
    for (value, is_equal) in std::mem::take(first).into_iter().zip(are_equal) {
        match is_equal {
            true => equal.push(Some(value)),
            false => {
                equal.push(None);
                varying.push(value);
            }
        }
    }
    *first = varying;
    equal
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

/// Returns `(?, ?), (?, ?)`. All rows have the same number of values. SQLite treats a numbered parameter as a named one, and binding each
/// walks the list of all names.
fn placeholders(rows: &[Vec<Value>]) -> String {
    let row = format!("({})", vec!["?"; rows.first().map_or(0, Vec::len)].join(", "));
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
        Inputs::Columns(values, columns) => values
            .into_iter()
            .try_for_each(|value| value.add_to_postgres(&mut arguments))
            .and_then(|()| columns.into_iter().try_for_each(|column| column.add_to_postgres(&mut arguments))),
    }
    .map_err(StorageError::Driver)?;
    Ok(arguments)
}
