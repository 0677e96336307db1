//! Stakes: builds the requested stake transaction (chains.md 3.7), and verifies the one that the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{StakeTx, Transaction};
use super::wallet_tx::{Comparison, Parties, WalletResponse, is_signed_by_payer_alone, tokens_of};
use crate::identity::stake_address;
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction, StakeRequest};

/// The message of a stake transaction, which chains require.
pub const MESSAGE: &str = "deposit";
/// The longest subject that chains accept, in bytes.
const MAX_SUBJECT: usize = 256;

pub fn prepare(app: &Did, chain_id: &str, request: &StakeRequest) -> Result<Transaction, RailError> {
    if request.amount.is_zero() {
        return Err(RailError::Rejected("a deposit must be above zero".to_owned()));
    }
    if request.subject.is_empty() || request.subject.trim() != request.subject || request.subject.len() > MAX_SUBJECT {
        return Err(RailError::Rejected(format!("a deposit's subject has 1 to {MAX_SUBJECT} characters")));
    }
    let waiting = u32::try_from(request.waiting.as_secs()).map_err(|_| RailError::Rejected("the waiting period is too long".to_owned()))?;
    let stake = StakeTx {
        address: stake_address(&request.payer, app, &request.subject).to_string(),
        receiver: app.to_string(),
        inputs: Vec::new(),
        locked: false,
        message: MESSAGE.to_owned(),
        revoke_waiting_period: waiting,
        slashers: vec![app.to_string()],
        nonce: request.subject.clone(),
        data: Some(Payload::new(&json!({"reference": request.reference}))),
    };
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.unsigned_transaction(request.nonce, stake.into())
}

pub fn check(expected: &Transaction, currency: &Currency, request: &StakeRequest, signed: &str) -> Result<SignedTransaction, CheckError> {
    let response = WalletResponse::read(signed)?;
    let (Some(Itx::StakeTx(requested)), Some(Itx::StakeTx(stake))) = (&expected.itx, &response.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        Comparison::new("address", stake.address == requested.address),
        Comparison::new("recipient", stake.receiver == requested.receiver),
        Comparison::new("subject", stake.nonce == requested.nonce),
        Comparison::new("slashers", stake.slashers == requested.slashers),
        Comparison::new(
            "waiting period",
            stake.revoke_waiting_period == requested.revoke_waiting_period && stake.locked == requested.locked,
        ),
        Comparison::new("data", stake.message == requested.message && Payload::is_same_value(stake.data.as_ref(), requested.data.as_ref())),
        Comparison::new("inputs", stake.inputs == [tokens_of(&request.payer, currency, request.amount)]),
        Comparison::new("signatures", is_signed_by_payer_alone(&response.transaction, expected)),
    ];
    response.verify(expected, &inner)
}
