//! A deposit: the stake that is asked for (chains.md 3.7), and the comparison with what the wallet signed.

use super::any::{Itx, Payload};
use super::messages::{StakeTx, Transaction};
use super::wallet_tx::{Given, Parties, is_signed_by_payer_alone, share};
use crate::identity::stake_address;
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{CheckError, Currency, RailError, SignedTransaction, StakeRequest};

/// Chains want a message, and take no longer subject.
pub const MESSAGE: &str = "deposit";
const MAX_SUBJECT: usize = 256;

pub fn prepare(app: &Did, chain_id: &str, request: &StakeRequest) -> Result<Transaction, RailError> {
    if request.amount.is_zero() {
        return Err(RailError::Rejected("a deposit of nothing is not asked for".to_owned()));
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
    Parties { app, chain_id, payer: &request.payer, payer_key: &request.payer_key }.frame(request.nonce, stake.into())
}

pub fn check(expected: &Transaction, currency: &Currency, request: &StakeRequest, signed: &str) -> Result<SignedTransaction, CheckError> {
    let given = Given::read(signed)?;
    let (Some(Itx::StakeTx(asked)), Some(Itx::StakeTx(stake))) = (&expected.itx, &given.transaction.itx) else {
        return Err(CheckError::Differs("type"));
    };
    let inner = [
        (stake.address == asked.address, "address"),
        (stake.receiver == asked.receiver, "recipient"),
        (stake.nonce == asked.nonce, "subject"),
        (stake.slashers == asked.slashers, "slashers"),
        (stake.revoke_waiting_period == asked.revoke_waiting_period && stake.locked == asked.locked, "waiting period"),
        (stake.message == asked.message && Payload::says_same(stake.data.as_ref(), asked.data.as_ref()), "data"),
        (stake.inputs == [share(&request.payer, currency, request.amount)], "inputs"),
        (is_signed_by_payer_alone(&given.transaction, expected), "signatures"),
    ];
    given.accept(expected, &inner)
}
