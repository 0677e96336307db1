//! Two encodings over one description of fields: protobuf, which wallets are sent, and canonical CBOR, which chains also accept.
//!
//! Both number their fields alike and omit defaults, so a message is described once, with [`messages!`].

pub mod cbor;
mod fields;
pub mod protobuf;

use cbor::Cbor;
use protobuf::Wire;

/// How a transaction is written. Its hash, its signatures and the addresses derived from it all depend on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Protobuf,
    Cbor,
}

/// Why bytes are not a message of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the bytes end too early or are not well formed")]
    Malformed,
    #[error("field {0} is not known or has another type")]
    UnexpectedField(u64),
    #[error("transactions of type {0} are not supported")]
    UnsupportedType(String),
    /// The same message has exactly one encoding: another one would be a second transaction with the same signature.
    #[error("the bytes are not the canonical encoding of what they say")]
    NotCanonical,
}

/// The value of one field, in both encodings. A default value is left out of either.
pub trait Field: Sized + Default {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>);
    /// Repeated fields arrive one element at a time.
    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError>;
    fn to_cbor(&self) -> Option<Cbor>;
    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError>;
}

/// A message: fields by number.
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
        while let Some((number, wire)) = reader.next_field()? {
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

/// Describes messages: `Name { number field: Type, … }`, numbers ascending.
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
