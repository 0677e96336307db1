//! Values that take more than one column, and lists that go into a statement as one value.

use super::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use souk_domain::billing::Period;
use souk_domain::shared::{StorageError, Text, Timestamp};

/// A JSON column as a type of ours. Anything else in it is [`StorageError::Corrupt`].
pub(super) fn read_json<T: DeserializeOwned>(row: &Row, table: &'static str, column: &'static str) -> Result<T, StorageError> {
    let value: Value = row.get(column)?;
    T::deserialize(&value).map_err(|_| StorageError::Corrupt { table, column, value: value.to_string().chars().take(80).collect() })
}

/// What a JSON column takes.
pub(super) fn to_json(value: &impl Serialize) -> Result<Value, StorageError> {
    serde_json::to_value(value).map_err(|error| StorageError::Driver(Box::new(error)))
}

/// Keys as one JSON array: both databases unfold it, so that a statement with any number of keys has one text.
pub(super) fn keys<T: ToString>(ids: &[T]) -> Value {
    ids.iter().map(|id| Value::String(id.to_string())).collect()
}

pub(super) fn read_text(row: &Row, en: &'static str, zh: &'static str) -> Result<Text, StorageError> {
    Ok(Text { en: row.get(en)?, zh: row.get(zh)? })
}

/// One line of lower-case text for a search column: Rust knows the cases of all scripts, the databases do not agree on them.
/// Control characters go, because PostgreSQL keeps no NUL.
pub(super) fn searchable(parts: &[&str]) -> String {
    let line = parts.join(" ").to_lowercase();
    line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A `LIKE .. ESCAPE '\'` pattern for text that contains `words`, in whatever case.
pub(super) fn containing(words: &str) -> String {
    format!("%{}%", escaped(words))
}

/// Lower-case text in which `LIKE` finds no wildcards.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A period in two columns that are both there or both not.
pub(super) fn read_period(row: &Row, start: &'static str, end: &'static str) -> Result<Option<Period>, StorageError> {
    let (start, end): (Option<Timestamp>, Option<Timestamp>) = (row.get(start)?, row.get(end)?);
    Ok(start.zip(end).map(|(start, end)| Period { start, end }))
}
