//! Encoding, signing and hashing of transactions.

use super::messages::Transaction;
use super::wire::cbor::Cbor;
use super::wire::{DecodeError, Format, Message};
use crate::identity::{PublicKey, kind_of, parse_did};
use sha2::{Digest, Sha256};

/// CBOR's "self-described CBOR" tag. Its bytes distinguish the two encodings.
const SELF_DESCRIBED: u64 = 55_799;
const CBOR_PREFIX: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// The party whose signature is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the sender's signature is not valid")]
    Sender,
    #[error("the signature of {0} is not valid")]
    Party(String),
}

/// A transaction, and the encoding in which it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedTransaction {
    pub transaction: Transaction,
    pub format: Format,
}

impl Transaction {
    #[must_use]
    pub fn encode(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Protobuf => self.to_protobuf(),
            Format::Cbor => Cbor::Tag(SELF_DESCRIBED, Box::new(self.to_cbor_map())).to_bytes(),
        }
    }

    /// Decodes a transaction in either encoding. Rejects encodings that are not canonical.
    pub fn decode(bytes: &[u8]) -> Result<DecodedTransaction, DecodeError> {
        if bytes.is_empty() {
            return Err(DecodeError::Malformed);
        }
        let (transaction, format) = if bytes.starts_with(&CBOR_PREFIX) {
            let Cbor::Tag(_, fields) = Cbor::from_bytes(bytes)? else { return Err(DecodeError::Malformed) };
            (Self::from_cbor_map(*fields)?, Format::Cbor)
        } else {
            (Self::from_protobuf(bytes)?, Format::Protobuf)
        };
        if transaction.encode(format) == bytes { Ok(DecodedTransaction { transaction, format }) } else { Err(DecodeError::NotCanonical) }
    }

    /// Returns the bytes that the outer `signature` covers. In types with inner signatures, these are included.
    #[must_use]
    pub fn signing_bytes(&self, format: Format) -> Vec<u8> {
        let mut unsigned = Self { signature: Vec::new(), ..self.clone() };
        if !unsigned.itx.as_ref().is_some_and(|itx| itx.is_multisig()) {
            unsigned.signatures.clear();
        }
        unsigned.encode(format)
    }

    /// Returns the bytes that each of the inner `signatures` covers: the transaction without any signature.
    #[must_use]
    pub fn party_signing_bytes(&self, format: Format) -> Vec<u8> {
        let mut unsigned = Self { signature: Vec::new(), ..self.clone() };
        for party in &mut unsigned.signatures {
            party.signature.clear();
        }
        unsigned.encode(format)
    }

    /// Verifies the outer signature and every inner signature.
    pub fn verify_signatures(&self, format: Format) -> Result<(), SignatureError> {
        let signer = if self.delegator.is_empty() { &self.from } else { &self.delegator };
        if !is_signed(signer, &self.pk, &self.signing_bytes(format), &self.signature) {
            return Err(SignatureError::Sender);
        }
        let unsigned = self.party_signing_bytes(format);
        for party in &self.signatures {
            let signer = if party.delegator.is_empty() { &party.signer } else { &party.delegator };
            if !is_signed(signer, &party.pk, &unsigned, &party.signature) {
                return Err(SignatureError::Party(party.signer.clone()));
            }
        }
        Ok(())
    }
}

fn is_signed(signer: &str, public_key: &[u8], data: &[u8], signature: &[u8]) -> bool {
    let Ok(did) = parse_did(signer) else { return false };
    let (Ok(kind), Ok(key)) = (kind_of(&did), PublicKey::of_did(&did, public_key)) else { return false };
    key.verify(&kind.hash.digest(data), signature)
}

/// Returns the hash that identifies a transaction on its chain: the SHA-256 of the sent bytes in upper-case hex.
#[must_use]
pub fn transaction_hash(encoded: &[u8]) -> String {
    hex::encode_upper(Sha256::digest(encoded))
}
