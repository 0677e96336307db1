//! Two encodings of the same messages: protobuf, which is sent to wallets, and canonical CBOR, which chains also accept.
//!
//! Both use the same field numbers and omit default values, so each message is described once, with [`messages!`].

pub mod cbor;
mod fields;
pub mod protobuf;

use cbor::Cbor;
use protobuf::Wire;

/// The encoding of a transaction. Its hash, its signatures and the addresses derived from it depend on the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Protobuf,
    Cbor,
}

/// Reasons why bytes cannot be decoded as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the bytes end too early or are not well formed")]
    Malformed,
    #[error("field {0} is not known or has another type")]
    UnexpectedField(u64),
    #[error("transactions of type {0} are not supported")]
    UnsupportedType(String),
    /// The encoding is not canonical. Each message must have exactly one encoding; another one would be a second transaction with the same
    /// signature.
    #[error("the bytes are not the canonical encoding of what they say")]
    NotCanonical,
}

/// A field value in both encodings. Both omit default values.
pub trait Field: Sized + Default {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>);
    /// Called once per element for repeated fields.
    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError>;
    fn to_cbor(&self) -> Option<Cbor>;
    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError>;
}

/// A message of numbered fields.
pub trait Message: Sized + Default {
    fn write_protobuf(&self, out: &mut Vec<u8>);
    fn read_protobuf_field(&mut self, number: u32, wire: Wire<'_>) -> Result<(), DecodeError>;
    fn cbor_fields(&self) -> Vec<(u64, Cbor)>;
    fn read_cbor_field(&mut self, number: u64, value: Cbor) -> Result<(), DecodeError>;

    fn to_protobuf(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_protobuf(&mut out);
        out
    }

    fn from_protobuf(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        let mut reader = protobuf::Reader::new(bytes);
        while let Some(protobuf::WireField { number, wire }) = reader.next_field()? {
            message.read_protobuf_field(number, wire)?;
        }
        Ok(message)
    }

    fn to_cbor_map(&self) -> Cbor {
        Cbor::Map(self.cbor_fields().into_iter().map(|(number, value)| (Cbor::Uint(number), value)).collect())
    }

    fn from_cbor_map(value: Cbor) -> Result<Self, DecodeError> {
        let Cbor::Map(entries) = value else { return Err(DecodeError::Malformed) };
        let mut message = Self::default();
        for (key, value) in entries {
            let Cbor::Uint(number) = key else { return Err(DecodeError::Malformed) };
            message.read_cbor_field(number, value)?;
        }
        Ok(message)
    }
}

/// Defines messages: `Name { number field: Type, … }`, with ascending numbers.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($number:literal $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $(pub $field: $kind,)* }

        impl $crate::arcblock::wire::Message for $name {
            fn write_protobuf(&self, out: &mut Vec<u8>) {
                $($crate::arcblock::wire::Field::write_protobuf(&self.$field, $number, out);)*
            }

            fn read_protobuf_field(
                &mut self,
                number: u32,
                wire: $crate::arcblock::wire::protobuf::Wire<'_>,
            ) -> Result<(), $crate::arcblock::wire::DecodeError> {
                match number {
                    $($number => $crate::arcblock::wire::Field::read_protobuf(&mut self.$field, wire),)*
                    other => Err($crate::arcblock::wire::DecodeError::UnexpectedField(u64::from(other))),
                }
            }

            fn cbor_fields(&self) -> Vec<(u64, $crate::arcblock::wire::cbor::Cbor)> {
                let mut fields = Vec::new();
                $(if let Some(value) = $crate::arcblock::wire::Field::to_cbor(&self.$field) { fields.push(($number, value)); })*
                fields
            }

            fn read_cbor_field(
                &mut self,
                number: u64,
                value: $crate::arcblock::wire::cbor::Cbor,
            ) -> Result<(), $crate::arcblock::wire::DecodeError> {
                match number {
                    $($number => $crate::arcblock::wire::Field::read_cbor(&mut self.$field, value),)*
                    other => Err($crate::arcblock::wire::DecodeError::UnexpectedField(other)),
                }
            }
        }
    )*};
}
pub(crate) use messages;
