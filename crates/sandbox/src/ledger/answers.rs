//! The ledger's answers to GraphQL queries, in the format of ArcBlock's chains (chains.md 3.8).

use super::chain::{GAS_OF_BYTE, GAS_OF_CREATED_STATE, GAS_OF_UPDATED_STATE, GAS_STAKE_LOCK, MAX_GAS_STAKE, MIN_GAS_STAKE};
use super::query::RootField;
use super::rules::{self, LedgerError};
use super::state::{Account, Entry, Page, SendError};
use super::{CHAIN_ID, Ledger, TOKEN_DECIMALS, TOKEN_NAME, TOKEN_SYMBOL};
use crate::did::Address;
use crate::time::Timestamp;
use crate::wire;
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

/// base64url with optional padding, because clients differ.
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const OK: &str = "OK";

impl Ledger {
    /// Answers a query field.
    pub(super) async fn answer(&self, field: &RootField) -> Result<Value, SendError> {
        match field.name.as_str() {
            "getChainInfo" => Ok(self.chain_info()),
            "getForgeState" => Ok(self.forge_state()),
            "getTokenState" => self.token_state(field.text("address")).await,
            "getAccountState" => self.account_state(&normal(field.text("address"))).await,
            "getAccountTokens" => self.account_tokens(&normal(field.text("address")), field.text("token")).await,
            "getDelegateState" => Ok(json!({"code": OK, "state": self.delegation_state(&normal(field.text("address"))).await?})),
            "listDelegations" => self.list_delegations(&normal(field.text("from")), &normal(field.text("to"))).await,
            "getStakeState" => Ok(json!({"code": OK, "state": self.stake_state(&normal(field.text("address"))).await?})),
            "listTransactions" => self.list_transactions(field).await,
            "getTx" => self.transaction(&field.text("hash").to_uppercase()).await,
            name => Err(unsupported(name)),
        }
    }

    /// Executes the only mutation, which sends a transaction.
    pub(super) async fn execute(
        &self,
        field: &RootField,
        gas_payer: Option<&Address>,
        records_rejections: bool,
    ) -> Result<Value, SendError> {
        if field.name != "sendTx" {
            return Err(unsupported(&field.name));
        }
        let bytes = BASE64_URL.decode(field.text("tx")).map_err(|_| LedgerError::new("INVALID_TX", "tx is not base64url"))?;
        let transaction = rules::read(&bytes, &self.token, self.chain().generation)?;
        self.apply(&transaction, gas_payer, records_rejections).await?;
        Ok(json!({"code": OK, "hash": transaction.signed.hash}))
    }

    fn chain_info(&self) -> Value {
        let now = self.clock.now();
        json!({"code": OK, "info": {
            "id": CHAIN_ID, "network": CHAIN_ID, "moniker": "Souk sandbox", "consensusVersion": "souk sandbox",
            "version": self.chain().generation.version(),
            "synced": true, "blockHeight": now.seconds().to_string(), "blockTime": now.to_iso(),
            "supportedTxs": [
                "fg:t:transfer_v2", "fg:t:transfer_v3", "fg:t:delegate", "fg:t:revoke_delegate", "fg:t:stake", "fg:t:revoke_stake",
                "fg:t:claim_stake", "fg:t:slash_stake", "fg:t:return_stake",
            ],
        }})
    }

    fn forge_state(&self) -> Value {
        let chain = self.chain();
        let is_free = chain.gas_price == 0;
        let limit = |amount: u128| if is_free { "0".to_owned() } else { amount.to_string() };
        let gas = json!({
            "price": chain.gas_price.to_string(), "createState": GAS_OF_CREATED_STATE, "updateState": GAS_OF_UPDATED_STATE,
            "dataStorage": GAS_OF_BYTE, "minStake": limit(MIN_GAS_STAKE), "maxStake": limit(MAX_GAS_STAKE),
            "stakeLockPeriod": GAS_STAKE_LOCK,
        });
        json!({"code": OK, "state": {
            "address": self.token, "version": chain.generation.version(), "token": self.token_info(),
            "vaults": {"slashedStake": self.token, "txFee": self.token, "txGas": [self.token]},
            "txConfig": {"txFee": [], "txGas": gas, "maxMultisig": 10, "maxListSize": 128, "maxAssetSize": 1_000_000},
        }})
    }

    pub(super) fn token_info(&self) -> Value {
        json!({"address": self.token, "name": TOKEN_NAME, "symbol": TOKEN_SYMBOL, "unit": TOKEN_SYMBOL, "decimal": TOKEN_DECIMALS, "description": TOKEN_NAME})
    }

    async fn token_state(&self, address: &str) -> Result<Value, SendError> {
        if address != self.token {
            return Ok(json!({"code": OK, "state": null}));
        }
        let mut state = self.token_info();
        state["issuer"] = json!(self.token);
        state["type"] = json!("Token");
        state["totalSupply"] = json!(self.supply().await?.to_string());
        Ok(json!({"code": OK, "state": state}))
    }

    async fn account_state(&self, address: &str) -> Result<Value, SendError> {
        let state = self.account(address).await?.map(|account| self.describe(&account));
        Ok(json!({"code": OK, "state": state}))
    }

