//! Queries for a chain's state of payers (accounts, delegations, stakes), and the reading of the responses.

use super::graphql::quoted;
use super::mandate::PULL_TYPE;
use serde_json::Value;
use souk_domain::access::Did;
use souk_domain::payment::{Currency, RailError, StakeState};
use souk_domain::shared::{Amount, Timestamp};
use std::time::Duration;

pub fn balance_query(payer: &Did, currency: &Currency) -> String {
    let (address, token) = (quoted(payer.as_str()), quoted(&currency.contract));
    format!("{{getAccountTokens(address: {address}, token: {token}){{code tokens{{address balance}}}}}}")
}

pub fn read_balance(answer: &Value, currency: &Currency) -> Result<Amount, RailError> {
    balance_of(&answer["getAccountTokens"], &currency.contract)
}

/// Reads the balance of a token from the response about an account.
pub fn balance_of(response: &Value, token: &str) -> Result<Amount, RailError> {
    let Some(held) = list(&response["tokens"]).iter().find(|held| held["address"] == token) else { return Ok(Amount::ZERO) };
    amount(&held["balance"])
}

/// The fields of a delegation that generation 1.20.8 of the chain's software does not know.
pub const NEWER_DELEGATION_FIELDS: &str = "deny validUntil ";

/// `newer`: [`NEWER_DELEGATION_FIELDS`], or nothing.
pub fn delegation_query(address: &Did, newer: &str) -> String {
    format!(
        "{{getDelegateState(address: {}){{code state{{{newer}ops{{key value{{limit{{tokens{{address to txCount txAllowance \
         totalAllowance validUntil rate{{interval}} txSent spentAllowance lastTx}} assets{{address}}}}}}}}}}}}}}",
        quoted(address.as_str())
    )
}

/// Returns whether a delegation allows a charge. Makes the checks of chains.md 3.5 in the order in which a chain makes them.
pub fn mandate_allows(answer: &Value, app: &Did, currency: &Currency, charge: Amount, now: Timestamp) -> Result<bool, RailError> {
    let state = &answer["getDelegateState"]["state"];
    let over = |until: &Value| number(until).is_some_and(|until| until > 0 && until < now.seconds());
    let denied = list(&state["deny"]).iter().filter_map(Value::as_str).any(|pattern| matches(PULL_TYPE, pattern));
    let Some(op) = list(&state["ops"]).iter().find(|op| op["key"] == PULL_TYPE) else { return Ok(false) };
    if over(&state["validUntil"]) || denied {
        return Ok(false);
    }
    let limit = &op["value"]["limit"];
    let (tokens, assets) = (list(&limit["tokens"]), list(&limit["assets"]));
    if tokens.is_empty() && assets.is_empty() {
        return Ok(true);
    }
    let Some(limit) = tokens.iter().find(|limit| limit["address"] == currency.contract.as_str()) else { return Ok(false) };
    let receivers = list(&limit["to"]);
    let counted = |field: &str| number(&limit[field]).unwrap_or(0);
    let (interval, last) = (number(&limit["rate"]["interval"]).unwrap_or(0), counted("lastTx"));
    let (allowance, total, spent) = (amount(&limit["txAllowance"])?, amount(&limit["totalAllowance"])?, amount(&limit["spentAllowance"])?);
    let forbidden = (!receivers.is_empty() && !receivers.iter().any(|receiver| receiver == app.as_str()))
        || (counted("txCount") > 0 && counted("txSent") >= counted("txCount"))
        || over(&limit["validUntil"])
        || (interval > 0 && last > 0 && last + interval > now.seconds())
        || (!allowance.is_zero() && charge > allowance)
        || (!total.is_zero() && spent.plus(charge).is_ok_and(|sum| sum > total));
    Ok(!forbidden)
}

pub fn stake_query(address: &str) -> String {
    format!("{{{}}}", stake_field(address))
}

/// The top-level field of [`stake_query`], for a query that asks for more.
pub fn stake_field(address: &str) -> String {
    format!(
        "getStakeState(address: {}){{code state{{receiver slashers revokeWaitingPeriod tokens{{address value}} \
         revokedTokens{{address value}}}}}}",
        quoted(address)
    )
}

/// Under which terms a chain keeps the stake at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeTerms {
    /// There is no stake.
    Absent,
    /// This store is the receiver and the only slasher, and a payer who revokes the stake waits long enough.
    OfStore,
    /// Any others: this store could not forfeit the stake, somebody else could, or its payer could take it back too soon.
    Foreign,
}

/// Reads the terms of a stake. `waiting`: the least time that its payer has to wait after revoking it.
pub fn stake_terms(answer: &Value, app: &Did, waiting: Duration) -> StakeTerms {
    let state = &answer["getStakeState"]["state"];
    if state.is_null() {
        return StakeTerms::Absent;
    }
    let waits = seconds(&state["revokeWaitingPeriod"]).is_some_and(|period| period >= waiting);
    match list(&state["slashers"]) {
        [slasher] if slasher == app.as_str() && state["receiver"] == app.as_str() && waits => StakeTerms::OfStore,
        _ => StakeTerms::Foreign,
    }
}

/// Reads the amounts of a stake. Zero if its terms are not this store's.
pub fn read_stake(answer: &Value, app: &Did, currency: &Currency, waiting: Duration) -> Result<StakeState, RailError> {
    match stake_terms(answer, app, waiting) {
        StakeTerms::OfStore => staked_of(&answer["getStakeState"], &currency.contract),
        StakeTerms::Absent | StakeTerms::Foreign => Ok(StakeState::default()),
    }
}

/// Reads the amounts of a token from the response about a stake.
pub fn staked_of(response: &Value, token: &str) -> Result<StakeState, RailError> {
    let state = &response["state"];
    let held = |tokens: &Value| {
        let held = list(tokens).iter().find(|held| held["address"] == token);
        held.map_or(Ok(Amount::ZERO), |held| amount(&held["value"]))
    };
    Ok(StakeState { held: held(&state["tokens"])?, revoked: held(&state["revokedTokens"])? })
}

/// Returns whether a pattern of a delegation covers a type: the exact type, all types below a prefix, or all types that begin with it.
fn matches(type_url: &str, pattern: &str) -> bool {
    let below = match pattern.strip_suffix('*') {
        Some(prefix) if prefix.ends_with(':') => type_url.starts_with(prefix),
        _ => type_url.strip_prefix(pattern).is_some_and(|rest| rest.starts_with(':')),
    };
    type_url == pattern || below
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Reads a number. Depending on the chain's version, it is a JSON number or a string.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads a time in seconds. Depending on the chain's version, it is a JSON number or a string.
pub fn seconds(value: &Value) -> Option<Duration> {
    number(value).and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs)
}

/// Reads an amount; a missing one counts as zero.
pub fn amount(value: &Value) -> Result<Amount, RailError> {
    let text = value.as_str().filter(|text| !text.is_empty()).unwrap_or("0");
    Amount::parse_base_units(text).map_err(|_| RailError::Rejected("the network's amount is not an amount".to_owned()))
}
