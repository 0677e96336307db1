//! Payments over an ArcBlock chain. The payer signs in a wallet; this store sends the transaction and pays the gas.

use super::generations::OlderNetworks;
use super::graphql::{CallError, GraphQl, quoted};
use super::messages::Transaction;
use super::outcome::{self, OK};
use super::stake_terms::StakePayment;
use super::wire::Format;
use super::{gas, mandate, stake, states, store_tx, transfer};
use crate::identity::{AppKey, delegation_address, encode_base58, stake_address};
use crate::outbound::PrivateNetworks;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use souk_domain::access::Did;
use souk_domain::operation::ClockWatch;
use souk_domain::payment::{
    CheckError, Currency, GasState, MandateRequest, Method, MethodSettings, Movement, Outcome, RailError, SignedTransaction, StakeRequest,
    StakeState, StoreTransactionRequest, TransferRequest, UnsignedTransaction, WalletRail,
};
use souk_domain::shared::{Amount, Clock, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The code for a transaction that the chain already knows. Its stored outcome decides.
pub(super) const DUPLICATE: &str = "DUPLICATE_TX";

/// The rail to ArcBlock's chains, and to the sandbox's ledger.
pub struct ArcblockRail {
    app: AppKey,
    clock: Arc<dyn Clock>,
    graphql: GraphQl,
    older_networks: OlderNetworks,
}

/// The chain of a method.
pub(super) struct Chain<'m> {
    pub id: &'m str,
    /// Its GraphQL address.
    pub address: Url,
}

impl ArcblockRail {
    /// `app` receives the payments and pays for gas. `base` is the store's own address, which completes method hosts that begin with `/`.
    pub fn new(app: AppKey, clock: Arc<dyn Clock>, base: Url) -> Result<Self, RailError> {
        Self::reaching(app, clock, base, PrivateNetworks::Refused)
    }

    /// As [`ArcblockRail::new`], with or without hosts in private networks.
    pub fn reaching(app: AppKey, clock: Arc<dyn Clock>, base: Url, private: PrivateNetworks) -> Result<Self, RailError> {
        Ok(Self { app, clock, graphql: GraphQl::new(base, private)?, older_networks: OlderNetworks::default() })
    }

    pub(super) const fn app(&self) -> &AppKey {
        &self.app
    }

    /// Reports the time of the chains' gateways.
    #[must_use]
    pub fn watched_by(mut self, watch: Arc<ClockWatch>) -> Self {
        self.graphql.report_dates(watch);
        self
    }

    pub(super) fn chain<'m>(&self, method: &'m Method) -> Result<Chain<'m>, RailError> {
        let MethodSettings::Arcblock { chain_id, api_host, .. } = &method.settings else {
            return Err(RailError::Misconfigured("not an ArcBlock method".to_owned()));
        };
        let address = self.graphql.address(api_host).map_err(|error| RailError::Misconfigured(format!("api_host: {error}")))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(RailError::Misconfigured("api_host must begin with http:// or https://".to_owned()));
        }
        Ok(Chain { id: chain_id, address })
    }

    pub(super) async fn query(&self, address: &Url, query: &str) -> Result<Value, CallError> {
        self.graphql.call(address, query, &[]).await
    }

    /// Sends a signed transaction. This store offers to pay its gas.
    pub(super) async fn send_bytes(&self, address: &Url, signed: &SignedTransaction) -> Result<Value, CallError> {
        let query = format!("mutation{{sendTx(tx: {}){{code hash}}}}", quoted(&URL_SAFE_NO_PAD.encode(&signed.bytes)));
        self.graphql.call(address, &query, &self.gas_headers(&signed.hash)).await
    }

    /// Asks for a delegation, with the newer fields if the network may know them.
    async fn delegation_state(&self, address: &Url, delegation: &Did) -> Result<Value, CallError> {
        let now = self.clock.now();
        if !self.older_networks.contains(address, now) {
            match self.query(address, &states::delegation_query(delegation, states::NEWER_DELEGATION_FIELDS)).await {
                Err(error) if error.is_unknown_field() => self.older_networks.insert(address.clone(), now),
                answer => return answer,
            }
        }
        self.query(address, &states::delegation_query(delegation, "")).await
    }

    async fn check_currency(&self, address: &Url, currency: &Currency) -> Result<(), RailError> {
        let query = format!("{{getTokenState(address: {}){{code state{{address symbol decimal}}}}}}", quoted(&currency.contract));
        let answer = self.query(address, &query).await.map_err(unechoed)?;
        let state = &answer["getTokenState"]["state"];
        let (symbol, decimals) = (state["symbol"].as_str(), state["decimal"].as_u64());
        if state.is_null() {
            return Err(RailError::Misconfigured(format!("the network has no token {}", currency.contract)));
        }
        if symbol != Some(&currency.symbol) || decimals != Some(u64::from(currency.decimals)) {
            return Err(RailError::Misconfigured(format!(
                "the token {} has another symbol or another number of decimals on the network",
                currency.contract
            )));
        }
        Ok(())
    }

    /// Returns the headers by which this store pays the gas of a transaction that another account signed.
    fn gas_headers(&self, hash: &str) -> [(&'static str, String); 2] {
        let body = Map::from_iter([("txHash".to_owned(), json!(hash))]);
        [("x-gas-payer-pk", self.app.public_key_base58()), ("x-gas-payer-sig", self.app.sign_envelope(body, self.clock.now()))]
    }

    /// `stake`: the payment into a stake that the transaction is known to be. The stake is then read with the same query.
    async fn look_up(&self, address: &Url, currency: &Currency, hash: &str, stake: Option<&StakePayment>) -> Outcome {
        let state = stake.map(|stake| states::stake_field(&stake.address)).unwrap_or_default();
        let query = format!("{{getTx(hash: {}){{{}}} {state}}}", quoted(hash), outcome::FIELDS);
        let answer = match self.query(address, &query).await {
            Ok(answer) => answer,
            Err(error) => return Outcome::Unknown(error.to_string()),
        };
        let outcome = outcome::read(&answer["getTx"], self.app.did(), currency, hash);
        if !matches!(outcome, Outcome::Settled(_)) {
            return outcome;
        }
        match stake {
            Some(stake) => stake.outcome(outcome, &answer, self.app.did()),
            None => self.outcome_of_found(address, outcome, &answer).await,
        }
    }
}

