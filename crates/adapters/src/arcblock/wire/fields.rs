//! The encoding of each field type.

use super::cbor::Cbor;
use super::protobuf::{Wire, write_bytes, write_number};
use super::{DecodeError, Field, Message};

fn delimited(wire: Wire<'_>) -> Result<&[u8], DecodeError> {
    match wire {
        Wire::Bytes(bytes) => Ok(bytes),
        Wire::Varint(_) => Err(DecodeError::Malformed),
    }
}

fn text_of(bytes: &[u8]) -> Result<String, DecodeError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| DecodeError::Malformed)
}

impl Field for String {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            write_bytes(number, self.as_bytes(), out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        *self = text_of(delimited(wire)?)?;
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        (!self.is_empty()).then(|| Cbor::Text(self.clone()))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::Text(text) = value else { return Err(DecodeError::Malformed) };
        *self = text;
        Ok(())
    }
}

impl Field for Vec<u8> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            write_bytes(number, self, out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        *self = delimited(wire)?.to_vec();
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        (!self.is_empty()).then(|| Cbor::Bytes(self.clone()))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::Bytes(bytes) = value else { return Err(DecodeError::Malformed) };
        *self = bytes;
        Ok(())
    }
}

impl Field for u64 {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if *self != 0 {
            write_number(number, *self, out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let Wire::Varint(value) = wire else { return Err(DecodeError::Malformed) };
        *self = value;
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        (*self != 0).then_some(Cbor::Uint(*self))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::Uint(value) = value else { return Err(DecodeError::Malformed) };
        *self = value;
        Ok(())
    }
}

impl Field for u32 {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        u64::from(*self).write_protobuf(number, out);
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let mut value = 0_u64;
        value.read_protobuf(wire)?;
        *self = Self::try_from(value).map_err(|_| DecodeError::Malformed)?;
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        u64::from(*self).to_cbor()
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let mut wide = 0_u64;
        wide.read_cbor(value)?;
        *self = Self::try_from(wide).map_err(|_| DecodeError::Malformed)?;
        Ok(())
    }
}

impl Field for bool {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        u64::from(*self).write_protobuf(number, out);
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        let mut value = 0_u64;
        value.read_protobuf(wire)?;
        *self = value != 0;
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        self.then_some(Cbor::Bool(true))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::Bool(value) = value else { return Err(DecodeError::Malformed) };
        *self = value;
        Ok(())
    }
}

impl Field for Vec<String> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        self.iter().for_each(|text| write_bytes(number, text.as_bytes(), out));
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        self.push(text_of(delimited(wire)?)?);
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        (!self.is_empty()).then(|| Cbor::List(self.iter().cloned().map(Cbor::Text).collect()))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::List(items) = value else { return Err(DecodeError::Malformed) };
        for item in items {
            let mut text = String::new();
            text.read_cbor(item)?;
            self.push(text);
        }
        Ok(())
    }
}

impl<M: Message> Field for Vec<M> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        self.iter().for_each(|message| write_bytes(number, &message.to_protobuf(), out));
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        self.push(M::from_protobuf(delimited(wire)?)?);
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        (!self.is_empty()).then(|| Cbor::List(self.iter().map(Message::to_cbor_map).collect()))
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        let Cbor::List(items) = value else { return Err(DecodeError::Malformed) };
        for item in items {
            self.push(M::from_cbor_map(item)?);
        }
        Ok(())
    }
}

impl<M: Message> Field for Option<M> {
    fn write_protobuf(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(message) = self {
            write_bytes(number, &message.to_protobuf(), out);
        }
    }

    fn read_protobuf(&mut self, wire: Wire<'_>) -> Result<(), DecodeError> {
        *self = Some(M::from_protobuf(delimited(wire)?)?);
        Ok(())
    }

    fn to_cbor(&self) -> Option<Cbor> {
        self.as_ref().map(Message::to_cbor_map)
    }

    fn read_cbor(&mut self, value: Cbor) -> Result<(), DecodeError> {
        *self = Some(M::from_cbor_map(value)?);
        Ok(())
    }
}
