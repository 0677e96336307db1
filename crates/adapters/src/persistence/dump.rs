//! Reads and writes whole tables, in a form that is the same for both databases: each value as SQLite stores it. So rows of one database
//! can be written into the other.

use super::connection::Connection;
use super::row::Row;
use super::schema::{Table, TableColumn};
use super::value::{Kind, Value, Values};
use futures_util::stream::{BoxStream, StreamExt};
use souk_domain::shared::{Amount, StorageError, Timestamp};

/// A value as SQLite stores it (the table in `value.rs`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// Converts a value that was read from PostgreSQL.
    pub(super) fn of(value: Value) -> Option<Self> {
        Some(match value {
            Value::Null(_) => Self::Null,
            Value::Text(text) => Self::Text(text),
            Value::Integer(number) => Self::Integer(number),
            Value::Bool(truth) => Self::Integer(i64::from(truth)),
            Value::Amount(amount) => Self::Text(format!("{amount:039}", amount = amount.base_units())),
            Value::Time(at) => Self::Integer(at.micros()),
            Value::Json(json) => Self::Text(json.to_string()),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::Malformed(_) => return None,
        })
    }

    /// The value of a column of this kind; `None`: the kind does not have it. Without a kind the column takes what SQLite stores.
    fn into_value(self, kind: Option<Kind>) -> Option<Value> {
        Some(match (self, kind) {
            (Self::Null, kind) => Value::Null(kind.unwrap_or(Kind::Text)),
            (Self::Integer(number), None | Some(Kind::Integer)) => Value::Integer(number),
            (Self::Integer(number @ (0 | 1)), Some(Kind::Bool)) => Value::Bool(number == 1),
            (Self::Integer(micros), Some(Kind::Time)) => Value::Time(Timestamp::from_micros(micros)),
            (Self::Text(text), None | Some(Kind::Text)) => Value::Text(text),
            (Self::Text(text), Some(Kind::Amount)) => Value::Amount(Amount::parse_base_units(&text).ok()?),
            (Self::Text(text), Some(Kind::Json)) => Value::Json(serde_json::from_str(&text).ok()?),
            (Self::Bytes(bytes), None | Some(Kind::Bytes)) => Value::Bytes(bytes),
            _ => return None,
        })
    }
}

/// Streams all rows of a table. The connection must be a snapshot or a transaction that has begun.
pub fn rows<'c>(connection: &'c mut Connection, table: &'c Table) -> BoxStream<'c, Result<Vec<Cell>, StorageError>> {
    let columns: Vec<_> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let order = table.own_reference.as_deref().map(|column| format!(" ORDER BY {} IS NOT NULL", quoted(column))).unwrap_or_default();
    let sql = format!("SELECT {} FROM {}{order}", columns.join(", "), quoted(&table.name));
    connection.stream(sql).map(|row| row.and_then(|row| cells(&row, table))).boxed()
}

fn cells(row: &Row, table: &Table) -> Result<Vec<Cell>, StorageError> {
    let read = |(position, column): (usize, &TableColumn)| row.cell(position, column.kind)?.ok_or_else(|| corrupt(table, column));
    table.columns.iter().enumerate().map(read).collect()
}

/// Whether the table has no row.
pub async fn is_empty(connection: &mut Connection, table: &Table) -> Result<bool, StorageError> {
    let mut rows = connection.stream(format!("SELECT 1 FROM {} LIMIT 1", quoted(&table.name)));
    Ok(rows.next().await.transpose()?.is_none())
}

/// Deletes all rows of a table.
pub async fn clear(connection: &mut Connection, table: &Table) -> Result<(), StorageError> {
    connection.run_text(format!("DELETE FROM {}", quoted(&table.name))).await
}

/// Inserts rows whose values are in the order of `columns`, a part of the table's columns.
pub async fn insert(
    connection: &mut Connection,
    table: &Table,
    columns: &[&TableColumn],
    rows: Vec<Vec<Cell>>,
) -> Result<(), StorageError> {
    let names: Vec<_> = columns.iter().map(|column| quoted(&column.name)).collect();
    let into = format!("INSERT INTO {} ({})", quoted(&table.name), names.join(", "));
    let convert = |row: Vec<Cell>| -> Result<Values, StorageError> {
        let value = |(cell, column): (Cell, &&TableColumn)| cell.into_value(column.kind).ok_or_else(|| corrupt(table, column));
        Ok(Values(Ok(row.into_iter().zip(columns).map(value).collect::<Result<_, _>>()?)))
    };
    let rows = rows.into_iter().map(convert).collect::<Result<Vec<_>, _>>()?;
    connection.insert_text(&into, rows).await.map(drop)
}

fn corrupt(table: &Table, column: &TableColumn) -> StorageError {
    StorageError::Driver(format!("{}.{} has a value that does not fit its type", table.name, column.name).into())
}

/// Quotes a name. Both databases accept this form, also of words that they reserve.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_each_kind_keeps_its_value_in_the_form_of_sqlite() {
        let values = [
            Value::Text("text".to_owned()),
            Value::Integer(-7),
            Value::Bool(true),
            Value::Amount(Amount::new(u128::MAX / 4)),
            Value::Time(Timestamp::from_micros(-1)),
            Value::Json(serde_json::json!({"a": ["1", null]})),
            Value::Bytes(vec![0, 255]),
        ];
        for value in values {
            let (kind, cell) = (value.kind(), Cell::of(value.clone()).expect("a cell"));
            assert_eq!(cell.into_value(Some(kind)), Some(value));
        }
        assert_eq!(Cell::Null.into_value(Some(Kind::Time)), Some(Value::Null(Kind::Time)));
    }

    #[test]
    fn a_value_that_does_not_fit_its_column_is_refused() {
        for (cell, kind) in [
            (Cell::Integer(2), Kind::Bool),
            (Cell::Text("-1".to_owned()), Kind::Amount),
            (Cell::Text("{".to_owned()), Kind::Json),
            (Cell::Bytes(vec![1]), Kind::Text),
            (Cell::Text("1".to_owned()), Kind::Time),
        ] {
            assert_eq!(cell.clone().into_value(Some(kind)), None, "{cell:?} {kind:?}");
        }
    }
}
