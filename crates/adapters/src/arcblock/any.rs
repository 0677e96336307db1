//! Fields that contain their own type URL (the inner transaction and the payload), and big numbers.

use super::messages::{
    AcquireAssetV2Tx, AcquireAssetV3Tx, ClaimStakeTx, DelegateTx, ReturnStakeTx, RevokeDelegateTx, RevokeStakeTx, SlashStakeTx, StakeTx,
    TransferV2Tx, TransferV3Tx,
};
use super::wire::cbor::Cbor;
use super::wire::protobuf::{Reader, Wire, WireField, write_bytes};
use super::wire::{DecodeError, Field, Message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Number, Value, json};

/// A value with its type URL.
struct Typed<T> {
    type_url: String,
    value: T,
}

/// Reads `{1 type url, 2 value}`.
fn read_any(wire: Wire<'_>) -> Result<Typed<&[u8]>, DecodeError> {
    let Wire::Bytes(bytes) = wire else { return Err(DecodeError::Malformed) };
    let mut reader = Reader::new(bytes);
    let (mut type_url, mut value) = (String::new(), [].as_slice());
    while let Some(WireField { number, wire }) = reader.next_field()? {
        match (number, wire) {
            (1, wire) => type_url.read_protobuf(wire)?,
            (2, Wire::Bytes(bytes)) => value = bytes,
            (other, _) => return Err(DecodeError::UnexpectedField(u64::from(other))),
        }
    }
    Ok(Typed { type_url, value })
}

fn write_any(number: u32, type_url: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut any = Vec::new();
    write_bytes(1, type_url.as_bytes(), &mut any);
    if !value.is_empty() {
        write_bytes(2, value, &mut any);
    }
    write_bytes(number, &any, out);
}

/// Splits a CBOR map into its type URL (key 0) and the other entries.
fn split_type(value: Cbor) -> Result<Typed<Vec<(Cbor, Cbor)>>, DecodeError> {
    let Cbor::Map(mut entries) = value else { return Err(DecodeError::Malformed) };
    let at = entries.iter().position(|(key, _)| *key == Cbor::Uint(0)).ok_or(DecodeError::Malformed)?;
    let (_, Cbor::Text(type_url)) = entries.remove(at) else { return Err(DecodeError::Malformed) };
    Ok(Typed { type_url, value: entries })
}

/// Defines the inner transactions: `Type = "type url", whether each party signs`.
macro_rules! inner_transactions {
    ($($kind:ident = $type_url:literal, $multisig:literal;)*) => {
        /// The inner transaction, which defines the effect of a transaction.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Itx { $($kind($kind),)* }

        impl Itx {
            #[must_use]
            pub const fn type_url(&self) -> &'static str {
                match self { $(Self::$kind(_) => $type_url,)* }
            }

            /// Returns whether each party adds its own signature inside the transaction (`signatures`).
            #[must_use]
            pub const fn is_multisig(&self) -> bool {
                match self { $(Self::$kind(_) => $multisig,)* }
            }

            fn to_protobuf(&self) -> Vec<u8> {
                match self { $(Self::$kind(itx) => itx.to_protobuf(),)* }
            }

            fn cbor_fields(&self) -> Vec<(u64, Cbor)> {
                match self { $(Self::$kind(itx) => itx.cbor_fields(),)* }
            }

            fn from_protobuf(type_url: String, bytes: &[u8]) -> Result<Self, DecodeError> {
                match type_url.as_str() {
                    $($type_url => $kind::from_protobuf(bytes).map(Self::$kind),)*
                    _ => Err(DecodeError::UnsupportedType(type_url)),
                }
            }

            fn from_cbor(type_url: String, fields: Cbor) -> Result<Self, DecodeError> {
                match type_url.as_str() {
                    $($type_url => $kind::from_cbor_map(fields).map(Self::$kind),)*
                    _ => Err(DecodeError::UnsupportedType(type_url)),
                }
            }
        }

        $(impl From<$kind> for Itx {
            fn from(itx: $kind) -> Self { Self::$kind(itx) }
        })*
    };
}

inner_transactions! {
    TransferV2Tx = "fg:t:transfer_v2", false;
    TransferV3Tx = "fg:t:transfer_v3", true;
    DelegateTx = "fg:t:delegate", false;
    RevokeDelegateTx = "fg:t:revoke_delegate", false;
    StakeTx = "fg:t:stake", true;
    RevokeStakeTx = "fg:t:revoke_stake", false;
    ClaimStakeTx = "fg:t:claim_stake", false;
    SlashStakeTx = "fg:t:slash_stake", false;
    ReturnStakeTx = "fg:t:return_stake", false;
    AcquireAssetV2Tx = "fg:t:acquire_asset_v2", false;
    AcquireAssetV3Tx = "fg:t:acquire_asset_v3", true;
}

impl Field for Option<Itx> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(itx) = self {
            write_any(number, itx.type_url(), &itx.to_protobuf(), out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let Typed { type_url, value } = read_any(wire)?;
        *self = Some(Itx::from_protobuf(type_url, value)?);
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        let itx = self.as_ref()?;
        let mut entries = vec![(Cbor::Uint(0), Cbor::Text(itx.type_url().to_owned()))];
        entries.extend(itx.cbor_fields().into_iter().map(|(number, value)| (Cbor::Uint(number), value)));
        Some(Cbor::Map(entries))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Typed { type_url, value: entries } = split_type(value)?;
        *self = Some(Itx::from_cbor(type_url, Cbor::Map(entries))?);
        Ok(())
    }
}

const JSON: &str = "json";

