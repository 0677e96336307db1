//! Canonical CBOR (RFC 8949 4.2.1). A message is a map whose keys are field numbers in ascending order; default values are omitted.

use super::schema::{Field, INNER, Kind, Schema};
use super::{DecodeError, Message, Value, utf8};
use serde_json::{Map, Number, Value as Json};

/// The self-described CBOR tag, by which chains distinguish the two encodings.
pub const PREFIX: [u8; 3] = [0xd9, 0xd9, 0xf7];
const POSITIVE_BIGNUM: u64 = 2;
/// Maximum nesting of the JSON in a transaction.
const MAX_DEPTH: u8 = 16;

/// The major types of CBOR.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

const FALSE: u64 = 20;
const TRUE: u64 = 21;
const NULL: u64 = 22;

struct AnyHead {
    type_url: String,
    /// The number of fields that follow.
    count: u64,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(length).map_err(|_| DecodeError::Malformed)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads the major type and the argument of the next value.
    fn head(&mut self) -> Result<(u8, u64), DecodeError> {
        let first = self.take(1)?[0];
        let argument = match first & 0x1f {
            low @ 0..24 => u64::from(low),
            // Simple values of 2, 4 or 8 bytes are floats, which a transaction must not contain.
            _ if first >> 5 == SIMPLE => return Err(DecodeError::Malformed),
            low @ 24..28 => self.take(1 << (low - 24))?.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)),
            _ => return Err(DecodeError::Malformed),
        };
        Ok((first >> 5, argument))
    }

    fn expect(&mut self, major: u8) -> Result<u64, DecodeError> {
        match self.head()? {
            (found, argument) if found == major => Ok(argument),
            _ => Err(DecodeError::Malformed),
        }
    }

    fn text(&mut self) -> Result<String, DecodeError> {
        let length = self.expect(TEXT)?;
        utf8(self.take(length)?)
    }

    fn bytes(&mut self) -> Result<Vec<u8>, DecodeError> {
        let length = self.expect(BYTES)?;
        Ok(self.take(length)?.to_vec())
    }

    fn message(&mut self, schema: &'static Schema) -> Result<Message, DecodeError> {
        let count = self.expect(MAP)?;
        self.fields(schema, count)
    }

    fn fields(&mut self, schema: &'static Schema, count: u64) -> Result<Message, DecodeError> {
        let mut message = Message::new(schema);
        for _ in 0..count {
            let number = self.expect(UINT)?;
            let field = schema.iter().find(|field| u64::from(field.number) == number).ok_or(DecodeError::UnknownField(number))?;
            let elements = if field.repeated { self.expect(LIST)? } else { 1 };
            for _ in 0..elements {
                if let Some(value) = self.value(field)? {
                    message.add(field, value);
                }
            }
        }
        Ok(message)
    }

    /// Reads the value of a field. `None`: the default value, which a canonical message omits.
    fn value(&mut self, field: &Field) -> Result<Option<Value>, DecodeError> {
        Ok(Some(match field.kind {
            Kind::Text => match self.text()? {
                text if text.is_empty() && !field.repeated => return Ok(None),
                text => Value::Text(text),
            },
            Kind::Bytes => match self.bytes()? {
                bytes if bytes.is_empty() => return Ok(None),
                bytes => Value::Bytes(bytes),
            },
            Kind::Uint64 | Kind::Uint32 => match self.expect(UINT)? {
                0 => return Ok(None),
                number if matches!(field.kind, Kind::Uint32) && u32::try_from(number).is_err() => return Err(DecodeError::Malformed),
                number => Value::Uint(number),
            },
            Kind::Flag => match self.expect(SIMPLE)? {
                TRUE => Value::Flag,
                FALSE => return Ok(None),
                _ => return Err(DecodeError::Malformed),
            },
            Kind::BigUint => match self.expect(TAG)? {
                POSITIVE_BIGNUM => Value::BigUint(self.bytes()?),
                _ => return Err(DecodeError::Malformed),
            },
            Kind::Message(schema) => Value::Message(self.message(schema)?),
            Kind::Json => match self.any()? {
                AnyHead { type_url, count: 1 } if type_url == "json" => match self.expect(UINT)? {
                    1 => Value::Json(self.json(MAX_DEPTH)?.to_string()),
                    other => return Err(DecodeError::UnknownField(other)),
                },
                AnyHead { type_url, .. } => return Err(DecodeError::UnknownType(type_url)),
            },
            Kind::Itx => {
                let AnyHead { type_url, count } = self.any()?;
                let inner = INNER.iter().find(|inner| inner.type_url == type_url).ok_or(DecodeError::UnknownType(type_url))?;
                Value::Inner(inner, self.fields(inner.schema, count)?)
            }
        }))
    }

    /// Reads the head of an `Any`: a map whose first key, 0, holds the type.
    fn any(&mut self) -> Result<AnyHead, DecodeError> {
        let count = self.expect(MAP)?.checked_sub(1).ok_or(DecodeError::Malformed)?;
        match self.expect(UINT)? {
            0 => Ok(AnyHead { type_url: self.text()?, count }),
            _ => Err(DecodeError::Malformed),
        }
    }

    fn json(&mut self, depth: u8) -> Result<Json, DecodeError> {
        let depth = depth.checked_sub(1).ok_or(DecodeError::Malformed)?;
        Ok(match self.head()? {
            (UINT, number) => Json::from(number),
            (NEGATIVE, number) => Json::from(-1 - i64::try_from(number).map_err(|_| DecodeError::Malformed)?),
            (TEXT, length) => Json::String(utf8(self.take(length)?)?),
            (LIST, count) => {
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.json(depth)?);
                }
                Json::Array(items)
            }
            (MAP, count) => {
                let mut members = Map::new();
                for _ in 0..count {
                    let name = self.text()?;
                    members.insert(name, self.json(depth)?);
                }
                Json::Object(members)
            }
            (SIMPLE, TRUE) => Json::Bool(true),
            (SIMPLE, FALSE) => Json::Bool(false),
            (SIMPLE, NULL) => Json::Null,
            _ => return Err(DecodeError::Malformed),
        })
    }
}

