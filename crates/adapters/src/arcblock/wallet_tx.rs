//! Every transaction that a wallet signs has the same outer fields. Builds these fields, and compares them with the signed transaction.

use super::any::Itx;
use super::messages::{TokenInput, Transaction, TransactionInput};
use super::transaction::DecodedTransaction;
use super::transaction::transaction_hash;
use super::wire::Format;
use crate::identity::{PublicKey, decode_base58};
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction};
use souk_domain::shared::Amount;

/// The longest signed transaction that is decoded, in characters of base58.
const MAX_SIGNED: usize = 16 * 1024;
/// The fee field of a transaction without a fee. It is set explicitly because published clients always write it, and the signed fields
/// must equal the requested ones.
pub const NO_FEE: &str = "0";

/// The parties of a requested transaction.
pub struct Parties<'a> {
    pub app: &'a Did,
    pub chain_id: &'a str,
    pub payer: &'a Did,
    /// In base58, as wallets send it.
    pub payer_key: &'a str,
}

impl Parties<'_> {
    /// Builds the unsigned transaction, without the payer's inputs and signatures.
    pub fn unsigned_transaction(&self, nonce: u64, itx: Itx) -> Result<Transaction, RailError> {
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

/// Builds an input or output of one currency for `owner`.
pub fn tokens_of(owner: &Did, currency: &Currency, amount: Amount) -> TransactionInput {
    TransactionInput {
        owner: owner.to_string(),
        tokens: vec![TokenInput { address: currency.contract.clone(), value: amount.to_string() }],
        assets: Vec::new(),
    }
}

/// A transaction that a wallet signed, decoded but not verified yet.
pub struct WalletResponse {
    pub transaction: Transaction,
    pub format: Format,
    bytes: Vec<u8>,
}

/// Whether a field of a signed transaction equals the requested one.
pub struct Comparison {
    is_equal: bool,
    name: &'static str,
}

impl Comparison {
    pub const fn new(name: &'static str, is_equal: bool) -> Self {
        Self { is_equal, name }
    }
}

impl WalletResponse {
    pub fn read(signed: &str) -> Result<Self, CheckError> {
        Self::decode(read_base58(signed)?)
    }

    pub fn decode(bytes: Vec<u8>) -> Result<Self, CheckError> {
        let DecodedTransaction { transaction, format } = Transaction::decode(&bytes).map_err(|_| CheckError::Malformed)?;
        Ok(Self { transaction, format, bytes })
    }

    /// Verifies the transaction before it is sent, as did-connect.md 2.7 requires. Compares the outer fields with `expected`, reports the
    /// first difference found by the caller (`inner`), and verifies the signatures.
    pub fn verify(self, expected: &Transaction, inner: &[Comparison]) -> Result<SignedTransaction, CheckError> {
        let signed = &self.transaction;
        let outer = [
            Comparison::new("payer", signed.from == expected.from),
            Comparison::new("payer's key", signed.pk == expected.pk),
            Comparison::new("delegator", signed.delegator.is_empty()),
            Comparison::new("network", signed.chain_id == expected.chain_id),
            Comparison::new("nonce", signed.nonce == expected.nonce),
            Comparison::new("fee", signed.gas == expected.gas && signed.service_fee == expected.service_fee),
        ];
        if let Some(different) = outer.iter().chain(inner).find(|field| !field.is_equal) {
            return Err(CheckError::Differs(different.name));
        }
        signed.verify_signatures(self.format).map_err(|_| CheckError::BadSignature)?;
        Ok(SignedTransaction { hash: transaction_hash(&self.bytes), bytes: self.bytes })
    }
}

/// Decodes the base58 text of a wallet's response.
pub fn read_base58(text: &str) -> Result<Vec<u8>, CheckError> {
    if text.len() > MAX_SIGNED {
        return Err(CheckError::Malformed);
    }
    decode_base58(text).ok_or(CheckError::Malformed)
}

/// Returns whether the payer is the only party that signs. A payment must move the payer's own money with the payer's own signature.
pub fn is_signed_by_payer_alone(signed: &Transaction, expected: &Transaction) -> bool {
    let [party] = signed.signatures.as_slice() else { return false };
    party.signer == expected.from && party.pk == expected.pk && party.delegator.is_empty() && party.data.is_none()
}
