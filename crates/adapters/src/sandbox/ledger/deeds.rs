//! What a transaction wants done, read from its inner message: chains.md 3.5 to 3.7, as far as the books are not needed.

use super::rules::{self, Change, Changes, Refusal, address, base_units};
use crate::arcblock::{DelegateTx, Itx, RevokeDelegateTx, StakeTx, Transaction, TransactionInput};
use crate::identity::{delegation_address, parse_did, stake_address};
use std::collections::BTreeSet;

/// The most limits of an op, and receivers of a limit.
const MAX_LIMITS: usize = 32;
const MAX_DENIED: usize = 128;
/// The longest message, subject or pattern, in characters.
const MAX_TEXT: usize = 256;

#[derive(Debug)]
pub enum Deed {
    /// Money from account to account.
    Transfer(Changes),
    /// The same, in the name of who permitted it. `amounts` are judged one by one.
    Pull {
        delegation: String,
        to: String,
        amounts: Vec<u128>,
        changes: Changes,
    },
    Delegate(DelegateTx),
    RevokeDelegate(RevokeDelegateTx),
    /// `changes` are those of who gives.
    Stake {
        terms: StakeTx,
        amount: u128,
        changes: Changes,
    },
    RevokeStake {
        address: String,
        owners: Vec<String>,
        amount: u128,
    },
    /// `evidence` is the hash of what revoked.
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

impl Deed {
    /// Answers whom the transaction is for, and what it does.
    pub fn read(transaction: &Transaction, itx: &Itx, token: &str) -> Result<(String, Self), Refusal> {
        let from = transaction.from.as_str();
        match itx {
            Itx::TransferV2Tx(transfer) => {
                let rules::Single { to, amounts, changes } = rules::one_to_one(from, transfer, token)?;
                if transaction.delegator.is_empty() {
                    return Ok((to, Self::Transfer(changes)));
                }
                let delegation = between(from, &transaction.delegator)?;
                Ok((to.clone(), Self::Pull { delegation, to, amounts, changes }))
            }
            Itx::TransferV3Tx(transfer) => {
                let changes = rules::many_to_many(transaction, transfer, token)?;
                Ok((transfer.outputs[0].owner.clone(), Self::Transfer(changes)))
            }
            Itx::DelegateTx(delegate) => {
                check_delegate(from, delegate)?;
                Ok((delegate.to.clone(), Self::Delegate(delegate.clone())))
            }
            Itx::RevokeDelegateTx(revoke) => {
                same_address(&revoke.address, &between(from, &revoke.to)?, "Delegation address does not match")?;
                if revoke.type_urls.is_empty() {
                    return Err(Refusal::new("INVALID_TX", "typeUrls are required"));
                }
                Ok((revoke.to.clone(), Self::RevokeDelegate(revoke.clone())))
            }
            Itx::StakeTx(stake) => {
                check_stake(from, stake)?;
                let (changes, amount) = rules::taken(transaction, &stake.inputs, token)?;
                something(amount, "Can not stake without any token or asset")?;
                Ok((stake.address.clone(), Self::Stake { terms: StakeTx { inputs: Vec::new(), ..stake.clone() }, amount, changes }))
            }
            Itx::RevokeStakeTx(revoke) => {
                let (gains, amount) = rules::given_out(&revoke.outputs, token)?;
                something(amount, "Can not revoke stake without any output")?;
                let owners = gains.into_keys().collect();
                Ok((first_owner(&revoke.outputs), Self::RevokeStake { address: address(&revoke.address)?, owners, amount }))
            }
            Itx::ClaimStakeTx(claim) => {
                let hash = claim.evidence.as_ref().map(|evidence| evidence.hash.to_uppercase()).unwrap_or_default();
                if hash.len() != 64 || hex::decode(&hash).is_err() {
                    return Err(Refusal::new("INVALID_TX", "evidence is not a hash"));
                }
                Ok((from.to_owned(), Self::ClaimStake { address: address(&claim.address)?, evidence: hash }))
            }
            Itx::SlashStakeTx(slash) => {
                text(&slash.message, 1, "message")?;
                let (gains, amount) = rules::given_out(&slash.outputs, token)?;
                something(amount, "Can not slash stake without any output")?;
                Ok((first_owner(&slash.outputs), Self::SlashStake { address: address(&slash.address)?, gains, amount }))
            }
            Itx::ReturnStakeTx(returned) => {
                text(&returned.message, 1, "message")?;
                let (gains, amount) = rules::given_out(&returned.outputs, token)?;
                something(amount, "Can not return stake without any output")?;
                Ok((first_owner(&returned.outputs), Self::ReturnStake { address: address(&returned.address)?, gains, amount }))
            }
            other => Err(Refusal::new("UNSUPPORTED_TX", format!("this chain does not know {}", other.type_url()))),
        }
    }

    /// What the sender must be able to pay before anything else is looked at.
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

/// Where what `from` permits to `to` is kept.
fn between(from: &str, to: &str) -> Result<String, Refusal> {
    match (parse_did(&address(from)?), parse_did(&address(to)?)) {
        (Ok(from), Ok(to)) => Ok(delegation_address(&from, &to).to_string()),
        _ => Err(Refusal::new("INVALID_TX", "not an address")),
    }
}

fn check_delegate(from: &str, delegate: &DelegateTx) -> Result<(), Refusal> {
    let invalid = |message: &str| Err(Refusal::new("INVALID_TX", message));
    same_address(&delegate.address, &between(from, &delegate.to)?, "Delegation address does not match")?;
    let types: BTreeSet<&str> = delegate.ops.iter().map(|op| op.type_url.as_str()).collect();
    if types.is_empty() || types.len() != delegate.ops.len() {
        return invalid("ops are required, and must not contain duplicate typeUrl entries");
    }
    if types.iter().any(|type_url| !type_url.starts_with("fg:")) {
        return Err(Refusal::new("INVALID_DELEGATION_TYPE_URL", "Delegation type url is not allowed"));
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

fn check_stake(from: &str, stake: &StakeTx) -> Result<(), Refusal> {
    text(&stake.message, 1, "message")?;
    text(&stake.nonce, 0, "nonce")?;
    let expected = match (parse_did(&address(from)?), parse_did(&address(&stake.receiver)?)) {
        (Ok(from), Ok(receiver)) => stake_address(&from, &receiver, &stake.nonce).to_string(),
        _ => return Err(Refusal::new("INVALID_TX", "not an address")),
    };
    same_address(&stake.address, &expected, "Invalid staking address")?;
    if stake.slashers.iter().any(|slasher| slasher == from) {
        return Err(Refusal::new("INVALID_TX", "Tx sender can not be slasher"));
    }
    Ok(())
}

fn same_address(given: &str, expected: &str, message: &str) -> Result<(), Refusal> {
    if given == expected { Ok(()) } else { Err(Refusal::new("INVALID_TX", message)) }
}

fn something(amount: u128, message: &str) -> Result<(), Refusal> {
    if amount > 0 { Ok(()) } else { Err(Refusal::new("INSUFFICIENT_DATA", message)) }
}

fn text(text: &str, least: usize, name: &str) -> Result<(), Refusal> {
    let length = text.trim().chars().count();
    if (least..=MAX_TEXT).contains(&length) {
        Ok(())
    } else {
        Err(Refusal::new("INVALID_TX", format!("{name} has {least} to {MAX_TEXT} characters")))
    }
}
