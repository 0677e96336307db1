//! Rows as JSON lines: each row is an array of `null`, integers, texts, and bytes as `{"base64": ".."}`.

use crate::persistence::dump::Cell;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Appends a row and its line break.
pub(super) fn write(cells: Vec<Cell>, to: &mut Vec<u8>) {
    let values = cells.into_iter().map(|cell| match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::from(number),
        Cell::Text(text) => Value::from(text),
        Cell::Bytes(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
    });
    to.extend_from_slice(Value::Array(values.collect()).to_string().as_bytes());
    to.push(b'\n');
}

/// Reads a row of `columns` values. The error says why the line is invalid.
pub(super) fn read(line: &[u8], columns: usize) -> Result<Vec<Cell>, String> {
    let values: Vec<Value> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if values.len() != columns {
        return Err(format!("a row has {} values instead of {columns}", values.len()));
    }
    values.into_iter().map(cell).collect()
}

fn cell(value: Value) -> Result<Cell, String> {
    let malformed = || "a value has none of the expected forms".to_owned();
    Ok(match value {
        Value::Null => Cell::Null,
        Value::Number(number) => Cell::Integer(number.as_i64().ok_or_else(malformed)?),
        Value::String(text) => Cell::Text(text),
        Value::Object(object) => {
            let text = object.get("base64").and_then(Value::as_str).ok_or_else(malformed)?;
            Cell::Bytes(STANDARD.decode(text).map_err(|_| malformed())?)
        }
        Value::Bool(_) | Value::Array(_) => return Err(malformed()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_cell() -> impl Strategy<Value = Cell> {
        prop_oneof![
            Just(Cell::Null),
            any::<i64>().prop_map(Cell::Integer),
            any::<String>().prop_map(Cell::Text),
            any::<Vec<u8>>().prop_map(Cell::Bytes),
        ]
    }

    proptest! {
        #[test]
        fn a_row_of_any_values_is_one_line_and_is_read_as_written(cells in prop::collection::vec(any_cell(), 0..6)) {
            let mut line = Vec::new();
            write(cells.clone(), &mut line);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert_eq!(read(&line[..line.len() - 1], cells.len()), Ok(cells));
        }
    }

    #[test]
    fn lines_that_are_no_rows_are_refused() {
        for line in ["", "{}", "[1, 2]", "[1.5]", "[true]", "[[1]]", "[{\"base64\": \"?\"}]", "[{}]", "[18446744073709551615]"] {
            assert!(read(line.as_bytes(), 1).is_err(), "{line}");
        }
    }
}
