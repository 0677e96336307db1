//! What a transaction must be before the books are opened for it.

use super::CHAIN_ID;
use crate::arcblock::{DecodeError, Itx, SignatureError, TokenInput, Transaction, TransferV2Tx, TransferV3Tx, transaction_hash};
use crate::identity::parse_did;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest transaction, in bytes.
const MAX_SIZE: usize = 64 * 1024;
/// The most inner signatures.
const MAX_PARTIES: usize = 10;

/// Why the ledger says no, in the codes of ArcBlock's chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// What an account loses and gains of the token, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    pub debit: u128,
    pub credit: u128,
}

/// A transaction that is in order, except that its nonce and the balances are not known yet.
#[derive(Debug)]
pub struct Order {
    pub hash: String,
    pub transaction: Transaction,
    pub type_url: &'static str,
    pub receiver: String,
    /// By address; the sender is always among them.
    pub changes: BTreeMap<String, Change>,
}

/// Checks everything that the books are not needed for.
pub fn read(bytes: &[u8], token: &str) -> Result<Order, Refusal> {
    if bytes.len() > MAX_SIZE {
        return Err(Refusal::new("INVALID_TX_SIZE", format!("a transaction has at most {MAX_SIZE} bytes")));
    }
    let (transaction, format) = Transaction::decode(bytes).map_err(|error| match error {
        DecodeError::UnsupportedType(_) => Refusal::new("UNSUPPORTED_TX", error.to_string()),
        _ => Refusal::new("INVALID_TX", error.to_string()),
    })?;
    let itx = transaction.itx.clone().ok_or_else(|| Refusal::new("INVALID_TX", "itx is missing"))?;
    if transaction.from.is_empty() || transaction.pk.is_empty() || transaction.signature.is_empty() {
        return Err(Refusal::new("INVALID_TX", "from, pk and signature are required"));
    }
    if transaction.chain_id != CHAIN_ID {
        return Err(Refusal::new("INVALID_CHAIN_ID", format!("this chain is {CHAIN_ID}")));
    }
    if !matches!(transaction.service_fee.as_str(), "" | "0") {
        return Err(Refusal::new("INVALID_SERVICE_FEE", "this chain takes no fee"));
    }
    if transaction.signatures.len() > MAX_PARTIES {
        return Err(Refusal::new("INVALID_MULTISIG", format!("at most {MAX_PARTIES} signatures")));
    }
    transaction.verify_signatures(format).map_err(|error| match error {
        SignatureError::Sender => Refusal::new("INVALID_SIGNATURE", error.to_string()),
        SignatureError::Party(_) => Refusal::new("INVALID_MULTISIG", error.to_string()),
    })?;
    let delegated = transaction.signatures.iter().map(|party| &party.delegator).chain([&transaction.delegator]);
    if delegated.into_iter().any(|delegator| !delegator.is_empty()) {
        return Err(Refusal::new("INVALID_DELEGATION", "no such delegation"));
    }
    let (receiver, mut changes) = match &itx {
        Itx::TransferV2Tx(transfer) => one_to_one(&transaction.from, transfer, token)?,
        Itx::TransferV3Tx(transfer) => many_to_many(&transaction, transfer, token)?,
        other => return Err(Refusal::new("UNSUPPORTED_TX", format!("this chain does not know {}", other.type_url()))),
    };
    changes.entry(transaction.from.clone()).or_default();
    Ok(Order { hash: transaction_hash(bytes), type_url: itx.type_url(), transaction, receiver, changes })
}

type Moves = (String, BTreeMap<String, Change>);

fn one_to_one(from: &str, transfer: &TransferV2Tx, token: &str) -> Result<Moves, Refusal> {
    let to = address(&transfer.to)?;
    if to == from {
        return Err(Refusal::new("INVALID_TX", "sender and receiver are the same"));
    }
    without_assets(&transfer.assets)?;
    let primary = match &transfer.value {
        Some(value) => value.to_u128().ok_or_else(overflow)?,
        None => 0,
    };
    let amount = sum(&transfer.tokens, token)?.checked_add(primary).ok_or_else(overflow)?;
    if amount == 0 {
        return Err(Refusal::new("INSUFFICIENT_DATA", "nothing to transfer"));
    }
    let changes = [(from.to_owned(), Change { debit: amount, credit: 0 }), (to.clone(), Change { debit: 0, credit: amount })];
    Ok((to, BTreeMap::from(changes)))
}

