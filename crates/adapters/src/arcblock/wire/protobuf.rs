//! The subset of protobuf that transactions use: varints and length-delimited fields.

use super::DecodeError;

/// A field's value as encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

const VARINT: u64 = 0;
const DELIMITED: u64 = 2;

pub fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn write_number(number: u32, value: u64, out: &mut Vec<u8>) {
    write_varint((u64::from(number) << 3) | VARINT, out);
    write_varint(value, out);
}

pub fn write_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_varint((u64::from(number) << 3) | DELIMITED, out);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A field of a message with its number.
pub struct WireField<'a> {
    pub number: u32,
    pub wire: Wire<'a>,
}

/// Iterates over the fields of a message.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the next field, or `None` at the end.
    pub fn next_field(&mut self) -> Result<Option<WireField<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| DecodeError::Malformed)?;
        let wire = match tag & 7 {
            VARINT => Wire::Varint(self.varint()?),
            DELIMITED => {
                let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Malformed)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Malformed)?;
                self.rest = rest;
                Wire::Bytes(bytes)
            }
            _ => return Err(DecodeError::UnexpectedField(u64::from(number))),
        };
        Ok(Some(WireField { number, wire }))
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Malformed)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Malformed)
    }
}
