//! Messages as JSON. Contains every field of the schema, including default values, like the GraphQL API of a chain.

use super::schema::{Field, Kind};
use super::{Message, Value};
use serde_json::{Map, Value as Json, json};

impl Message {
    pub(super) fn to_json(&self) -> Map<String, Json> {
        let shown = |field: &Field| self.values.get(field.name).map_or_else(|| default_of(field), to_json);
        self.schema.iter().map(|field| (field.name.to_owned(), shown(field))).collect()
    }
}

fn default_of(field: &Field) -> Json {
    match field.kind {
        _ if field.repeated => json!([]),
        Kind::Text | Kind::Bytes => json!(""),
        Kind::Uint64 | Kind::Uint32 => json!(0),
        Kind::Flag => json!(false),
        Kind::BigUint | Kind::Message(_) | Kind::Json | Kind::Itx => Json::Null,
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Bytes(bytes) => json!(hex::encode_upper(bytes)),
        Value::Uint(number) => json!(number),
        Value::Flag => json!(true),
        Value::BigUint(digits) => json!(decimal(digits)),
        Value::Message(message) => Json::Object(message.to_json()),
        Value::Json(text) => json!({"typeUrl": "json", "value": serde_json::from_str::<Json>(text).unwrap_or_default()}),
        Value::Inner(inner, message) => {
            let mut shown = message.to_json();
            shown.insert("typeUrl".to_owned(), json!(inner.type_url));
            Json::Object(shown)
        }
        Value::List(list) => list.iter().map(to_json).collect(),
    }
}

/// Formats big-endian digits as decimal text. Numbers above 128 bits are formatted as hex, which is not a valid amount.
fn decimal(digits: &[u8]) -> String {
    let start = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
    match &digits[start..] {
        short if short.len() <= 16 => short.iter().fold(0_u128, |number, digit| (number << 8) | u128::from(*digit)).to_string(),
        long => format!("0x{}", hex::encode(long)),
    }
}
