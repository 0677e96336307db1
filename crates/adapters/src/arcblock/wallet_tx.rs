//! What a wallet is asked to sign has one frame whatever is inside; here that frame is built, and compared with what came back.

use super::any::Itx;
use super::messages::{TokenInput, Transaction, TransactionInput};
use super::transaction::transaction_hash;
use super::wire::Format;
use crate::identity::{PublicKey, decode_base58};
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction};
use souk_domain::shared::Amount;

/// The longest signed transaction that is looked at, in characters of base58.
const MAX_SIGNED: usize = 16 * 1024;
/// Published clients write the fee even when there is none, and the fields that we asked for must come back as they were.
pub const NO_FEE: &str = "0";

/// The parties of what is asked.
pub struct Parties<'a> {
    pub app: &'a Did,
    pub chain_id: &'a str,
    pub payer: &'a Did,
    /// base58, as wallets send it.
    pub payer_key: &'a str,
}

impl Parties<'_> {
    /// The unsigned transaction: everything but what the payer gives and signs.
    pub fn frame(&self, nonce: u64, itx: Itx) -> Result<Transaction, RailError> {
        let key = PublicKey::of_did_base58(self.payer, self.payer_key).map_err(|error| RailError::Rejected(error.to_string()))?;
        if self.payer == self.app {
            return Err(RailError::Rejected("a store cannot pay itself".to_owned()));
        }
        Ok(Transaction {
            from: self.payer.to_string(),
            nonce,
            chain_id: self.chain_id.to_owned(),
            pk: key.as_bytes().to_vec(),
            itx: Some(itx),
            service_fee: NO_FEE.to_owned(),
            ..Transaction::default()
        })
    }
}

/// An amount of one currency, given by or to `owner`.
pub fn share(owner: &Did, currency: &Currency, amount: Amount) -> TransactionInput {
    TransactionInput {
        owner: owner.to_string(),
        tokens: vec![TokenInput { address: currency.contract.clone(), value: amount.to_string() }],
        assets: Vec::new(),
    }
}

/// What a wallet signed, read but not compared yet.
pub struct Given {
    pub transaction: Transaction,
    pub format: Format,
    bytes: Vec<u8>,
}

impl Given {
    pub fn read(signed: &str) -> Result<Self, CheckError> {
        Self::decode(read_base58(signed)?)
    }

    pub fn decode(bytes: Vec<u8>) -> Result<Self, CheckError> {
        let (transaction, format) = Transaction::decode(&bytes).map_err(|_| CheckError::Malformed)?;
        Ok(Self { transaction, format, bytes })
    }

    /// Compares the frame with `expected`, then what is inside as `inner` has compared it, then verifies the signatures,
    /// as did-connect.md 2.7 demands before anything is sent.
    pub fn accept(self, expected: &Transaction, inner: &[(bool, &'static str)]) -> Result<SignedTransaction, CheckError> {
        let given = &self.transaction;
        let frame = [
            (given.from == expected.from, "payer"),
            (given.pk == expected.pk, "payer's key"),
            (given.delegator.is_empty(), "delegator"),
            (given.chain_id == expected.chain_id, "network"),
            (given.nonce == expected.nonce, "nonce"),
            (given.gas == expected.gas && given.service_fee == expected.service_fee, "fee"),
        ];
        if let Some((_, field)) = frame.iter().chain(inner).find(|(same, _)| !same) {
            return Err(CheckError::Differs(field));
        }
        given.verify_signatures(self.format).map_err(|_| CheckError::BadSignature)?;
        Ok(SignedTransaction { hash: transaction_hash(&self.bytes), bytes: self.bytes })
    }
}

/// The bytes of what a wallet answered.
pub fn read_base58(text: &str) -> Result<Vec<u8>, CheckError> {
    if text.len() > MAX_SIGNED {
        return Err(CheckError::Malformed);
    }
    decode_base58(text).ok_or(CheckError::Malformed)
}

/// A payment moves the payer's own money by the payer's own hand.
pub fn is_signed_by_payer_alone(given: &Transaction, expected: &Transaction) -> bool {
    let [party] = given.signatures.as_slice() else { return false };
    party.signer == expected.from && party.pk == expected.pk && party.delegator.is_empty() && party.data.is_none()
}
