//! Values that span several columns, and lists bound to a statement as one value.

use super::{Row, Values};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use souk_domain::billing::Period;
use souk_domain::payment::Description;
use souk_domain::pricing::ProductNames;
use souk_domain::shared::{StorageError, Text, Timestamp};

/// Reads a JSON column as `T`. Any other content is [`StorageError::Corrupt`].
pub(super) fn read_json<T: DeserializeOwned>(row: &Row, table: &'static str, column: &'static str) -> Result<T, StorageError> {
    let value: Value = row.get(column)?;
    T::deserialize(&value).map_err(|_| StorageError::Corrupt { table, column, value: value.to_string().chars().take(80).collect() })
}

/// Serializes a value for a JSON column.
pub(super) fn to_json(value: &impl Serialize) -> Result<Value, StorageError> {
    serde_json::to_value(value).map_err(|error| StorageError::Driver(Box::new(error)))
}

/// Packs keys into one JSON array. Both databases can expand it, so that one statement text serves any number of keys.
pub(super) fn keys<T: ToString>(ids: &[T]) -> Value {
    ids.iter().map(|id| Value::String(id.to_string())).collect()
}

pub(super) fn read_text(row: &Row, en: &'static str, zh: &'static str) -> Result<Text, StorageError> {
    Ok(Text { en: row.get(en)?, zh: row.get(zh)? })
}

/// Reads the columns `name`, `name_zh` and `name_others`.
pub(super) fn read_names(row: &Row) -> Result<ProductNames, StorageError> {
    Ok(ProductNames { first: read_text(row, "name", "name_zh")?, others: row.get("name_others")? })
}

/// Binds the columns `name`, `name_zh` and `name_others`.
pub(super) fn bind_names(values: Values, names: &ProductNames) -> Values {
    values.bind(&names.first.en).bind(&names.first.zh).bind(names.others)
}

/// Reads the columns `description`, `name`, `name_zh` and `name_others`.
pub(super) fn read_description(table: &'static str, row: &Row) -> Result<Description, StorageError> {
    let code: String = row.get("description")?;
    let description = Description::of_code(&code, read_names(row)?);
    description.ok_or(StorageError::Corrupt { table, column: "description", value: code })
}

/// Binds the columns `description`, `name`, `name_zh` and `name_others`.
pub(super) fn bind_description(values: Values, description: &Description) -> Values {
    let none = ProductNames::default();
    bind_names(values.bind(description.code()), description.name().unwrap_or(&none))
}

/// Builds one line of lower-case text for a search column. Rust converts the case because the two databases differ for scripts other
/// than Latin. Control characters are removed, because PostgreSQL cannot store NUL.
pub(super) fn searchable(parts: &[&str]) -> String {
    let line = parts.join(" ").to_lowercase();
    line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Builds a `LIKE .. ESCAPE '\'` pattern that matches lower-case text containing `words`, in any case.
pub(super) fn containing(words: &str) -> String {
    format!("%{}%", escaped(words))
}

/// Lower-cases a text and escapes the wildcards of `LIKE`.
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

/// Reads a period from two columns that are either both set or both NULL.
pub(super) fn read_period(row: &Row, start: &'static str, end: &'static str) -> Result<Option<Period>, StorageError> {
    let (start, end): (Option<Timestamp>, Option<Timestamp>) = (row.get(start)?, row.get(end)?);
    Ok(start.zip(end).map(|(start, end)| Period { start, end }))
}
