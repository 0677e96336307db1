//! The transfer that is asked for, and the comparison with what the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{TokenInput, Transaction, TransactionInput, TransferV3Tx};
use super::transaction::transaction_hash;
use crate::identity::{PublicKey, decode_base58};
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransfer, TransferAsk};

/// The longest signed transaction that is looked at, in characters of base58.
const MAX_SIGNED: usize = 16 * 1024;
/// Published clients write the fee even when there is none, and the fields that we asked for must come back as they were.
const NO_FEE: &str = "0";

/// The unsigned transaction: everything but what the payer gives and signs.
pub fn transfer(app: &Did, chain_id: &str, currency: &Currency, ask: &TransferAsk) -> Result<Transaction, RailError> {
    let key = PublicKey::of_did_base58(&ask.payer, &ask.payer_key).map_err(|error| RailError::Rejected(error.to_string()))?;
    if ask.payer == *app {
        return Err(RailError::Rejected("a store cannot pay itself".to_owned()));
    }
    let transfer = TransferV3Tx {
        inputs: Vec::new(),
        outputs: vec![share(app, currency, ask)],
        data: Some(Payload::new(&json!({"reference": ask.reference}))),
    };
    Ok(Transaction {
        from: ask.payer.to_string(),
        nonce: ask.nonce,
        chain_id: chain_id.to_owned(),
        pk: key.as_bytes().to_vec(),
        itx: Some(transfer.into()),
        service_fee: NO_FEE.to_owned(),
        ..Transaction::default()
    })
}

fn share(owner: &Did, currency: &Currency, ask: &TransferAsk) -> TransactionInput {
    TransactionInput {
        owner: owner.to_string(),
        tokens: vec![TokenInput { address: currency.contract.clone(), value: ask.amount.to_string() }],
        assets: Vec::new(),
    }
}

/// Reads what the wallet signed and compares it with `expected`, as did-connect.md 2.7 demands before anything is sent.
pub fn compare(expected: &Transaction, currency: &Currency, ask: &TransferAsk, signed: &str) -> Result<SignedTransfer, CheckError> {
    if signed.len() > MAX_SIGNED {
        return Err(CheckError::Malformed);
    }
    let bytes = decode_base58(signed).ok_or(CheckError::Malformed)?;
    let (transaction, format) = Transaction::decode(&bytes).map_err(|_| CheckError::Malformed)?;
    let (Some(Itx::TransferV3Tx(asked)), Some(Itx::TransferV3Tx(given))) = (&expected.itx, &transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let data = |transfer: &TransferV3Tx| transfer.data.as_ref().map(Payload::to_json);
    for (same, field) in [
        (transaction.from == expected.from, "payer"),
        (transaction.pk == expected.pk, "payer's key"),
        (transaction.delegator.is_empty(), "delegator"),
        (transaction.chain_id == expected.chain_id, "network"),
        (transaction.nonce == expected.nonce, "nonce"),
        (transaction.gas == expected.gas && transaction.service_fee == expected.service_fee, "fee"),
        (given.outputs == asked.outputs, "recipient or amount"),
        (data(given) == data(asked), "data"),
        (given.inputs == [share(&ask.payer, currency, ask)], "inputs"),
        (is_signed_by_payer_alone(&transaction, expected), "signatures"),
    ] {
        if !same {
            return Err(CheckError::Differs(field));
        }
    }
    transaction.verify_signatures(format).map_err(|_| CheckError::BadSignature)?;
    Ok(SignedTransfer { hash: transaction_hash(&bytes), bytes })
}

/// A payment moves the payer's own money by the payer's own hand.
fn is_signed_by_payer_alone(transaction: &Transaction, expected: &Transaction) -> bool {
    let [party] = transaction.signatures.as_slice() else { return false };
    party.signer == expected.from && party.pk == expected.pk && party.delegator.is_empty() && party.data.is_none()
}
