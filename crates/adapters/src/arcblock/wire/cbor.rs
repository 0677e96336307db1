//! The subset of CBOR (RFC 8949) that transactions use, written in its deterministic form (4.2.1).

use super::DecodeError;

/// The maximum nesting depth of values. Transactions need less than half of it.
const MAX_DEPTH: u8 = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cbor {
    Uint(u64),
    /// The number `-1 - n`.
    Negative(u64),
    Bytes(Vec<u8>),
    Text(String),
    List(Vec<Self>),
    /// Entries in any order. They are sorted by the bytes of their keys when written.
    Map(Vec<(Self, Self)>),
    Tag(u64, Box<Self>),
    Bool(bool),
    Null,
}

impl Cbor {
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uint(value) => write_head(0, *value, out),
            Self::Negative(value) => write_head(1, *value, out),
            Self::Bytes(bytes) => {
                write_head(2, bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
            Self::Text(text) => {
                write_head(3, text.len() as u64, out);
                out.extend_from_slice(text.as_bytes());
            }
            Self::List(items) => {
                write_head(4, items.len() as u64, out);
                items.iter().for_each(|item| item.write(out));
            }
            Self::Map(entries) => {
                write_head(5, entries.len() as u64, out);
                let mut written: Vec<(Vec<u8>, &Self)> = entries.iter().map(|(key, value)| (key.to_bytes(), value)).collect();
                written.sort_by(|one, other| one.0.cmp(&other.0));
                for (key, value) in written {
                    out.extend_from_slice(&key);
                    value.write(out);
                }
            }
            Self::Tag(tag, value) => {
                write_head(6, *tag, out);
                value.write(out);
            }
            Self::Bool(value) => out.push(0xf4 + u8::from(*value)),
            Self::Null => out.push(0xf6),
        }
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Reads exactly one value. Does not check that the encoding is deterministic: to check that, write the value again and compare.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader { rest: bytes };
        let value = reader.value(MAX_DEPTH)?;
        if reader.rest.is_empty() { Ok(value) } else { Err(DecodeError::Malformed) }
    }
}

fn write_head(major: u8, value: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    match value {
        0..24 => out.push(major | value as u8),
        24..0x100 => out.extend([major | 24, value as u8]),
        0x100..0x1_0000 => {
            out.push(major | 25);
            out.extend((value as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(major | 26);
            out.extend((value as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend(value.to_be_bytes());
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, length: u64) -> Result<&[u8], DecodeError> {
        let length = usize::try_from(length).map_err(|_| DecodeError::Malformed)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn value(&mut self, depth: u8) -> Result<Cbor, DecodeError> {
        let depth = depth.checked_sub(1).ok_or(DecodeError::Malformed)?;
        let head = self.take(1)?[0];
        let (major, low) = (head >> 5, head & 0x1f);
        if major == 7 {
            return match low {
                20 => Ok(Cbor::Bool(false)),
                21 => Ok(Cbor::Bool(true)),
                22 => Ok(Cbor::Null),
                // Floats are rejected, because the languages involved convert them differently.
                _ => Err(DecodeError::Malformed),
            };
        }
        let argument = match low {
            0..24 => u64::from(low),
            24..28 => self.take(1 << (low - 24))?.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)),
            _ => return Err(DecodeError::Malformed),
        };
        Ok(match major {
            0 => Cbor::Uint(argument),
            1 => Cbor::Negative(argument),
            2 => Cbor::Bytes(self.take(argument)?.to_vec()),
            3 => Cbor::Text(String::from_utf8(self.take(argument)?.to_vec()).map_err(|_| DecodeError::Malformed)?),
            4 => {
                let mut items = Vec::new();
                for _ in 0..argument {
                    items.push(self.value(depth)?);
                }
                Cbor::List(items)
            }
            5 => {
                let mut entries = Vec::new();
                for _ in 0..argument {
                    let key = self.value(depth)?;
                    entries.push((key, self.value(depth)?));
                }
                Cbor::Map(entries)
            }
            _ => Cbor::Tag(argument, Box::new(self.value(depth)?)),
        })
    }
}
