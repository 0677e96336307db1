//! The checks of a transaction that do not need the ledger's state.

use super::CHAIN_ID;
use super::chain::Generation;
use super::gas::Gas;
use super::operations::{Operation, ReadOperation, TokenInput, TransactionInput, TransferV2, TransferV3};
use crate::did::Address;
use crate::wire::{DecodeError, SignedTransaction, TransactionError};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum size of a transaction, in bytes.
const MAX_SIZE: usize = 64 * 1024;
/// Maximum number of inner signatures.
const MAX_PARTIES: usize = 10;

/// A rejection, with the codes of ArcBlock's chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerError {
    pub code: &'static str,
    pub message: String,
    /// Whether the ledger records the transaction under its hash with this code, so that it can never succeed.
    pub recorded: bool,
}

impl LedgerError {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), recorded: false }
    }

    /// A rejection that is recorded under the transaction's hash.
    pub fn recorded(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), recorded: true }
    }
}

/// An account's debit and credit of the token, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    pub debit: u128,
    pub credit: u128,
}

impl Change {
    pub const fn debit(amount: u128) -> Self {
        Self { debit: amount, credit: 0 }
    }

    pub const fn credit(amount: u128) -> Self {
        Self { debit: 0, credit: amount }
    }
}

/// The changes of accounts, by address.
pub type Changes = BTreeMap<String, Change>;

/// A transaction that has passed all checks that do not need the ledger's state.
#[derive(Debug)]
pub struct ValidTransaction {
    pub signed: SignedTransaction,
    pub type_url: &'static str,
    pub receiver: String,
    pub operation: Operation,
    /// Bytes.
    pub size: usize,
}

/// Decodes a transaction and runs all checks that do not need the ledger's state.
pub fn read(bytes: &[u8], token: &str, generation: Generation) -> Result<ValidTransaction, LedgerError> {
    if bytes.len() > MAX_SIZE {
        return Err(LedgerError::new("INVALID_TX_SIZE", format!("a transaction has at most {MAX_SIZE} bytes")));
    }
    let signed = SignedTransaction::decode(bytes).map_err(unreadable)?;
    if signed.is_cbor() && generation == Generation::V1_20_8 {
        return Err(LedgerError::new("INVALID_TX", "Can not decode base64 encoded transaction"));
    }
    let type_url = signed.type_url().ok_or_else(|| LedgerError::new("INVALID_TX", "itx is missing"))?;
    if signed.from().is_empty() || signed.public_key().is_empty() || !signed.is_signed() {
        return Err(LedgerError::new("INVALID_TX", "from, pk and signature are required"));
    }
    if signed.chain_id() != CHAIN_ID {
        return Err(LedgerError::new("INVALID_CHAIN_ID", format!("this chain is {CHAIN_ID}")));
    }
    if !matches!(signed.service_fee(), "" | "0") {
        return Err(LedgerError::new("INVALID_SERVICE_FEE", "this chain takes no fee"));
    }
    if signed.parties().count() > MAX_PARTIES {
        return Err(LedgerError::new("INVALID_MULTISIG", format!("at most {MAX_PARTIES} signatures")));
    }
    signed.verify_signatures().map_err(unreadable)?;
    let delegated = signed.parties().any(|party| !party.delegator.is_empty());
    if delegated || (!signed.delegator().is_empty() && type_url != "fg:t:transfer_v2") {
        return Err(LedgerError::new("INVALID_DELEGATION", "only transfers of the second version are sent in another's name here"));
    }
    let ReadOperation { receiver, operation } = Operation::read(&signed, type_url, token)?;
    Ok(ValidTransaction { signed, type_url, receiver, operation, size: bytes.len() })
}

fn unreadable(error: TransactionError) -> LedgerError {
    let code = match &error {
        TransactionError::Decode(DecodeError::UnknownType(_)) => "UNSUPPORTED_TX",
        TransactionError::Decode(_) | TransactionError::NotCanonical => "INVALID_TX",
        TransactionError::SenderSignature => "INVALID_SIGNATURE",
        TransactionError::PartySignature(_) => "INVALID_MULTISIG",
    };
    LedgerError::new(code, error.to_string())
}

/// A transfer to one receiver, with the individual amounts of the transaction.
pub struct SimpleTransfer {
    pub to: String,
    pub amounts: Vec<u128>,
    pub changes: Changes,
}

pub fn one_to_one(from: &str, transfer: &TransferV2, token: &str) -> Result<SimpleTransfer, LedgerError> {
    let to = address(&transfer.to)?;
    if to == from {
        return Err(LedgerError::new("INVALID_TX", "sender and receiver are the same"));
    }
    without_assets(&transfer.assets)?;
    let primary = match &transfer.value {
        Some(value) => value.parse().map_err(|_| overflow())?,
        None => 0,
    };
    let mut amounts = transfer.tokens.iter().map(|input| amount(input, token)).collect::<Result<Vec<_>, _>>()?;
    amounts.extend((primary > 0).then_some(primary));
    let sum = amounts.iter().try_fold(0_u128, |sum, amount| sum.checked_add(*amount)).ok_or_else(overflow)?;
    if sum == 0 {
        return Err(LedgerError::new("INSUFFICIENT_DATA", "nothing to transfer"));
    }
    let changes = Changes::from([(from.to_owned(), Change::debit(sum)), (to.clone(), Change::credit(sum))]);
    Ok(SimpleTransfer { to, amounts, changes })
}

