//! Mandates: builds the delegation that lets this store charge later (chains.md 3.5), and verifies the one that the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{DelegateLimit, DelegateOp, DelegateTx, TokenLimit, Transaction};
use super::wallet_tx::{Comparison, Parties, WalletResponse, read_base58};
use super::wire::Format;
use crate::identity::delegation_address;
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, MandateRequest, RailError, SignedTransaction};
use std::collections::BTreeSet;

/// The only transaction type that this store sends on behalf of a payer.
pub const PULL_TYPE: &str = "fg:t:transfer_v2";
/// The longest signature in bytes. Every transaction is longer, which distinguishes the two.
const MAX_SIGNATURE: usize = 80;

/// Builds a delegation with one op that allows charges to this store only, each up to the limit. It has no total and no rate, because all
/// subscriptions of the payer share the op and a new delegation replaces it.
pub fn prepare(app: &Did, chain_id: &str, request: &MandateRequest) -> Result<Transaction, RailError> {
    let contracts: BTreeSet<&str> = request.limits.iter().map(|limit| limit.currency.contract.as_str()).collect();
    if contracts.is_empty() || contracts.len() != request.limits.len() {
        return Err(RailError::Rejected("a mandate names each currency once, and at least one".to_owned()));
    }
    if request.limits.iter().any(|limit| limit.most.is_zero()) {
        return Err(RailError::Rejected("a mandate must have a limit".to_owned()));
    }
    let tokens = request.limits.iter().map(|limit| TokenLimit {
        address: limit.currency.contract.clone(),
        to: vec![app.to_string()],
        tx_allowance: limit.most.to_string(),
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
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.unsigned_transaction(request.nonce, delegate.into())
}

pub fn check(expected: &Transaction, signed: &str) -> Result<SignedTransaction, CheckError> {
    let bytes = read_base58(signed)?;
    let response = WalletResponse::decode(if bytes.len() > MAX_SIGNATURE { bytes } else { with_signature(expected, bytes) })?;
    let (Some(Itx::DelegateTx(requested)), Some(Itx::DelegateTx(delegate))) = (&expected.itx, &response.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        Comparison::new("address", delegate.address == requested.address),
        Comparison::new("recipient", delegate.to == requested.to),
        Comparison::new("limits", delegate.ops == requested.ops),
        Comparison::new("conditions", delegate.deny == requested.deny && delegate.valid_until == requested.valid_until),
        Comparison::new("data", Payload::is_same_value(delegate.data.as_ref(), requested.data.as_ref())),
        Comparison::new("signatures", response.transaction.signatures.is_empty()),
    ];
    response.verify(expected, &inner)
}

/// Completes the expected transaction with a signature. A wallet that responds to a `signature` claim returns only the signature.
fn with_signature(expected: &Transaction, signature: Vec<u8>) -> Vec<u8> {
    Transaction { signature, ..expected.clone() }.encode(Format::Protobuf)
}