/// The error of a query that checks settings, without the answer: the administrator chose who answers.
pub(super) fn unechoed(error: CallError) -> RailError {
    match error {
        CallError::Unanswered(reason) => RailError::Unreachable(reason),
        CallError::Rejected { .. } => RailError::Rejected("the network rejected the query".to_owned()),
    }
}

#[async_trait]
impl WalletRail for ArcblockRail {
    async fn validate_settings(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        let Chain { id: chain_id, address } = self.chain(method)?;
        let answer = self.query(&address, "{getChainInfo{code info{network}}}").await.map_err(unechoed)?;
        let network = answer["getChainInfo"]["info"]["network"].as_str().unwrap_or_default();
        if network != chain_id {
            return Err(RailError::Misconfigured(format!("the network's chain_id is not {chain_id}")));
        }
        for currency in currencies {
            self.check_currency(&address, currency).await?;
        }
        Ok(())
    }

    fn prepare(&self, method: &Method, currency: &Currency, request: &TransferRequest) -> Result<UnsignedTransaction, RailError> {
        let chain_id = self.chain(method)?.id;
        Ok(prepared(&transfer::prepare(self.app.did(), chain_id, currency, request)?, &currency.contract))
    }

    fn check(
        &self,
        method: &Method,
        currency: &Currency,
        request: &TransferRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError> {
        let chain_id = self.chain(method).map_err(|_| CheckError::Differs("network"))?.id;
        let expected = transfer::prepare(self.app.did(), chain_id, currency, request).map_err(|_| CheckError::Differs("payer"))?;
        transfer::check(&expected, currency, request, signed_tx)
    }

    fn prepare_mandate(&self, method: &Method, request: &MandateRequest) -> Result<UnsignedTransaction, RailError> {
        let chain_id = self.chain(method)?.id;
        let token = request.limits.first().map(|limit| limit.currency.contract.as_str()).unwrap_or_default();
        Ok(prepared(&mandate::prepare(self.app.did(), chain_id, request)?, token))
    }

    fn check_mandate(&self, method: &Method, request: &MandateRequest, signed_tx: &str) -> Result<SignedTransaction, CheckError> {
        let chain_id = self.chain(method).map_err(|_| CheckError::Differs("network"))?.id;
        let expected = mandate::prepare(self.app.did(), chain_id, request).map_err(|_| CheckError::Differs("payer"))?;
        mandate::check(&expected, signed_tx)
    }

    fn prepare_stake(&self, method: &Method, currency: &Currency, request: &StakeRequest) -> Result<UnsignedTransaction, RailError> {
        let chain_id = self.chain(method)?.id;
        Ok(prepared(&stake::prepare(self.app.did(), chain_id, request)?, &currency.contract))
    }

    fn check_stake(
        &self,
        method: &Method,
        currency: &Currency,
        request: &StakeRequest,
        signed_tx: &str,
    ) -> Result<SignedTransaction, CheckError> {
        let chain_id = self.chain(method).map_err(|_| CheckError::Differs("network"))?.id;
        let expected = stake::prepare(self.app.did(), chain_id, request).map_err(|_| CheckError::Differs("payer"))?;
        stake::check(&expected, currency, request, signed_tx)
    }

    fn mandate_address(&self, payer: &Did) -> Option<Did> {
        Some(delegation_address(payer, self.app.did()))
    }

    fn stake_address(&self, payer: &Did, subject: &str) -> Option<Did> {
        Some(stake_address(payer, self.app.did(), subject))
    }

    async fn mandate_allows(&self, method: &Method, currency: &Currency, payer: &Did, amount: Amount) -> Result<bool, RailError> {
        let address = self.chain(method)?.address;
        let delegation = delegation_address(payer, self.app.did());
        let answer = self.delegation_state(&address, &delegation).await?;
        states::mandate_allows(&answer, self.app.did(), currency, amount, self.clock.now())
    }

    async fn stake_balance(
        &self,
        method: &Method,
        currency: &Currency,
        payer: &Did,
        subject: &str,
        waiting: Duration,
    ) -> Result<StakeState, RailError> {
        let address = self.chain(method)?.address;
        let stake = stake_address(payer, self.app.did(), subject);
        let answer = self.query(&address, &states::stake_query(stake.as_str())).await?;
        states::read_stake(&answer, self.app.did(), currency, waiting)
    }

    fn check_signing(&self, method: &Method) -> Result<(), RailError> {
        self.chain(method).map(drop)
    }

    fn sign(&self, method: &Method, currency: &Currency, request: &StoreTransactionRequest) -> Result<SignedTransaction, RailError> {
        let chain_id = self.chain(method)?.id;
        store_tx::sign(&self.app, chain_id, currency, request)
    }

    async fn send(&self, method: &Method, currency: &Currency, signed: &SignedTransaction) -> Outcome {
        let address = match self.chain(method) {
            Ok(chain) => chain.address,
            Err(error) => return Outcome::Unknown(error.to_string()),
        };
        let stake = StakePayment::signed(&signed.bytes);
        if let Some(stake) = &stake
            && let Some(refused) = self.refuse_stake(&address, stake).await
        {
            return refused;
        }
        let decline = match self.send_bytes(&address, signed).await {
            Ok(answer) if answer["sendTx"]["code"] == OK => None,
            Ok(_) => return Outcome::Unknown("the network answered without a result".to_owned()),
            Err(CallError::Rejected { code, .. }) if code == DUPLICATE => None,
            // The chain records some rejections under the transaction's hash, but not all of them: look the transaction up.
            Err(error) if error.is_final() => Some(error),
            Err(error) => return Outcome::Unknown(error.to_string()),
        };
        match (self.look_up(&address, currency, &signed.hash, stake.as_ref()).await, decline) {
            (Outcome::NotFound, Some(CallError::Rejected { code, message })) => Outcome::Declined(gas::decline_of(code, message)),
            // A recorded rejection has only its code, and lacking gas has the code of lacking funds.
            (Outcome::Declined(recorded), Some(CallError::Rejected { code, message })) if recorded.code == code => {
                let answered = gas::decline_of(code, message);
                Outcome::Declined(if answered.is_for_gas() { answered } else { recorded })
            }
            // Accepted, but not visible yet.
            (Outcome::NotFound, _) => Outcome::Pending { requires_payer: false, last_error: None },
            (outcome, _) => outcome,
        }
    }

    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome {
        match self.chain(method) {
            Ok(chain) => self.look_up(&chain.address, currency, hash, None).await,
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }

    async fn balance(&self, method: &Method, currency: &Currency, payer: &Did) -> Result<Amount, RailError> {
        let address = self.chain(method)?.address;
        states::read_balance(&self.query(&address, &states::balance_query(payer, currency)).await?, currency)
    }

    async fn movements(&self, method: &Method, currencies: &[Currency], since: Timestamp) -> Result<Vec<Movement>, RailError> {
        self.movements_listed(method, currencies, since).await
    }

    async fn gas(&self, method: &Method) -> Result<GasState, RailError> {
        let address = self.chain(method)?.address;
        self.gas_state(&address).await
    }

    async fn stake_for_gas(&self, method: &Method) -> Result<GasState, RailError> {
        self.send_gas_stake(method).await
    }
}

/// Encodes a transaction for a wallet, as protobuf because not all wallets read CBOR.
fn prepared(transaction: &Transaction, token: &str) -> UnsignedTransaction {
    UnsignedTransaction { partial_tx: encode_base58(&transaction.encode(Format::Protobuf)), token: token.to_owned() }
}
