//! A mandate: the delegation by which this store may take payments later (chains.md 3.5), and the comparison with what was signed.

use super::any::{Itx, Payload};
use super::messages::{DelegateLimit, DelegateOp, DelegateTx, TokenLimit, Transaction};
use super::wallet_tx::{Given, Parties, read_base58};
use super::wire::Format;
use crate::identity::delegation_address;
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, MandateRequest, RailError, SignedTransaction};
use std::collections::BTreeSet;

/// The one type of transaction that this store sends in a payer's name.
pub const PULL_TYPE: &str = "fg:t:transfer_v2";
/// No signature is longer, in bytes, and no transaction is as short.
const MAX_SIGNATURE: usize = 80;

/// One op, for charges to this store alone, each at most the limit. No total and no rate: the op is shared by all subscriptions of
/// the payer, and a new permission replaces it.
pub fn prepare(app: &Did, chain_id: &str, request: &MandateRequest) -> Result<Transaction, RailError> {
    let contracts: BTreeSet<&str> = request.limits.iter().map(|(currency, _)| currency.contract.as_str()).collect();
    if contracts.is_empty() || contracts.len() != request.limits.len() {
        return Err(RailError::Rejected("a mandate names each currency once, and at least one".to_owned()));
    }
    if request.limits.iter().any(|(_, limit)| limit.is_zero()) {
        return Err(RailError::Rejected("a mandate without a limit is not asked for".to_owned()));
    }
    let tokens = request.limits.iter().map(|(currency, limit)| TokenLimit {
        address: currency.contract.clone(),
        to: vec![app.to_string()],
        tx_allowance: limit.to_string(),
        ..TokenLimit::default()
    });
    let limit = DelegateLimit { tokens: tokens.collect(), assets: Vec::new() };
    let delegate = DelegateTx {
        address: delegation_address(&request.payer, app).to_string(),
        to: app.to_string(),
        ops: vec![DelegateOp { type_url: PULL_TYPE.to_owned(), rules: Vec::new(), limit: Some(limit) }],
        data: Some(Payload::new(&json!({"reference": request.reference}))),
        ..DelegateTx::default()
    };
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.frame(request.nonce, delegate.into())
}

pub fn check(expected: &Transaction, signed: &str) -> Result<SignedTransaction, CheckError> {
    let bytes = read_base58(signed)?;
    let given = Given::decode(if bytes.len() > MAX_SIGNATURE { bytes } else { with_signature(expected, bytes) })?;
    let (Some(Itx::DelegateTx(asked)), Some(Itx::DelegateTx(delegate))) = (&expected.itx, &given.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        (delegate.address == asked.address, "address"),
        (delegate.to == asked.to, "recipient"),
        (delegate.ops == asked.ops, "limits"),
        (delegate.deny == asked.deny && delegate.valid_until == asked.valid_until, "conditions"),
        (Payload::says_same(delegate.data.as_ref(), asked.data.as_ref()), "data"),
        (given.transaction.signatures.is_empty(), "signatures"),
    ];
    given.accept(expected, &inner)
}

/// A wallet that answers a `signature` claim signs the bytes that it was sent.
fn with_signature(expected: &Transaction, signature: Vec<u8>) -> Vec<u8> {
    Transaction { signature, ..expected.clone() }.encode(Format::Protobuf)
}
