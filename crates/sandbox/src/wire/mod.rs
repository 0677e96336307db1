//! The wire format of ArcBlock's chains (chains.md 3.1 and 3.2): transactions in protobuf and in canonical CBOR.
//!
//! A message is a tree of values that follows a schema; one table of schemas defines both encodings and the JSON output.

mod cbor;
mod json;
mod protobuf;
mod schema;
mod transaction;

pub use transaction::{SignedTransaction, TransactionError, hash_of};

use schema::{Inner, Schema};
use std::collections::BTreeMap;

/// Why bytes cannot be decoded as a transaction of this ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the bytes end too early or are not well formed")]
    Malformed,
    #[error("there is no field {0}, or it has another type")]
    UnknownField(u64),
    #[error("transactions of type {0} are not supported")]
    UnknownType(String),
}

/// The value of a field. Defaults are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Uint(u64),
    Flag,
    /// Big-endian. Some protobuf writers send zero as one zero byte, which is kept.
    BigUint(Vec<u8>),
    Message(Message),
    /// The JSON data of a transaction, as text.
    Json(String),
    Inner(&'static Inner, Message),
    List(Vec<Self>),
}

/// A message: its values by field name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    schema: &'static Schema,
    values: BTreeMap<&'static str, Value>,
}

impl Message {
    const fn new(schema: &'static Schema) -> Self {
        Self { schema, values: BTreeMap::new() }
    }

    /// Sets the value of a field; for a repeated field, appends an element.
    fn add(&mut self, field: &'static schema::Field, value: Value) {
        if field.repeated {
            match self.values.entry(field.name).or_insert_with(|| Value::List(Vec::new())) {
                Value::List(list) => list.push(value),
                other => *other = value,
            }
        } else {
            self.values.insert(field.name, value);
        }
    }

    /// The fields that have a value, in ascending order.
    fn fields(&self) -> impl Iterator<Item = (&'static schema::Field, &Value)> {
        self.schema.iter().filter_map(|field| Some((field, self.values.get(field.name)?)))
    }

    fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    fn bytes(&self, name: &str) -> &[u8] {
        match self.values.get(name) {
            Some(Value::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    fn uint(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some(Value::Uint(number)) => *number,
            _ => 0,
        }
    }

    fn messages(&self, name: &str) -> impl Iterator<Item = &Self> {
        let list = match self.values.get(name) {
            Some(Value::List(list)) => list.as_slice(),
            _ => &[],
        };
        list.iter().filter_map(|value| match value {
            Value::Message(message) => Some(message),
            _ => None,
        })
    }

    fn messages_mut(&mut self, name: &str) -> impl Iterator<Item = &mut Self> {
        let list = match self.values.get_mut(name) {
            Some(Value::List(list)) => list.as_mut_slice(),
            _ => &mut [],
        };
        list.iter_mut().filter_map(|value| match value {
            Value::Message(message) => Some(message),
            _ => None,
        })
    }
}

fn utf8(bytes: &[u8]) -> Result<String, DecodeError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| DecodeError::Malformed)
}
