//! Reads the operation of a transaction from its inner message, with the checks of chains.md 3.5 to 3.7 that do not need the ledger's
//! state.

use super::rules::{self, Change, Changes, LedgerError, Movements, address, base_units, parse_address};
use crate::did::Address;
use crate::wire::SignedTransaction;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Maximum number of limits of an op, and of receivers of a limit.
const MAX_LIMITS: usize = 32;
const MAX_DENIED: usize = 128;
/// Maximum length of a message, nonce or pattern, in characters.
const MAX_TEXT: usize = 256;

/// Reads an inner message from its JSON, in which every field is present.
fn parse<T: DeserializeOwned>(body: Value) -> Result<T, LedgerError> {
    serde_json::from_value(body).map_err(|error| LedgerError::new("INVALID_TX", error.to_string()))
}

#[derive(Debug, Deserialize)]
pub struct TokenInput {
    pub address: String,
    /// Decimal text of base units.
    pub value: String,
}

/// The tokens and assets that one party gives or receives.
#[derive(Debug, Deserialize)]
pub struct TransactionInput {
    pub owner: String,
    pub tokens: Vec<TokenInput>,
    pub assets: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct TransferV2 {
    pub to: String,
    /// The amount of the chain's primary token.
    pub value: Option<String>,
    pub tokens: Vec<TokenInput>,
    pub assets: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct TransferV3 {
    pub inputs: Vec<TransactionInput>,
    pub outputs: Vec<TransactionInput>,
}

/// A delegation from one account to another; also the stored format, with its counters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    pub address: String,
    pub to: String,
    pub ops: Vec<DelegationOp>,
    pub deny: Vec<String>,
    pub valid_until: u64,
    pub data: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegationOp {
    pub type_url: String,
    pub limit: Option<DelegationLimit>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DelegationLimit {
    pub tokens: Vec<TokenLimit>,
    pub assets: Vec<AssetLimit>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenLimit {
    pub address: String,
    pub to: Vec<String>,
    pub tx_count: u32,
    pub tx_allowance: String,
    pub total_allowance: String,
    pub valid_until: u64,
    pub rate: Option<RateLimit>,
    pub tx_sent: u32,
    pub spent_allowance: String,
    pub last_tx: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssetLimit {
    pub address: Vec<String>,
    pub to: Vec<String>,
    pub tx_count: u32,
    pub valid_until: u64,
    pub rate: Option<RateLimit>,
    pub tx_sent: u32,
    pub last_tx: u64,
}

/// A rate limit in seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RateLimit {
    pub interval: u64,
    pub anchor: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokeDelegate {
    pub address: String,
    pub to: String,
    pub type_urls: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Stake {
    inputs: Vec<TransactionInput>,
    #[serde(flatten)]
    terms: StakeTerms,
}

/// The terms of a stake; also the stored format.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StakeTerms {
    pub address: String,
    pub receiver: String,
    pub locked: bool,
    pub message: String,
    /// Seconds.
    pub revoke_waiting_period: u32,
    pub slashers: Vec<String>,
    pub nonce: String,
    pub data: Value,
}

/// The body of a slash, a return, or a revocation, which has no message.
#[derive(Debug, Deserialize)]
struct StakeOutputs {
    address: String,
    outputs: Vec<TransactionInput>,
    #[serde(default)]
    message: String,
}

#[derive(Debug, Deserialize)]
struct ClaimStake {
    address: String,
    evidence: Option<Evidence>,
}

#[derive(Debug, Deserialize)]
struct Evidence {
    hash: String,
}

#[derive(Debug)]
pub enum Operation {
    /// A transfer between accounts.
    Transfer(Changes),
    /// A transfer on behalf of the delegator. `amounts` are checked against the limits one by one.
    Pull {
        delegation: String,
        to: String,
        amounts: Vec<u128>,
        changes: Changes,
    },
    Delegate(Delegation),
    RevokeDelegate(RevokeDelegate),
    /// `changes` are those of the staking accounts.
    Stake {
        terms: StakeTerms,
        amount: u128,
        changes: Changes,
    },
    RevokeStake {
        address: String,
        owners: Vec<String>,
        amount: u128,
    },
    /// `evidence` is the hash of the revocation.
    ClaimStake {
        address: String,
        evidence: String,
    },
    SlashStake {
        address: String,
        gains: Changes,
        amount: u128,
    },
    ReturnStake {
        address: String,
        gains: Changes,
        amount: u128,
    },
}

/// An operation, and the account that receives it.
pub struct ReadOperation {
    pub receiver: String,
    pub operation: Operation,
}

impl ReadOperation {
    const fn new(receiver: String, operation: Operation) -> Self {
        Self { receiver, operation }
    }
}

impl Operation {
    /// Reads the operation of a transaction.
    pub fn read(transaction: &SignedTransaction, type_url: &str, token: &str) -> Result<ReadOperation, LedgerError> {
        let from = transaction.from();
        let body = transaction.inner_json();
        match type_url {
            "fg:t:transfer_v2" => {
                let rules::SimpleTransfer { to, amounts, changes } = rules::one_to_one(from, &parse(body)?, token)?;
                if transaction.delegator().is_empty() {
                    return Ok(ReadOperation::new(to, Self::Transfer(changes)));
                }
                let delegation = delegation_address(from, transaction.delegator())?;
                Ok(ReadOperation::new(to.clone(), Self::Pull { delegation, to, amounts, changes }))
            }
            "fg:t:transfer_v3" => {
                let transfer: TransferV3 = parse(body)?;
                let changes = rules::many_to_many(transaction, &transfer, token)?;
                Ok(ReadOperation::new(first_owner(&transfer.outputs), Self::Transfer(changes)))
            }
            "fg:t:delegate" => {
                let delegate: Delegation = parse(body)?;
                check_delegate(from, &delegate)?;
                Ok(ReadOperation::new(delegate.to.clone(), Self::Delegate(delegate)))
            }
            "fg:t:revoke_delegate" => {
                let revoke: RevokeDelegate = parse(body)?;
                same_address(&revoke.address, &delegation_address(from, &revoke.to)?, "Delegation address does not match")?;
                if revoke.type_urls.is_empty() {
                    return Err(LedgerError::new("INVALID_TX", "typeUrls are required"));
                }
                Ok(ReadOperation::new(revoke.to.clone(), Self::RevokeDelegate(revoke)))
            }
            "fg:t:stake" => {
                let Stake { inputs, terms }: Stake = parse(body)?;
                check_stake(from, &terms)?;
                let Movements { changes, total: amount } = rules::debits(transaction, &inputs, token)?;
                require_amount(amount, "Can not stake without any token or asset")?;
                Ok(ReadOperation::new(terms.address.clone(), Self::Stake { terms, amount, changes }))
            }
            "fg:t:revoke_stake" => {
                let revoke: StakeOutputs = parse(body)?;
                let Movements { changes: gains, total: amount } = rules::credits(&revoke.outputs, token)?;
                require_amount(amount, "Can not revoke stake without any output")?;
                let owners = gains.into_keys().collect();
                Ok(ReadOperation::new(
                    first_owner(&revoke.outputs),
                    Self::RevokeStake { address: address(&revoke.address)?, owners, amount },
                ))
            }
            "fg:t:claim_stake" => {
                let claim: ClaimStake = parse(body)?;
                let hash = claim.evidence.map(|evidence| evidence.hash.to_uppercase()).unwrap_or_default();
                if hash.len() != 64 || hex::decode(&hash).is_err() {
                    return Err(LedgerError::new("INVALID_TX", "evidence is not a hash"));
                }
                Ok(ReadOperation::new(from.to_owned(), Self::ClaimStake { address: address(&claim.address)?, evidence: hash }))
            }
            "fg:t:slash_stake" => {
                let slash: StakeOutputs = parse(body)?;
                text(&slash.message, 1, "message")?;
                let Movements { changes: gains, total: amount } = rules::credits(&slash.outputs, token)?;
                require_amount(amount, "Can not slash stake without any output")?;
                Ok(ReadOperation::new(first_owner(&slash.outputs), Self::SlashStake { address: address(&slash.address)?, gains, amount }))
            }
            "fg:t:return_stake" => {
                let returned: StakeOutputs = parse(body)?;
                text(&returned.message, 1, "message")?;
                let Movements { changes: gains, total: amount } = rules::credits(&returned.outputs, token)?;
                require_amount(amount, "Can not return stake without any output")?;
                Ok(ReadOperation::new(
                    first_owner(&returned.outputs),
                    Self::ReturnStake { address: address(&returned.address)?, gains, amount },
                ))
            }
            other => Err(LedgerError::new("UNSUPPORTED_TX", format!("this chain does not know {other}"))),
        }
    }

    /// The amount that the sender's balance must cover; it is checked first.
    pub fn debit_of(&self, from: &str) -> u128 {
        match self {
            Self::Transfer(changes) | Self::Pull { changes, .. } | Self::Stake { changes, .. } => {
                changes.get(from).copied().unwrap_or_else(Change::default).debit
            }
            _ => 0,
        }
    }
}

fn first_owner(outputs: &[TransactionInput]) -> String {
    outputs.first().map(|output| output.owner.clone()).unwrap_or_default()
}

/// The address of the delegation from `from` to `to`.
fn delegation_address(from: &str, to: &str) -> Result<String, LedgerError> {
    Ok(Address::of_delegation(&parse_address(from)?, &parse_address(to)?).as_str().to_owned())
}

fn check_delegate(from: &str, delegate: &Delegation) -> Result<(), LedgerError> {
    let invalid = |message: &str| Err(LedgerError::new("INVALID_TX", message));
    same_address(&delegate.address, &delegation_address(from, &delegate.to)?, "Delegation address does not match")?;
    let types: BTreeSet<&str> = delegate.ops.iter().map(|op| op.type_url.as_str()).collect();
    if types.is_empty() || types.len() != delegate.ops.len() {
        return invalid("ops are required, and must not contain duplicate typeUrl entries");
    }
    if types.iter().any(|type_url| !type_url.starts_with("fg:")) {
        return Err(LedgerError::new("INVALID_DELEGATION_TYPE_URL", "Delegation type url is not allowed"));
    }
    let denied: BTreeSet<&String> = delegate.deny.iter().collect();
    let is_pattern = |pattern: &&String| pattern.starts_with("fg:") && pattern.len() <= MAX_TEXT;
    if denied.len() != delegate.deny.len() || denied.len() > MAX_DENIED || !denied.iter().all(is_pattern) {
        return invalid("deny is a list of different patterns that begin with fg:");
    }
    for limit in delegate.ops.iter().filter_map(|op| op.limit.as_ref()) {
        let rates = limit.tokens.iter().map(|limit| &limit.rate).chain(limit.assets.iter().map(|limit| &limit.rate));
        if rates.flatten().any(|rate| rate.interval == 0) {
            return invalid("a rate has an interval of at least one second");
        }
        let receivers = limit.tokens.iter().map(|limit| &limit.to).chain(limit.assets.iter().map(|limit| &limit.to));
        for receivers in receivers {
            if receivers.len() > MAX_LIMITS {
                return invalid("a limit has at most 32 receivers");
            }
            receivers.iter().try_for_each(|receiver| address(receiver).map(drop))?;
        }
        if limit.tokens.len() > MAX_LIMITS || limit.assets.len() > MAX_LIMITS {
            return invalid("an op has at most 32 limits");
        }
        for limit in &limit.tokens {
            address(&limit.address)?;
            for amount in [&limit.tx_allowance, &limit.total_allowance] {
                base_units(if amount.is_empty() { "0" } else { amount })?;
            }
        }
    }
    Ok(())
}

fn check_stake(from: &str, stake: &StakeTerms) -> Result<(), LedgerError> {
    text(&stake.message, 1, "message")?;
    text(&stake.nonce, 0, "nonce")?;
    let expected = Address::of_stake(&parse_address(from)?, &parse_address(&stake.receiver)?, &stake.nonce);
    same_address(&stake.address, expected.as_str(), "Invalid staking address")?;
    if stake.slashers.iter().any(|slasher| slasher == from) {
        return Err(LedgerError::new("INVALID_TX", "Tx sender can not be slasher"));
    }
    Ok(())
}

fn same_address(given: &str, expected: &str, message: &str) -> Result<(), LedgerError> {
    if given == expected { Ok(()) } else { Err(LedgerError::new("INVALID_TX", message)) }
}

fn require_amount(amount: u128, message: &str) -> Result<(), LedgerError> {
    if amount > 0 { Ok(()) } else { Err(LedgerError::new("INSUFFICIENT_DATA", message)) }
}

fn text(text: &str, min: usize, name: &str) -> Result<(), LedgerError> {
    let length = text.trim().chars().count();
    if (min..=MAX_TEXT).contains(&length) {
        Ok(())
    } else {
        Err(LedgerError::new("INVALID_TX", format!("{name} has {min} to {MAX_TEXT} characters")))
    }
}
