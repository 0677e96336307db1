//! A payment: the transfer that is asked for, and the comparison with what the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{Transaction, TransferV3Tx};
use super::wallet_tx::{Given, Parties, is_signed_by_payer_alone, share};
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction, TransferRequest};

pub fn prepare(app: &Did, chain_id: &str, currency: &Currency, request: &TransferRequest) -> Result<Transaction, RailError> {
    let transfer = TransferV3Tx {
        inputs: Vec::new(),
        outputs: vec![share(request.to.as_ref().unwrap_or(app), currency, request.amount)],
        data: Some(Payload::new(&json!({"reference": request.reference}))),
    };
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.frame(request.nonce, transfer.into())
}

pub fn check(
    expected: &Transaction,
    currency: &Currency,
    request: &TransferRequest,
    signed: &str,
) -> Result<SignedTransaction, CheckError> {
    let given = Given::read(signed)?;
    let (Some(Itx::TransferV3Tx(asked)), Some(Itx::TransferV3Tx(transfer))) = (&expected.itx, &given.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        (transfer.outputs == asked.outputs, "recipient or amount"),
        (Payload::says_same(transfer.data.as_ref(), asked.data.as_ref()), "data"),
        (transfer.inputs == [share(&request.payer, currency, request.amount)], "inputs"),
        (is_signed_by_payer_alone(&given.transaction, expected), "signatures"),
    ];
    given.accept(expected, &inner)
}