/// Decodes a message. `bytes` begin after [`PREFIX`].
pub fn decode(schema: &'static Schema, bytes: &[u8]) -> Result<Message, DecodeError> {
    let mut reader = Reader(bytes);
    let message = reader.message(schema)?;
    if reader.0.is_empty() { Ok(message) } else { Err(DecodeError::Malformed) }
}

/// Encodes a message, including [`PREFIX`], which is signed and hashed as well.
pub fn encode(message: &Message) -> Vec<u8> {
    let mut out = PREFIX.to_vec();
    write_message(message, None, &mut out);
    out
}

fn write_message(message: &Message, type_url: Option<&str>, out: &mut Vec<u8>) {
    let fields: Vec<_> = message.fields().filter(|(_, value)| !is_zero(value)).collect();
    write_head(MAP, (fields.len() + usize::from(type_url.is_some())) as u64, out);
    if let Some(type_url) = type_url {
        write_head(UINT, 0, out);
        write_text(type_url, out);
    }
    for (field, value) in fields {
        write_head(UINT, u64::from(field.number), out);
        write(value, out);
    }
}

/// Returns whether a big number is zero: the default in CBOR, but not in protobuf.
fn is_zero(value: &Value) -> bool {
    matches!(value, Value::BigUint(digits) if digits.iter().all(|digit| *digit == 0))
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => write_text(text, out),
        Value::Bytes(bytes) => write_bytes(bytes, out),
        Value::Uint(number) => write_head(UINT, *number, out),
        Value::Flag => write_head(SIMPLE, TRUE, out),
        Value::BigUint(digits) => {
            let start = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
            write_head(TAG, POSITIVE_BIGNUM, out);
            write_bytes(&digits[start..], out);
        }
        Value::Message(message) => write_message(message, None, out),
        Value::Json(text) => {
            write_head(MAP, 2, out);
            write_head(UINT, 0, out);
            write_text("json", out);
            write_head(UINT, 1, out);
            write_json(&serde_json::from_str(text).unwrap_or_default(), out);
        }
        Value::Inner(inner, message) => write_message(message, Some(inner.type_url), out),
        Value::List(list) => {
            write_head(LIST, list.len() as u64, out);
            list.iter().for_each(|value| write(value, out));
        }
    }
}

fn write_json(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => write_head(SIMPLE, NULL, out),
        Json::Bool(value) => write_head(SIMPLE, if *value { TRUE } else { FALSE }, out),
        Json::Number(number) => write_number(number, out),
        Json::String(text) => write_text(text, out),
        Json::Array(items) => {
            write_head(LIST, items.len() as u64, out);
            items.iter().for_each(|item| write_json(item, out));
        }
        Json::Object(members) => {
            write_head(MAP, members.len() as u64, out);
            let mut members: Vec<_> = members.iter().collect();
            // Keys are sorted by their encoding, in which the length of a text precedes its characters.
            members.sort_by_key(|(name, _)| (name.len(), name.as_bytes()));
            for (name, value) in members {
                write_text(name, out);
                write_json(value, out);
            }
        }
    }
}

/// Writes an integer. Fractions become null: the decoder rejects them, so they do not occur.
fn write_number(number: &Number, out: &mut Vec<u8>) {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => write_head(UINT, number, out),
        (None, Some(number)) => write_head(NEGATIVE, (-1 - number).unsigned_abs(), out),
        (None, None) => write_head(SIMPLE, NULL, out),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_head(TEXT, text.len() as u64, out);
    out.extend(text.as_bytes());
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_head(BYTES, bytes.len() as u64, out);
    out.extend(bytes);
}

/// Writes a major type and its argument in as few bytes as possible.
fn write_head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let bytes = argument.to_be_bytes();
    let (low, length) = match argument {
        0..24 => return out.push((major << 5) | bytes[7]),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push((major << 5) | low);
    out.extend(&bytes[8 - length..]);
}