fn many_to_many(transaction: &Transaction, transfer: &TransferV3Tx, token: &str) -> Result<Moves, Refusal> {
    if transfer.inputs.is_empty() || transfer.outputs.is_empty() {
        return Err(Refusal::new("INVALID_TX", "inputs and outputs are required"));
    }
    let mut changes: BTreeMap<String, Change> = BTreeMap::new();
    let (mut given, mut got) = (0_u128, 0_u128);
    for input in &transfer.inputs {
        without_assets(&input.assets)?;
        let amount = sum(&input.tokens, token)?;
        let change = changes.entry(address(&input.owner)?).or_default();
        change.debit = change.debit.checked_add(amount).ok_or_else(overflow)?;
        given = given.checked_add(amount).ok_or_else(overflow)?;
        if !transaction.signatures.iter().any(|party| party.signer == input.owner) {
            return Err(Refusal::new("INVALID_MULTISIG", format!("{} has not signed", input.owner)));
        }
    }
    for output in &transfer.outputs {
        without_assets(&output.assets)?;
        let amount = sum(&output.tokens, token)?;
        if transfer.inputs.iter().any(|input| input.owner == output.owner) {
            return Err(Refusal::new("INVALID_TX", "sender and receiver are the same"));
        }
        let change = changes.entry(address(&output.owner)?).or_default();
        change.credit = change.credit.checked_add(amount).ok_or_else(overflow)?;
        got = got.checked_add(amount).ok_or_else(overflow)?;
    }
    if given != got || given == 0 {
        return Err(Refusal::new("INVALID_TX", "inputs and outputs are not the same amount"));
    }
    Ok((transfer.outputs[0].owner.clone(), changes))
}

fn sum(tokens: &[TokenInput], token: &str) -> Result<u128, Refusal> {
    let mut total = 0_u128;
    for input in tokens {
        if input.address != token {
            return Err(Refusal::new("INVALID_TOKEN", format!("there is no token {}", input.address)));
        }
        let digits = !input.value.is_empty() && input.value.bytes().all(|byte| byte.is_ascii_digit());
        let value: u128 = input.value.parse().ok().filter(|_| digits).ok_or_else(|| Refusal::new("INVALID_TX", "not an amount"))?;
        total = total.checked_add(value).ok_or_else(overflow)?;
    }
    Ok(total)
}

/// Addresses are keys of the books: only their one form is taken.
fn address(text: &str) -> Result<String, Refusal> {
    match parse_did(text) {
        Ok(did) if did.as_str() == text => Ok(text.to_owned()),
        _ => Err(Refusal::new("INVALID_TX", format!("{text} is not an address"))),
    }
}

fn without_assets(assets: &[String]) -> Result<(), Refusal> {
    if assets.is_empty() { Ok(()) } else { Err(Refusal::new("INVALID_ASSET", "there is no such asset")) }
}

fn overflow() -> Refusal {
    Refusal::new("INVALID_TX", "the amount is out of range")
}

impl Order {
    /// The transaction as `getTx` shows it.
    pub fn to_json(&self) -> Value {
        let transaction = &self.transaction;
        let parties = transaction.signatures.iter().map(|party| {
            json!({
                "signer": party.signer,
                "pk": hex::encode_upper(&party.pk),
                "signature": hex::encode_upper(&party.signature),
                "delegator": party.delegator,
                "data": party.data,
            })
        });
        let mut itx = json!(transaction.itx);
        if let Some(itx) = itx.as_object_mut() {
            itx.insert("typeUrl".to_owned(), json!(self.type_url));
        }
        json!({
            "chainId": transaction.chain_id,
            "from": transaction.from,
            "delegator": transaction.delegator,
            "nonce": transaction.nonce.to_string(),
            "pk": hex::encode_upper(&transaction.pk),
            "signature": hex::encode_upper(&transaction.signature),
            "signatures": parties.collect::<Vec<_>>(),
            "sender": transaction.from,
            "receiver": self.receiver,
            "itxJson": itx,
            "serviceFee": "0",
            "gasFee": "0",
            "gasPaid": "0",
        })
    }

    /// What the transaction does to each account, as `getTx` shows it.
    pub fn receipts(&self, token: &str) -> Value {
        let change = |value: String| json!({"target": token, "action": "transfer", "value": value});
        let receipts = self.changes.iter().filter(|(_, moved)| **moved != Change::default()).map(|(address, moved)| {
            let debit = (moved.debit > 0).then(|| change(format!("-{}", moved.debit)));
            let credit = (moved.credit > 0).then(|| change(moved.credit.to_string()));
            json!({"address": address, "changes": debit.into_iter().chain(credit).collect::<Vec<_>>()})
        });
        Value::Array(receipts.collect())
    }
}
