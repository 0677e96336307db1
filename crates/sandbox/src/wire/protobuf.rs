//! Canonical protobuf: fields in ascending order; default values are omitted.

use super::schema::{Field, INNER, Kind, Schema};
use super::{DecodeError, Message, Value, utf8};

const VARINT: u64 = 0;
const DELIMITED: u64 = 2;

/// The encoded value of a field.
enum Raw<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Raw<'a> {
    const fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(DecodeError::Malformed),
        }
    }

    const fn number(self) -> Result<u64, DecodeError> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(DecodeError::Malformed),
        }
    }
}

pub fn decode(schema: &'static Schema, bytes: &[u8]) -> Result<Message, DecodeError> {
    let mut message = Message::new(schema);
    for_each_field(bytes, |number, raw| {
        let field = schema.iter().find(|field| u64::from(field.number) == number).ok_or(DecodeError::UnknownField(number))?;
        if let Some(value) = value_of(field, raw)? {
            message.add(field, value);
        }
        Ok(())
    })?;
    Ok(message)
}

/// Decodes the value of a field. `None`: the default value, which a canonical message omits.
fn value_of(field: &Field, raw: Raw<'_>) -> Result<Option<Value>, DecodeError> {
    Ok(Some(match field.kind {
        Kind::Text => match utf8(raw.bytes()?)? {
            text if text.is_empty() && !field.repeated => return Ok(None),
            text => Value::Text(text),
        },
        Kind::Bytes => match raw.bytes()? {
            [] => return Ok(None),
            bytes => Value::Bytes(bytes.to_vec()),
        },
        Kind::Uint64 | Kind::Uint32 => match raw.number()? {
            0 => return Ok(None),
            number if matches!(field.kind, Kind::Uint32) && u32::try_from(number).is_err() => return Err(DecodeError::Malformed),
            number => Value::Uint(number),
        },
        Kind::Flag => match raw.number()? {
            0 => return Ok(None),
            _ => Value::Flag,
        },
        Kind::BigUint => {
            let mut digits = Vec::new();
            for_each_field(raw.bytes()?, |number, raw| match number {
                1 => raw.bytes().map(|bytes| digits = bytes.to_vec()),
                other => Err(DecodeError::UnknownField(other)),
            })?;
            Value::BigUint(digits)
        }
        Kind::Message(schema) => Value::Message(decode(schema, raw.bytes()?)?),
        Kind::Json => {
            let Any { type_url, value } = any(raw.bytes()?)?;
            if type_url != "json" {
                return Err(DecodeError::UnknownType(type_url));
            }
            let text = utf8(value)?;
            serde_json::from_str::<serde_json::Value>(&text).map_err(|_| DecodeError::Malformed)?;
            Value::Json(text)
        }
        Kind::Itx => {
            let Any { type_url, value } = any(raw.bytes()?)?;
            let inner = INNER.iter().find(|inner| inner.type_url == type_url).ok_or(DecodeError::UnknownType(type_url))?;
            Value::Inner(inner, decode(inner.schema, value)?)
        }
    }))
}

struct Any<'a> {
    type_url: String,
    value: &'a [u8],
}

/// Reads an `Any`: `{1 type url, 2 value}`.
fn any(bytes: &[u8]) -> Result<Any<'_>, DecodeError> {
    let (mut type_url, mut value) = (String::new(), [].as_slice());
    let mut rest = bytes;
    while !rest.is_empty() {
        let FieldRead { number, raw, rest: after } = next_field(rest)?;
        match number {
            1 => type_url = utf8(raw.bytes()?)?,
            2 => value = raw.bytes()?,
            other => return Err(DecodeError::UnknownField(other)),
        }
        rest = after;
    }
    Ok(Any { type_url, value })
}

fn for_each_field(bytes: &[u8], mut visit: impl FnMut(u64, Raw<'_>) -> Result<(), DecodeError>) -> Result<(), DecodeError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let FieldRead { number, raw, rest: after } = next_field(rest)?;
        visit(number, raw)?;
        rest = after;
    }
    Ok(())
}

struct FieldRead<'a> {
    number: u64,
    raw: Raw<'a>,
    /// What follows the field.
    rest: &'a [u8],
}

fn next_field(bytes: &[u8]) -> Result<FieldRead<'_>, DecodeError> {
    let (tag, rest) = varint(bytes)?;
    let (argument, rest) = varint(rest)?;
    match tag & 0b111 {
        VARINT => Ok(FieldRead { number: tag >> 3, raw: Raw::Number(argument), rest }),
        DELIMITED => {
            let length = usize::try_from(argument).map_err(|_| DecodeError::Malformed)?;
            let (value, rest) = rest.split_at_checked(length).ok_or(DecodeError::Malformed)?;
            Ok(FieldRead { number: tag >> 3, raw: Raw::Bytes(value), rest })
        }
        _ => Err(DecodeError::UnknownField(tag >> 3)),
    }
}

fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).filter(|last| *last < 10).ok_or(DecodeError::Malformed)? + 1;
    let (digits, rest) = bytes.split_at(length);
    let number = digits.iter().rev().fold(0_u64, |number, byte| (number << 7) | u64::from(byte & 0x7f));
    Ok((number, rest))
}

pub fn encode(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    for (field, value) in message.fields() {
        match value {
            Value::List(list) => list.iter().for_each(|value| write(field.number, value, &mut out)),
            value => write(field.number, value, &mut out),
        }
    }
    out
}

fn write(number: u32, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => write_bytes(number, text.as_bytes(), out),
        Value::Bytes(bytes) => write_bytes(number, bytes, out),
        Value::Uint(value) => write_number(number, *value, out),
        Value::Flag => write_number(number, 1, out),
        Value::BigUint(digits) => {
            let mut inner = Vec::new();
            if !digits.is_empty() {
                write_bytes(1, digits, &mut inner);
            }
            write_bytes(number, &inner, out);
        }
        Value::Message(message) => write_bytes(number, &encode(message), out),
        Value::Json(text) => write_any(number, "json", text.as_bytes(), out),
        Value::Inner(inner, message) => write_any(number, inner.type_url, &encode(message), out),
        Value::List(list) => list.iter().for_each(|value| write(number, value, out)),
    }
}

fn write_any(number: u32, type_url: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut any = Vec::new();
    write_bytes(1, type_url.as_bytes(), &mut any);
    if !value.is_empty() {
        write_bytes(2, value, &mut any);
    }
    write_bytes(number, &any, out);
}

fn write_number(number: u32, value: u64, out: &mut Vec<u8>) {
    write_varint((u64::from(number) << 3) | VARINT, out);
    write_varint(value, out);
}

fn write_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_varint((u64::from(number) << 3) | DELIMITED, out);
    write_varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn write_varint(value: u64, out: &mut Vec<u8>) {
    let mut rest = value;
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}
