//! One row of a query result, from either driver.

use super::database::storage;
use super::dump::Cell;
use super::value::{Kind, Stored, Value};
use souk_domain::shared::StorageError;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, ColumnIndex as _, Row as _, TypeInfo, ValueRef};
use std::ops::Range;

/// Converts a driver's result type to this module's type.
pub(super) trait QueryResult {
    type Output;
    fn into_output(self, sql: &'static str) -> Self::Output;
}

macro_rules! query_results {
    ($($driver:ident, $row:ty, $done:ty;)*) => {$(
        impl QueryResult for $row {
            type Output = Row;
            fn into_output(self, sql: &'static str) -> Row { Row { sql, cells: Cells::$driver(self), part: None } }
        }

        impl QueryResult for $done {
            type Output = u64;
            fn into_output(self, _: &'static str) -> u64 { self.rows_affected() }
        }
    )*};
}
query_results! {
    Sqlite, SqliteRow, sqlx::sqlite::SqliteQueryResult;
    Postgres, PgRow, sqlx::postgres::PgQueryResult;
}

impl<T: QueryResult> QueryResult for Option<T> {
    type Output = Option<T::Output>;
    fn into_output(self, sql: &'static str) -> Self::Output {
        self.map(|row| row.into_output(sql))
    }
}

impl<T: QueryResult> QueryResult for Vec<T> {
    type Output = Vec<T::Output>;
    fn into_output(self, sql: &'static str) -> Self::Output {
        self.into_iter().map(|row| row.into_output(sql)).collect()
    }
}

/// One row of a query result.
pub struct Row {
    sql: &'static str,
    cells: Cells,
    /// Limits lookups to these columns, for joined tables that share column names.
    part: Option<Range<usize>>,
}

enum Cells {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// Returns the value of a column by name. A value that cannot be read as `T` is [`StorageError::Corrupt`].
    pub fn get<T: Stored>(&self, column: &'static str) -> Result<T, StorageError> {
        match T::from_value(self.value(column, T::KIND)?) {
            Some(value) => Ok(value),
            None => {
                let value = self.value(column, T::KIND)?.shown();
                Err(StorageError::Corrupt { table: table_of(self.sql), column, value })
            }
        }
    }

    /// Reads a row of two joined tables, split as by [`Row::part`].
    pub fn pair<A, B>(
        mut self,
        first: impl FnOnce(&Row) -> Result<A, StorageError>,
        second: impl FnOnce(&Row) -> Result<B, StorageError>,
    ) -> Result<(A, B), StorageError> {
        Ok((first(self.part(0)?)?, second(self.part(1)?)?))
    }

    /// Narrows a row of joined tables (`SELECT a.*, b.*`) to the columns of one table, counted from 0. Each table's first column must be
    /// `id`: it marks where the table's columns start.
    pub fn part(&mut self, index: usize) -> Result<&Self, StorageError> {
        let mut start = 0;
        for _ in 0..index {
            start = self.position_within(start + 1..usize::MAX, "id")?;
        }
        let end = self.position_within(start + 1..usize::MAX, "id").unwrap_or(usize::MAX);
        self.part = Some(start..end);
        Ok(self)
    }

    /// Reads a part, or returns `None` if an outer join found no row (its `id` is NULL).
    pub fn read_if_found<T>(&self, read: impl FnOnce(&Row) -> Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        self.get::<Option<String>>("id")?.map(|_| read(self)).transpose()
    }

    /// Returns the position of the first column with this name within a part of the row.
    fn position_within(&self, part: Range<usize>, column: &'static str) -> Result<usize, StorageError> {
        fn position<C: Column>(columns: &[C], part: Range<usize>, name: &str) -> Option<usize> {
            let mut positions = part.start..part.end.min(columns.len());
            positions.find(|position| columns[*position].name() == name)
        }
        let found = match &self.cells {
            Cells::Sqlite(row) => position(row.columns(), part, column),
            Cells::Postgres(row) => position(row.columns(), part, column),
        };
        found.ok_or_else(|| storage(sqlx::Error::ColumnNotFound(column.to_owned())))
    }

    /// Returns the value at a position as SQLite stores it. `kind`: that of the column, which PostgreSQL needs. `None`: the value is none of
    /// the kind.
    pub(super) fn cell(&self, position: usize, kind: Option<Kind>) -> Result<Option<Cell>, StorageError> {
        match (&self.cells, kind) {
            (Cells::Sqlite(row), _) => sqlite_cell(row, position).map_err(storage),
            (Cells::Postgres(row), Some(kind)) => Ok(Cell::of(Value::of_postgres(row, position, kind).map_err(storage)?)),
            (Cells::Postgres(_), None) => Ok(None),
        }
    }

    fn value(&self, column: &'static str, kind: Kind) -> Result<Value, StorageError> {
        let position = match (&self.part, &self.cells) {
            (Some(part), _) => self.position_within(part.clone(), column)?,
            (None, Cells::Sqlite(row)) => column.index(row).map_err(storage)?,
            (None, Cells::Postgres(row)) => column.index(row).map_err(storage)?,
        };
        match &self.cells {
            Cells::Sqlite(row) => Value::of_sqlite(row, position, kind),
            Cells::Postgres(row) => Value::of_postgres(row, position, kind),
        }
        .map_err(storage)
    }
}

fn sqlite_cell(row: &SqliteRow, position: usize) -> Result<Option<Cell>, sqlx::Error> {
    let raw = row.try_get_raw(position)?;
    if raw.is_null() {
        return Ok(Some(Cell::Null));
    }
    let kind = raw.type_info().name().to_owned();
    Ok(match kind.as_str() {
        "INTEGER" => Some(Cell::Integer(row.try_get_unchecked(position)?)),
        "TEXT" => Some(Cell::Text(row.try_get_unchecked(position)?)),
        "BLOB" => Some(Cell::Bytes(row.try_get_unchecked(position)?)),
        _ => None,
    })
}

/// Returns the first table that a statement names, for error messages.
fn table_of(sql: &'static str) -> &'static str {
    let mut words = sql.split_whitespace();
    words.find(|word| ["FROM", "INTO", "UPDATE"].iter().any(|mark| word.eq_ignore_ascii_case(mark)));
    words.next().unwrap_or("result")
}