    fn describe(&self, account: &Account) -> Value {
        let balance = account.balance.to_string();
        let held =
            json!({"address": self.token, "value": balance, "decimal": TOKEN_DECIMALS, "symbol": TOKEN_SYMBOL, "unit": TOKEN_SYMBOL});
        let since = Timestamp::from_micros(account.created_at).to_iso();
        json!({
            "address": account.address, "balance": balance, "nonce": account.nonce, "pk": account.pk, "moniker": "",
            "issuer": "", "gasBalance": "0", "numAssets": "0", "migratedTo": [], "migratedFrom": [], "tokens": [held],
            "context": {"genesisTime": since, "renaissanceTime": since},
        })
    }

    async fn account_tokens(&self, address: &str, token: &str) -> Result<Value, SendError> {
        let held = self.account(address).await?.filter(|_| token.is_empty() || token == self.token).map(|account| {
            json!({"address": self.token, "symbol": TOKEN_SYMBOL, "balance": account.balance.to_string(), "decimal": TOKEN_DECIMALS})
        });
        Ok(json!({"code": OK, "tokens": held.into_iter().collect::<Vec<_>>()}))
    }

    async fn list_delegations(&self, from: &str, to: &str) -> Result<Value, SendError> {
        let delegations = self.delegations_of(from, to).await?;
        let total = delegations.as_array().map_or(0, Vec::len);
        Ok(json!({"code": OK, "delegations": delegations, "page": {"cursor": "", "next": false, "total": total}}))
    }

    /// The transactions of an account, newest first. Of the filters, the ledger knows an account as sender or receiver, the beginning of the
    /// time, and whether a transaction is valid.
    async fn list_transactions(&self, field: &RootField) -> Result<Value, SendError> {
        let argument = |filter: &str, name: &str| field.arguments.get(filter).and_then(|filter| filter[name].as_str()).unwrap_or_default();
        let account = normal(argument("addressFilter", "sender"));
        if account != normal(argument("addressFilter", "receiver")) || argument("addressFilter", "direction") != "UNION" {
            return Err(LedgerError::new("INVALID_REQUEST", "the sandbox lists the transactions of one account only").into());
        }
        let since = Timestamp::parse_iso(argument("timeFilter", "startDateTime")).map_or(i64::MIN, Timestamp::micros);
        let offset: u32 = argument("paging", "cursor").parse().unwrap_or(0);
        let size = field.arguments.get("paging").and_then(|paging| paging["size"].as_u64()).unwrap_or(20).min(100);
        let size = u32::try_from(size).unwrap_or(20);
        let code = if argument("validityFilter", "validity") == "VALID" { OK } else { "" };
        // One more shows whether there is another page.
        let page = Page { offset: offset.into(), size: i64::from(size) + 1 };
        let mut entries = self.entries_since(&account, since, code, page).await?;
        let total = self.count_since(&account, since).await?;
        let has_more = entries.len() > size as usize;
        entries.truncate(size as usize);
        let listed: Vec<_> = entries.into_iter().map(|entry| self.describe_listed(entry)).collect();
        let cursor = if has_more { offset.saturating_add(size).to_string() } else { String::new() };
        Ok(json!({"code": OK, "page": {"cursor": cursor, "next": has_more, "total": total}, "transactions": listed}))
    }

    fn describe_listed(&self, entry: Entry) -> Value {
        let (is_valid, type_url) = (entry.code == OK, entry.type_url.clone());
        let mut described = self.describe_entry(entry);
        described["type"] = json!(type_url.trim_start_matches("fg:t:"));
        described["valid"] = json!(is_valid);
        described
    }

    async fn transaction(&self, hash: &str) -> Result<Value, SendError> {
        let info = self.entry(hash).await?.map(|entry| self.describe_entry(entry));
        Ok(json!({"code": OK, "info": info}))
    }

    fn describe_entry(&self, entry: Entry) -> Value {
        let at = Timestamp::from_micros(entry.at);
        json!({
            "code": entry.code, "hash": entry.hash, "height": at.seconds().to_string(), "index": 0, "time": at.to_iso(),
            "sender": entry.sender, "receiver": entry.receiver, "tx": entry.tx, "receipts": entry.receipts, "tags": [],
            "tokenSymbols": [{"address": self.token, "symbol": TOKEN_SYMBOL, "unit": TOKEN_SYMBOL, "decimal": TOKEN_DECIMALS}],
        })
    }
}

/// The hash of a transaction in the clients' encoding; `None` if it is not base64url.
pub fn hash_of(tx: &str) -> Option<String> {
    BASE64_URL.decode(tx).ok().map(|bytes| wire::hash_of(&bytes))
}

/// The canonical text of an address. Any other text is returned unchanged and matches nothing.
fn normal(address: &str) -> String {
    Address::parse(address).map_or_else(|| address.to_owned(), |address| address.as_str().to_owned())
}

fn unsupported(name: &str) -> SendError {
    LedgerError::new("INTERNAL", format!("the sandbox does not answer {name}")).into()
}
