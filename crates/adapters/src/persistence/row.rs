//! One row of an answer, from either driver.

use super::database::storage;
use super::value::{Kind, Stored, Value};
use souk_domain::shared::StorageError;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row as _};
use std::ops::Range;

/// What a driver answers, as ours.
pub(super) trait Answer {
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
