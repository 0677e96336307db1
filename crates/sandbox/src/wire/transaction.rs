//! A received transaction: its fields, its hash and its signatures.

use super::schema::{Inner, TRANSACTION};
use super::{DecodeError, Message, Value, cbor, protobuf};
use crate::did::Address;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// Why a transaction is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A second encoding of the same message would have another hash, and so would count as a second transaction with the same signature.
    #[error("the bytes are not the canonical encoding of the transaction")]
    NotCanonical,
    #[error("the sender's signature is not valid")]
    SenderSignature,
    #[error("the signature of {0} is not valid")]
    PartySignature(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Protobuf,
    Cbor,
}

impl Encoding {
    fn encode(self, message: &Message) -> Vec<u8> {
        match self {
            Self::Protobuf => protobuf::encode(message),
            Self::Cbor => cbor::encode(message),
        }
    }
}

#[derive(Debug)]
pub struct SignedTransaction {
    pub hash: String,
    message: Message,
    encoding: Encoding,
}

/// The hash of a transaction: the SHA-256 of its bytes in upper-case hex.
pub fn hash_of(bytes: &[u8]) -> String {
    hex::encode_upper(Sha256::digest(bytes))
}

/// Who signed inside a transaction. `delegator` may be empty.
pub struct Party<'a> {
    pub signer: &'a str,
    pub delegator: &'a str,
}

impl SignedTransaction {
    /// Decodes a transaction in either encoding.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransactionError> {
        let (message, encoding) = match bytes.strip_prefix(&cbor::PREFIX) {
            Some(rest) => (cbor::decode(&TRANSACTION, rest)?, Encoding::Cbor),
            None => (protobuf::decode(&TRANSACTION, bytes)?, Encoding::Protobuf),
        };
        if encoding.encode(&message) != bytes {
            return Err(TransactionError::NotCanonical);
        }
        Ok(Self { hash: hash_of(bytes), message, encoding })
    }

    pub fn is_cbor(&self) -> bool {
        self.encoding == Encoding::Cbor
    }

    pub fn from(&self) -> &str {
        self.message.text("from")
    }

    pub fn chain_id(&self) -> &str {
        self.message.text("chainId")
    }

    pub fn delegator(&self) -> &str {
        self.message.text("delegator")
    }

    pub fn service_fee(&self) -> &str {
        self.message.text("serviceFee")
    }

    pub fn nonce(&self) -> u64 {
        self.message.uint("nonce")
    }

    pub fn public_key(&self) -> &[u8] {
        self.message.bytes("pk")
    }

    pub fn is_signed(&self) -> bool {
        !self.message.bytes("signature").is_empty()
    }

    /// The parties of the signatures inside the transaction.
    pub fn parties(&self) -> impl Iterator<Item = Party<'_>> {
        let signatures = self.message.messages("signatures");
        signatures.map(|signature| Party { signer: signature.text("signer"), delegator: signature.text("delegator") })
    }

    fn inner(&self) -> Option<(&'static Inner, &Message)> {
        match self.message.values.get("itx") {
            Some(Value::Inner(inner, message)) => Some((inner, message)),
            _ => None,
        }
    }

    /// The type of the inner transaction.
    pub fn type_url(&self) -> Option<&'static str> {
        self.inner().map(|(inner, _)| inner.type_url)
    }

    /// The inner transaction as JSON, without its type.
    pub fn inner_json(&self) -> Json {
        self.inner().map_or(Json::Null, |(_, message)| Json::Object(message.to_json()))
    }

    /// Verifies the signatures of the sender and of all parties over this ledger's own encoding of the transaction (chains.md 3.2).
    pub fn verify_signatures(&self) -> Result<(), TransactionError> {
        let mut unsigned = self.message.clone();
        unsigned.values.remove("signature");
        let mut signed_by_sender = unsigned.clone();
        if !self.inner().is_some_and(|(inner, _)| inner.multisig) {
            signed_by_sender.values.remove("signatures");
        }
        if !has_signed(&self.message, "from", &self.encoding.encode(&signed_by_sender)) {
            return Err(TransactionError::SenderSignature);
        }
        for party in unsigned.messages_mut("signatures") {
            party.values.remove("signature");
        }
        let signed_by_parties = self.encoding.encode(&unsigned);
        match self.message.messages("signatures").find(|party| !has_signed(party, "signer", &signed_by_parties)) {
            Some(party) => Err(TransactionError::PartySignature(party.text("signer").to_owned())),
            None => Ok(()),
        }
    }

    /// The transaction in the format of `getTx`.
    pub fn to_json(&self, receiver: &str) -> Json {
        let mut shown = self.message.to_json();
        let itx = shown.remove("itx").unwrap_or_default();
        shown.remove("gas");
        for (name, value) in [
            ("nonce", json!(self.nonce().to_string())),
            ("sender", json!(self.from())),
            ("receiver", json!(receiver)),
            ("itxJson", itx),
            ("serviceFee", json!("0")),
            ("gasFee", json!("0")),
            ("gasPaid", json!("0")),
        ] {
            shown.insert(name.to_owned(), value);
        }
        Json::Object(shown)
    }
}

