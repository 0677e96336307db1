//! Payments over an ArcBlock chain: the payer signs in a wallet, this store sends and pays the gas.

use super::ask;
use super::graphql::{CallError, GraphQl, quoted};
use super::transaction::transaction_hash;
use super::wire::Format;
use crate::identity::{AppKey, encode_base58};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use souk_domain::access::Did;
use souk_domain::payment::{
    CheckError, Currency, Method, MethodSettings, Outcome, PreparedTransfer, RailError, Refusal, Settlement, SignedTransfer, TransferAsk,
    WalletRail,
};
use souk_domain::shared::{Amount, Clock};
use std::sync::Arc;
use url::Url;

const OK: &str = "OK";
/// The chain knows these bytes already: what became of them decides.
const DUPLICATE: &str = "DUPLICATE_TX";

/// The rail to ArcBlock's chains, and to the sandbox's ledger.
pub struct ArcblockRail {
    app: AppKey,
    clock: Arc<dyn Clock>,
    base: Url,
    graphql: GraphQl,
}

impl ArcblockRail {
    /// `app` receives the payments and pays for gas. Hosts of methods that begin with `/` are below `base`, where this store listens.
    pub fn new(app: AppKey, clock: Arc<dyn Clock>, base: Url) -> Result<Self, RailError> {
        Ok(Self { app, clock, base, graphql: GraphQl::new()? })
    }

