//! Payments: builds the requested transfer, and verifies the one that the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{Transaction, TransferV3Tx};
use super::wallet_tx::{Comparison, Parties, WalletResponse, is_signed_by_payer_alone, tokens_of};
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction, TransferRequest};

pub fn prepare(app: &Did, chain_id: &str, currency: &Currency, request: &TransferRequest) -> Result<Transaction, RailError> {
    let transfer = TransferV3Tx {
        inputs: Vec::new(),
        outputs: vec![tokens_of(request.to.as_ref().unwrap_or(app), currency, request.amount)],
        data: Some(Payload::new(&json!({"reference": request.reference}))),
    };
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.unsigned_transaction(request.nonce, transfer.into())
}

pub fn check(
    expected: &Transaction,
    currency: &Currency,
    request: &TransferRequest,
    signed: &str,
) -> Result<SignedTransaction, CheckError> {
    let response = WalletResponse::read(signed)?;
    let (Some(Itx::TransferV3Tx(requested)), Some(Itx::TransferV3Tx(transfer))) = (&expected.itx, &response.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        Comparison::new("recipient or amount", transfer.outputs == requested.outputs),
        Comparison::new("data", Payload::is_same_value(transfer.data.as_ref(), requested.data.as_ref())),
        Comparison::new("inputs", transfer.inputs == [tokens_of(&request.payer, currency, request.amount)]),
        Comparison::new("signatures", is_signed_by_payer_alone(&response.transaction, expected)),
    ];
    response.verify(expected, &inner)
}