/// Returns whether the account in the field `signer` has signed `data`. If the message names a delegator, the key must belong to the
/// delegator instead.
fn has_signed(message: &Message, signer: &str, data: &[u8]) -> bool {
    let delegator = message.text("delegator");
    let signer = if delegator.is_empty() { message.text(signer) } else { delegator };
    Address::parse(signer).is_some_and(|signer| signer.has_signed(message.bytes("pk"), data, message.bytes("signature")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use sha3::Sha3_256;

    /// The unsigned vectors of did-connect.md 1.2, made with the published packages, and the hashes of the signed transactions.
    const CBOR: &str = "d9d9f7a70178237a31653167744d764c7a44616f45333158327259734d465a48447663366d715a57594d021b0000018bcfe568000364626574610458208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c0678247a4e4b6b4a6666776251385236505a5a4b6544666d7732526934686135746d72546342420fa4007066673a743a7472616e736665725f763201782a3078316136343266304533633361463534354537416342443338623037323531423339393039313446310481a20178257a33356e3631725a466331645250386674377475553267556879774e7037715a48725865690273313030303030303030303030303030303030300fa200646a736f6e01a166726561736f6e6c737562736372697074696f6e116130";
    const PROTOBUF: &str = "0a237a31653167744d764c7a44616f45333158327259734d465a48447663366d715a57594d1080d095ffbc311a046265746122208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c32247a4e4b6b4a6666776251385236505a5a4b6544666d7732526934686135746d72546342427aa7010a1066673a743a7472616e736665725f76321292010a2a30783161363432663045336333614635343545374163424433386230373235314233393930393134463112030a0100223c0a257a33356e3631725a466331645250386674377475553267556879774e7037715a48725865691213313030303030303030303030303030303030307a210a046a736f6e12197b22726561736f6e223a22737562736372697074696f6e227d8a010130";

    fn signed(unsigned: &str) -> SignedTransaction {
        let bytes = hex::decode(unsigned).expect("hex");
        let mut transaction = SignedTransaction::decode(&bytes).expect("a transaction");
        let signature = SigningKey::from_bytes(&[1; 32]).sign(&Sha3_256::digest(&bytes)).to_bytes();
        transaction.message.values.insert("signature", Value::Bytes(signature.to_vec()));
        SignedTransaction::decode(&transaction.encoding.encode(&transaction.message)).expect("a signed transaction")
    }

    #[test]
    fn both_encodings_are_those_of_the_published_packages() {
        for (unsigned, hash) in [
            (CBOR, "2590BFE3B557EB528409C47CAC98BF7A892B89F95E43D0EA4F3DA0A4868F6A65"),
            (PROTOBUF, "F778AF21C242CAB75F890951C1F61CE58B715B62E8321F4A9D41951F9CB9C358"),
        ] {
            let transaction = signed(unsigned);
            assert_eq!(transaction.hash, hash);
            assert_eq!(transaction.verify_signatures(), Ok(()));
            assert_eq!((transaction.type_url(), transaction.nonce()), (Some("fg:t:transfer_v2"), 1_700_000_000_000));
            let inner = transaction.inner_json();
            assert_eq!(inner["tokens"][0]["value"], "1000000000000000000");
            assert_eq!(inner["data"]["value"]["reason"], "subscription");
        }
    }

    #[test]
    fn a_signature_does_not_survive_a_change() {
        for unsigned in [CBOR, PROTOBUF] {
            let mut transaction = signed(unsigned);
            transaction.message.values.insert("nonce", Value::Uint(7));
            assert_eq!(transaction.verify_signatures(), Err(TransactionError::SenderSignature));
        }
    }

    #[test]
    fn only_the_canonical_bytes_are_read() {
        let bytes = hex::decode(PROTOBUF).expect("hex");
        let error = |bytes: &[u8]| SignedTransaction::decode(bytes).expect_err("an error");
        // A repeated nonce, an encoded default value, and a varint with unnecessary bytes.
        assert_eq!(error(&[bytes.as_slice(), &[0x10, 1]].concat()), TransactionError::NotCanonical);
        assert_eq!(error(&[bytes.as_slice(), &[0x28, 0]].concat()), TransactionError::NotCanonical);
        assert_eq!(error(&[0x10, 0x81, 0x00]), TransactionError::NotCanonical);
        assert_eq!(error(&[0x40, 1]), TransactionError::Decode(DecodeError::UnknownField(8)));
        assert_eq!(error(&bytes[..bytes.len() - 1]), TransactionError::Decode(DecodeError::Malformed));
        // CBOR: a map with descending keys, an extra byte, and a float in the JSON data of a transfer.
        assert_eq!(error(&hex::decode("d9d9f7a20201016161").expect("hex")), TransactionError::NotCanonical);
        assert_eq!(error(&hex::decode("d9d9f7a1020100").expect("hex")), TransactionError::Decode(DecodeError::Malformed));
        let float = ["d9d9f7a10fa20070", &hex::encode("fg:t:transfer_v2"), "0fa20064", &hex::encode("json"), "01f93c00"].concat();
        assert_eq!(error(&hex::decode(float).expect("hex")), TransactionError::Decode(DecodeError::Malformed));
    }
}