    /// The chain's id and its GraphQL address.
    fn chain<'m>(&self, method: &'m Method) -> Result<(&'m str, Url), RailError> {
        let MethodSettings::Arcblock { chain_id, api_host, .. } = &method.settings else {
            return Err(RailError::Misconfigured("not an ArcBlock method".to_owned()));
        };
        let address = if api_host.starts_with('/') { self.base.join(api_host) } else { Url::parse(api_host) };
        let address = address.map_err(|error| RailError::Misconfigured(format!("api_host: {error}")))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(RailError::Misconfigured("api_host must begin with http:// or https://".to_owned()));
        }
        Ok((chain_id, address))
    }

    async fn ask(&self, address: &Url, query: &str) -> Result<Value, CallError> {
        self.graphql.call(address, query, &[]).await
    }

    async fn check_currency(&self, address: &Url, currency: &Currency) -> Result<(), RailError> {
        let query = format!("{{getTokenState(address: {}){{code state{{address symbol decimal}}}}}}", quoted(&currency.contract));
        let answer = self.ask(address, &query).await?;
        let state = &answer["getTokenState"]["state"];
        let (symbol, decimals) = (state["symbol"].as_str(), state["decimal"].as_u64());
        if state.is_null() {
            return Err(RailError::Misconfigured(format!("the network has no token {}", currency.contract)));
        }
        if symbol != Some(&currency.symbol) || decimals != Some(u64::from(currency.decimals)) {
            return Err(RailError::Misconfigured(format!(
                "the token {} is {} with {} decimals on the network",
                currency.contract,
                symbol.unwrap_or("nameless"),
                decimals.unwrap_or_default()
            )));
        }
        Ok(())
    }

    /// Headers by which this store pays for the gas of a transaction that somebody else signed.
    fn gas_headers(&self, hash: &str) -> [(&'static str, String); 2] {
        let body = Map::from_iter([("txHash".to_owned(), json!(hash))]);
        [("x-gas-payer-pk", self.app.public_key_base58()), ("x-gas-payer-sig", self.app.sign_envelope(body, self.clock.now()))]
    }

    async fn look_up(&self, address: &Url, currency: &Currency, hash: &str) -> Outcome {
        let query = format!(
            "{{getTx(hash: {}){{code info{{code hash sender tx{{from}} receipts{{address changes{{target value}}}}}}}}}}",
            quoted(hash)
        );
        match self.ask(address, &query).await {
            Ok(answer) => read_transaction(&answer["getTx"], self.app.did(), currency, hash),
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }
}

#[async_trait]
impl WalletRail for ArcblockRail {
    async fn verify(&self, method: &Method, currencies: &[Currency]) -> Result<(), RailError> {
        let (chain_id, address) = self.chain(method)?;
        let answer = self.ask(&address, "{getChainInfo{code info{network}}}").await?;
        let network = answer["getChainInfo"]["info"]["network"].as_str().unwrap_or_default();
        if network != chain_id {
            return Err(RailError::Misconfigured(format!("chain_id is {chain_id}, the network calls itself {network}")));
        }
        for currency in currencies {
            self.check_currency(&address, currency).await?;
        }
        Ok(())
    }

    fn prepare(&self, method: &Method, currency: &Currency, ask: &TransferAsk) -> Result<PreparedTransfer, RailError> {
        let (chain_id, _) = self.chain(method)?;
        let transaction = ask::transfer(self.app.did(), chain_id, currency, ask)?;
        // Wallets are sent protobuf: not all of them read CBOR.
        Ok(PreparedTransfer { partial_tx: encode_base58(&transaction.encode(Format::Protobuf)), token: currency.contract.clone() })
    }

    fn check(&self, method: &Method, currency: &Currency, ask: &TransferAsk, signed_tx: &str) -> Result<SignedTransfer, CheckError> {
        let (chain_id, _) = self.chain(method).map_err(|_| CheckError::Differs("network"))?;
        let expected = ask::transfer(self.app.did(), chain_id, currency, ask).map_err(|_| CheckError::Differs("payer"))?;
        ask::compare(&expected, currency, ask, signed_tx)
    }

    async fn send(&self, method: &Method, currency: &Currency, signed: &SignedTransfer) -> Outcome {
        let (_, address) = match self.chain(method) {
            Ok(chain) => chain,
            Err(error) => return Outcome::Unknown(error.to_string()),
        };
        let hash = transaction_hash(&signed.bytes);
        let query = format!("mutation{{sendTx(tx: {}){{code hash}}}}", quoted(&URL_SAFE_NO_PAD.encode(&signed.bytes)));
        let refusal = match self.graphql.call(&address, &query, &self.gas_headers(&hash)).await {
            Ok(answer) if answer["sendTx"]["code"] == OK => None,
            Ok(_) => return Outcome::Unknown("the network answered without a result".to_owned()),
            Err(CallError::Refused { code, .. }) if code == DUPLICATE => None,
            // Some refusals are kept by the chain under the transaction's hash, others leave no trace: it is asked which.
            Err(error) if error.is_final() => Some(error),
            Err(error) => return Outcome::Unknown(error.to_string()),
        };
        match (self.look_up(&address, currency, &hash).await, refusal) {
            (Outcome::Absent, Some(CallError::Refused { code, message })) => Outcome::Refused(Refusal { code, message }),
            // Accepted, not visible yet.
            (Outcome::Absent, _) => Outcome::Pending { requires_payer: false, last_error: None },
            (outcome, _) => outcome,
        }
    }

    async fn find(&self, method: &Method, currency: &Currency, hash: &str) -> Outcome {
        match self.chain(method) {
            Ok((_, address)) => self.look_up(&address, currency, hash).await,
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }

    async fn balance(&self, method: &Method, currency: &Currency, payer: &Did) -> Result<Amount, RailError> {
        let (_, address) = self.chain(method)?;
        let query = format!(
            "{{getAccountTokens(address: {}, token: {}){{code tokens{{address balance}}}}}}",
            quoted(payer.as_str()),
            quoted(&currency.contract)
        );
        let answer = self.ask(&address, &query).await?;
        let tokens = answer["getAccountTokens"]["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(token) = tokens.iter().find(|token| token["address"] == currency.contract.as_str()) else { return Ok(Amount::ZERO) };
        let balance = Amount::parse_base_units(token["balance"].as_str().unwrap_or_default());
        balance.map_err(|_| RailError::Rejected("the network's balance is not an amount".to_owned()))
    }
}

/// A transaction that the chain knows has not moved anything unless its own code says OK.
fn read_transaction(answer: &Value, app: &Did, currency: &Currency, hash: &str) -> Outcome {
    if !answer.is_object() {
        return Outcome::Unknown("the network answered without a result".to_owned());
    }
    let info = &answer["info"];
    if info.is_null() {
        return Outcome::Absent;
    }
    if info["hash"].as_str().is_none_or(|found| !found.eq_ignore_ascii_case(hash)) {
        return Outcome::Unknown("the network answered about another transaction".to_owned());
    }
    match info["code"].as_str() {
        Some(OK) => {}
        Some(code) => {
            return Outcome::Refused(Refusal { code: code.to_owned(), message: format!("The network refused the payment ({code}).") });
        }
        None => return Outcome::Unknown("the network answered without a code".to_owned()),
    }
    let Some(amount) = credited(&info["receipts"], app, currency) else {
        return Outcome::Unknown("the network's receipts are not amounts".to_owned());
    };
    let payer = info["tx"]["from"].as_str().or(info["sender"].as_str()).unwrap_or_default();
    Outcome::Settled(Settlement { reference: hash.to_owned(), payer: payer.to_owned(), amount, card: None })
}

/// What the receipts say this store got, of this token. `None` when they cannot be read.
fn credited(receipts: &Value, app: &Did, currency: &Currency) -> Option<Amount> {
    let (mut gained, mut lost) = (Amount::ZERO, Amount::ZERO);
    for receipt in receipts.as_array()?.iter().filter(|receipt| receipt["address"] == app.as_str()) {
        for change in receipt["changes"].as_array()?.iter().filter(|change| change["target"] == currency.contract.as_str()) {
            let value = change["value"].as_str()?;
            let (sum, digits) = match value.strip_prefix('-') {
                Some(digits) => (&mut lost, digits),
                None => (&mut gained, value.strip_prefix('+').unwrap_or(value)),
            };
            *sum = sum.plus(Amount::parse_base_units(digits).ok()?).ok()?;
        }
    }
    Some(gained.minus(lost).unwrap_or(Amount::ZERO))
}
