//! Gas of a chain (chains.md 3.4): reads its prices and this store's stake, and builds the stake that exempts the store.

use super::graphql::{CallError, quoted};
use super::messages::{Multisig, StakeTx, TokenInput, Transaction, TransactionInput};
use super::outcome::OK;
use super::rail::{ArcblockRail, Chain, DUPLICATE, unechoed};
use super::states;
use super::transaction::transaction_hash;
use super::wallet_tx::NO_FEE;
use super::wire::Format;
use crate::identity::{AppKey, stake_address};
use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::payment::{
    Decline, GasState, GasStatus, INSUFFICIENT_FUND, INSUFFICIENT_GAS, Method, RailError, SignedTransaction, StakeState,
};
use souk_domain::shared::Amount;
use url::Url;

/// The message of the stake, which chains require.
const MESSAGE: &str = "stake for gas";
/// Chains report a sender who cannot pay the gas like one who cannot pay the amount; only the message differs.
const GAS_MESSAGE: &str = "Insufficient fund to pay for tx cost";
/// The code for a sender without an account, who cannot pay gas either.
const INVALID_GAS_PAYER: &str = "INVALID_GAS_PAYER";
/// The size of a transaction for which the gas is estimated: bytes, created states (itself included), updated states.
const USUAL_BYTES: u128 = 1_000;
const USUAL_CREATED: u128 = 2;
const USUAL_UPDATED: u128 = 4;

const PRICES: &str = "{getForgeState{code state{token{address symbol decimal} \
    txConfig{txGas{price createState updateState dataStorage minStake}}}}}";

/// Reads a rejection of the chain. Gives missing gas its own code.
pub fn decline_of(code: String, message: String) -> Decline {
    let is_for_gas = (code == INSUFFICIENT_FUND && message.contains(GAS_MESSAGE)) || code == INVALID_GAS_PAYER;
    Decline { code: if is_for_gas { INSUFFICIENT_GAS.to_owned() } else { code }, message }
}

impl ArcblockRail {
    pub(super) async fn gas_state(&self, address: &Url) -> Result<GasState, RailError> {
        let answer = self.query(address, PRICES).await.map_err(unechoed)?;
        let state = &answer["getForgeState"]["state"];
        let (token, prices) = (&state["token"], &state["txConfig"]["txGas"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let account = self.app().did().clone();
        let contract = text(&token["address"]);
        let stake = stake_address(&account, &account, "");
        let held = self.query(address, &held_query(&account, &stake, &contract)).await.map_err(unechoed)?;
        let StakeState { held: staked, revoked } = states::staked_of(&held["stake"], &contract)?;
        Ok(GasState {
            balance: states::balance_of(&held["funds"], &contract)?,
            account,
            symbol: text(&token["symbol"]),
            decimals: token["decimal"].as_u64().and_then(|decimals| u32::try_from(decimals).ok()).unwrap_or_default(),
            token: contract,
            cost: usual_cost(prices)?,
            min_stake: amount(&prices["minStake"])?,
            // A chain accepts a revoked stake as well, until it is claimed.
            staked: staked.max(revoked),
        })
    }

    /// Stakes for gas. The transaction follows from the state of the account: as long as none of its transactions has been executed, a
    /// repeated call sends the same bytes.
    pub(super) async fn send_gas_stake(&self, method: &Method) -> Result<GasState, RailError> {
        let Chain { id: chain_id, address } = self.chain(method)?;
        let before = self.gas_state(&address).await?;
        match before.status() {
            GasStatus::Free | GasStatus::Staked => return Ok(before),
            GasStatus::LacksFunds => return Err(RailError::Rejected("the account lacks the funds for the stake".to_owned())),
            GasStatus::ReadyToStake => {}
        }
        let query = format!("{{getAccountState(address: {}){{code state{{nonce}}}}}}", quoted(before.account.as_str()));
        let account = self.query(&address, &query).await.map_err(unechoed)?;
        let nonce = account["getAccountState"]["state"]["nonce"].as_str().and_then(|nonce| nonce.parse::<u64>().ok()).unwrap_or_default();
        let signed = sign_stake(self.app(), chain_id, &before, nonce.saturating_add(1));
        match self.send_bytes(&address, &signed).await {
            Ok(answer) if answer["sendTx"]["code"] == OK => {}
            Ok(_) => return Err(RailError::Unreachable("the network answered without a result".to_owned())),
            // The answer to an earlier call was lost.
            Err(CallError::Rejected { code, .. }) if code == DUPLICATE => {}
            Err(error) => return Err(unechoed(error)),
        }
        self.gas_state(&address).await
    }
}

fn held_query(account: &Did, stake: &Did, token: &str) -> String {
    let (account, stake, token) = (quoted(account.as_str()), quoted(stake.as_str()), quoted(token));
    format!(
        "{{stake: getStakeState(address: {stake}){{code state{{tokens{{address value}} revokedTokens{{address value}}}}}} \
         funds: getAccountTokens(address: {account}, token: {token}){{code tokens{{address balance}}}}}}"
    )
}

/// The gas of a usual transaction.
fn usual_cost(prices: &Value) -> Result<Amount, RailError> {
    let price = amount(&prices["price"])?.base_units();
    let units = |count: u128, name: &str| Ok::<_, RailError>(amount(&prices[name])?.base_units().saturating_mul(count));
    let gas = units(USUAL_BYTES, "dataStorage")?
        .saturating_add(units(USUAL_CREATED, "createState")?)
        .saturating_add(units(USUAL_UPDATED, "updateState")?);
    Ok(Amount::new(price.saturating_mul(gas)))
}

/// Reads an amount. Depending on the chain's version, it is a JSON number or a string; a missing one counts as zero.
fn amount(value: &Value) -> Result<Amount, RailError> {
    match value.as_u64() {
        Some(number) => Ok(Amount::new(u128::from(number))),
        None => states::amount(value),
    }
}

/// The stake of an account for itself, which is free of gas itself.
fn sign_stake(app: &AppKey, chain_id: &str, gas: &GasState, nonce: u64) -> SignedTransaction {
    let own = app.did().to_string();
    let pk = app.public_key().as_bytes().to_vec();
    let tokens = vec![TokenInput { address: gas.token.clone(), value: gas.least_stake().to_string() }];
    let stake = StakeTx {
        address: stake_address(app.did(), app.did(), "").to_string(),
        receiver: own.clone(),
        inputs: vec![TransactionInput { owner: own.clone(), tokens, assets: Vec::new() }],
        message: MESSAGE.to_owned(),
        ..StakeTx::default()
    };
    let mut transaction = Transaction {
        from: own.clone(),
        nonce,
        chain_id: chain_id.to_owned(),
        pk: pk.clone(),
        signatures: vec![Multisig { signer: own, pk, ..Multisig::default() }],
        itx: Some(stake.into()),
        service_fee: NO_FEE.to_owned(),
        ..Transaction::default()
    };
    let signature = app.sign(&transaction.party_signing_bytes(Format::Protobuf)).to_vec();
    transaction.signatures[0].signature = signature;
    transaction.signature = app.sign(&transaction.signing_bytes(Format::Protobuf)).to_vec();
    let bytes = transaction.encode(Format::Protobuf);
    SignedTransaction { hash: transaction_hash(&bytes), bytes }
}
