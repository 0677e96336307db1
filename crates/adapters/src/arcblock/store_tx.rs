//! Transactions signed with the key of the store: charges by mandate (chains.md 3.6), refunds, and returns and forfeits of stakes (3.7).

use super::any::{Itx, Payload};
use super::messages::{ReturnStakeTx, SlashStakeTx, TokenInput, Transaction, TransferV2Tx};
use super::transaction::transaction_hash;
use super::wallet_tx::{NO_FEE, tokens_of};
use super::wire::Format;
use crate::identity::{AppKey, stake_address};
use serde_json::json;
use souk_domain::access::Did;
use souk_domain::payment::{ChargedPeriod, Currency, RailError, SignedTransaction, StoreTransaction, StoreTransactionRequest};

/// The messages of transactions that move a stake, which chains require. Recorded transactions of the published client contain them.
const RETURNED: &str = "deposit returned";
const FORFEITED: &str = "deposit taken for what is owed";

/// Builds and signs a transaction. Equal requests give equal bytes, because ed25519 signatures are deterministic.
pub fn sign(app: &AppKey, chain_id: &str, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError> {
    if request.amount.is_zero() {
        return Err(RailError::Rejected("the amount must be above zero".to_owned()));
    }
    let (from, delegator) = match &request.transaction {
        // On the chain, `delegator` is the account that acts, not the one that granted the delegation.
        StoreTransaction::Pull { payer } => (payer, app.did().to_string()),
        _ => (app.did(), String::new()),
    };
    let other = match &request.transaction {
        StoreTransaction::Pull { payer } | StoreTransaction::ReturnStake { payer, .. } | StoreTransaction::Slash { payer, .. } => payer,
        StoreTransaction::Payout { to } => to,
    };
    if other == app.did() {
        return Err(RailError::Rejected("a store cannot pay itself".to_owned()));
    }
    let mut transaction = Transaction {
        from: from.to_string(),
        nonce: request.nonce,
        chain_id: chain_id.to_owned(),
        pk: app.public_key().as_bytes().to_vec(),
        delegator,
        itx: Some(inner(app.did(), currency, request)),
        service_fee: NO_FEE.to_owned(),
        ..Transaction::default()
    };
    transaction.signature = app.sign(&transaction.signing_bytes(Format::Protobuf)).to_vec();
    let bytes = transaction.encode(Format::Protobuf);
    Ok(SignedTransaction { hash: transaction_hash(&bytes), bytes })
}

fn inner(app: &Did, currency: &Currency, request: &StoreTransactionRequest) -> Itx {
    let mut content = json!({"reference": request.reference});
    for (name, value) in request.period.iter().flat_map(ChargedPeriod::fields) {
        content[name] = json!(value);
    }
    let data = Some(Payload::new(&content));
    match &request.transaction {
        StoreTransaction::Pull { .. } => transfer(app, currency, request, data).into(),
        StoreTransaction::Payout { to } => transfer(to, currency, request, data).into(),
        StoreTransaction::ReturnStake { payer, subject } => ReturnStakeTx {
            address: stake_address(payer, app, subject).to_string(),
            outputs: vec![tokens_of(payer, currency, request.amount)],
            message: RETURNED.to_owned(),
            data,
        }
        .into(),
        StoreTransaction::Slash { payer, subject } => SlashStakeTx {
            address: stake_address(payer, app, subject).to_string(),
            outputs: vec![tokens_of(app, currency, request.amount)],
            message: FORFEITED.to_owned(),
            data,
        }
        .into(),
    }
}

fn transfer(to: &Did, currency: &Currency, request: &StoreTransactionRequest, data: Option<Payload>) -> TransferV2Tx {
    TransferV2Tx {
        to: to.to_string(),
        tokens: vec![TokenInput { address: currency.contract.clone(), value: request.amount.to_string() }],
        data,
        ..TransferV2Tx::default()
    }
}