/// The JSON payload of a transaction. Kept as text, because protobuf carries the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(String);

impl Payload {
    #[must_use]
    pub fn new(value: &Value) -> Self {
        Self(value.to_string())
    }

    /// Parses the text; null if it is not JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }

    /// Returns whether a signed payload has the value of the requested one: the same JSON, or its bytes as JSON text, in base64 or as they
    /// are. Published clients decode a payload to base64 and write that text back.
    #[must_use]
    pub fn is_same_value(signed: Option<&Self>, requested: Option<&Self>) -> bool {
        let (Some(signed), Some(requested)) = (signed, requested) else { return signed.is_none() && requested.is_none() };
        match signed.to_json() {
            Value::String(text) if text == requested.0 || text == STANDARD.encode(&requested.0) => true,
            value => value == requested.to_json(),
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"typeUrl": JSON, "value": self.to_json()}).serialize(serializer)
    }
}

impl Field for Option<Payload> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(payload) = self {
            write_any(number, JSON, payload.0.as_bytes(), out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let Typed { type_url, value } = read_any(wire)?;
        if type_url != JSON {
            return Err(DecodeError::UnsupportedType(type_url));
        }
        let text = String::from_utf8(value.to_vec()).map_err(|_| DecodeError::Malformed)?;
        serde_json::from_str::<Value>(&text).map_err(|_| DecodeError::Malformed)?;
        *self = Some(Payload(text));
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        let payload = self.as_ref()?;
        Some(Cbor::Map(vec![(Cbor::Uint(0), Cbor::Text(JSON.to_owned())), (Cbor::Uint(1), from_json(payload.to_json()))]))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Typed { type_url, value: mut entries } = split_type(value)?;
        if type_url != JSON {
            return Err(DecodeError::UnsupportedType(type_url));
        }
        let Some((Cbor::Uint(1), value)) = entries.pop() else { return Err(DecodeError::Malformed) };
        if !entries.is_empty() {
            return Err(DecodeError::Malformed);
        }
        *self = Some(Payload::new(&to_json(value)?));
        Ok(())
    }
}

/// Converts JSON to CBOR. Numbers with a fraction have no CBOR form here and become null, which invalidates any signature over them.
fn from_json(value: Value) -> Cbor {
    match value {
        Value::Null => Cbor::Null,
        Value::Bool(value) => Cbor::Bool(value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => Cbor::Uint(value),
            (None, Some(value)) => Cbor::Negative(!value as u64),
            (None, None) => Cbor::Null,
        },
        Value::String(text) => Cbor::Text(text),
        Value::Array(items) => Cbor::List(items.into_iter().map(from_json).collect()),
        Value::Object(members) => Cbor::Map(members.into_iter().map(|(key, value)| (Cbor::Text(key), from_json(value))).collect()),
    }
}

fn to_json(value: Cbor) -> Result<Value, DecodeError> {
    Ok(match value {
        Cbor::Null => Value::Null,
        Cbor::Bool(value) => Value::Bool(value),
        Cbor::Uint(value) => Value::Number(Number::from(value)),
        Cbor::Negative(value) => Value::Number(Number::from(!i64::try_from(value).map_err(|_| DecodeError::Malformed)?)),
        Cbor::Text(text) => Value::String(text),
        Cbor::List(items) => Value::Array(items.into_iter().map(to_json).collect::<Result<_, _>>()?),
        Cbor::Map(entries) => {
            let members = entries.into_iter().map(|(key, value)| match key {
                Cbor::Text(key) => Ok((key, to_json(value)?)),
                _ => Err(DecodeError::Malformed),
            });
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        Cbor::Bytes(_) | Cbor::Tag(..) => return Err(DecodeError::Malformed),
    })
}

/// CBOR's tag for a positive big number.
const POSITIVE_BIGNUM: u64 = 2;

/// An unsigned number of any size, big-endian. The protobuf bytes are kept unchanged, because some writers send zero as one zero byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BigUint(pub Vec<u8>);

impl BigUint {
    fn significant(&self) -> &[u8] {
        let start = self.0.iter().position(|byte| *byte != 0).unwrap_or(self.0.len());
        &self.0[start..]
    }

    /// Returns `None` if the number exceeds 128 bits, the size of an amount.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        let bytes = self.significant();
        (bytes.len() <= 16).then(|| bytes.iter().fold(0, |value, byte| (value << 8) | u128::from(*byte)))
    }
}

impl Serialize for BigUint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_u128().unwrap_or_default().to_string())
    }
}

impl Field for Option<BigUint> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(value) = self {
            let mut message = Vec::new();
            value.0.write_protobuf(1, &mut message);
            write_bytes(number, &message, out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let Wire::Bytes(bytes) = wire else { return Err(DecodeError::Malformed) };
        let mut reader = Reader::new(bytes);
        let mut value = BigUint::default();
        while let Some(WireField { number, wire }) = reader.next_field()? {
            if number != 1 {
                return Err(DecodeError::UnexpectedField(u64::from(number)));
            }
            value.0.read_protobuf(wire)?;
        }
        *self = Some(value);
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        let digits = self.as_ref()?.significant();
        (!digits.is_empty()).then(|| Cbor::Tag(POSITIVE_BIGNUM, Box::new(Cbor::Bytes(digits.to_vec()))))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::Tag(POSITIVE_BIGNUM, inner) = value else { return Err(DecodeError::Malformed) };
        let Cbor::Bytes(bytes) = *inner else { return Err(DecodeError::Malformed) };
        *self = Some(BigUint(bytes));
        Ok(())
    }
}