pub fn many_to_many(transaction: &SignedTransaction, transfer: &TransferV3, token: &str) -> Result<Changes, LedgerError> {
    if transfer.inputs.is_empty() || transfer.outputs.is_empty() {
        return Err(LedgerError::new("INVALID_TX", "inputs and outputs are required"));
    }
    let Movements { mut changes, total: total_in } = debits(transaction, &transfer.inputs, token)?;
    if transfer.outputs.iter().any(|output| changes.contains_key(&output.owner)) {
        return Err(LedgerError::new("INVALID_TX", "sender and receiver are the same"));
    }
    let Movements { changes: gains, total: total_out } = credits(&transfer.outputs, token)?;
    if total_in != total_out || total_in == 0 {
        return Err(LedgerError::new("INVALID_TX", "inputs and outputs are not the same amount"));
    }
    changes.extend(gains);
    Ok(changes)
}

/// Changes of accounts in one direction, and their sum.
pub struct Movements {
    pub changes: Changes,
    pub total: u128,
}

/// The debits of the owners of `inputs`, each of whom must have signed.
pub fn debits(transaction: &SignedTransaction, inputs: &[TransactionInput], token: &str) -> Result<Movements, LedgerError> {
    let mut changes = Changes::new();
    let mut total_in = 0_u128;
    for input in inputs {
        without_assets(&input.assets)?;
        let amount = sum(&input.tokens, token)?;
        let change = changes.entry(address(&input.owner)?).or_default();
        change.debit = change.debit.checked_add(amount).ok_or_else(overflow)?;
        total_in = total_in.checked_add(amount).ok_or_else(overflow)?;
        if !transaction.parties().any(|party| party.signer == input.owner) {
            return Err(LedgerError::new("INVALID_MULTISIG", format!("{} has not signed", input.owner)));
        }
    }
    Ok(Movements { changes, total: total_in })
}

/// The credits of the owners of `outputs`.
pub fn credits(outputs: &[TransactionInput], token: &str) -> Result<Movements, LedgerError> {
    let mut changes = Changes::new();
    let mut total_out = 0_u128;
    for output in outputs {
        without_assets(&output.assets)?;
        let amount = sum(&output.tokens, token)?;
        let change = changes.entry(address(&output.owner)?).or_default();
        change.credit = change.credit.checked_add(amount).ok_or_else(overflow)?;
        total_out = total_out.checked_add(amount).ok_or_else(overflow)?;
    }
    Ok(Movements { changes, total: total_out })
}

fn sum(tokens: &[TokenInput], token: &str) -> Result<u128, LedgerError> {
    tokens.iter().try_fold(0_u128, |sum, input| sum.checked_add(amount(input, token)?).ok_or_else(overflow))
}

fn amount(input: &TokenInput, token: &str) -> Result<u128, LedgerError> {
    if input.address != token {
        return Err(LedgerError::new("INVALID_TOKEN", format!("there is no token {}", input.address)));
    }
    base_units(&input.value)
}

/// Parses an amount in base units: digits only, as chains require.
pub fn base_units(text: &str) -> Result<u128, LedgerError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| LedgerError::new("INVALID_TX", "not an amount"))
}

/// Parses an address. Only its canonical text is accepted, because addresses are keys of the ledger's tables.
pub fn parse_address(text: &str) -> Result<Address, LedgerError> {
    let parsed = Address::parse(text).filter(|address| address.as_str() == text);
    parsed.ok_or_else(|| LedgerError::new("INVALID_TX", format!("{text} is not an address")))
}

pub fn address(text: &str) -> Result<String, LedgerError> {
    parse_address(text).map(|address| address.as_str().to_owned())
}

fn without_assets(assets: &[String]) -> Result<(), LedgerError> {
    if assets.is_empty() { Ok(()) } else { Err(LedgerError::new("INVALID_ASSET", "there is no such asset")) }
}

pub fn overflow() -> LedgerError {
    LedgerError::new("INVALID_TX", "the amount is out of range")
}

/// The changes of each address in the format of `getTx`. The sender's gas goes to the network's vault, which is the token's account.
pub fn receipts(changes: &Changes, token: &str, from: &str, Gas(gas): Gas) -> Value {
    let change = |action: &str, value: String| json!({"target": token, "action": action, "value": value});
    let mut receipts: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (address, moved) in changes.iter().filter(|(_, moved)| **moved != Change::default()) {
        let debit = (moved.debit > 0).then(|| change("transfer", format!("-{}", moved.debit)));
        let credit = (moved.credit > 0).then(|| change("transfer", moved.credit.to_string()));
        receipts.entry(address).or_default().extend(debit.into_iter().chain(credit));
    }
    if gas > 0 {
        receipts.entry(from).or_default().push(change("gas", format!("-{gas}")));
        receipts.entry(token).or_default().push(change("gas", gas.to_string()));
    }
    receipts.into_iter().map(|(address, changes)| json!({"address": address, "changes": changes})).collect()
}
