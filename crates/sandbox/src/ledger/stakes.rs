//! Stakes: deposits, and the permissions to slash, return, revoke and claim them.

use super::Ledger;
use super::operations::StakeTerms;
use super::rules::{Change, Changes, LedgerError, overflow};
use super::state::Halt;
use crate::store::{Row, SandboxDbError, SandboxTx};
use crate::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// `terms` are those of the first transaction, as JSON. Amounts are decimal text.
pub const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS ledger_stakes (
        address TEXT PRIMARY KEY, sender TEXT NOT NULL, held TEXT NOT NULL, revoked TEXT NOT NULL, terms TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ledger_evidence (hash TEXT PRIMARY KEY)",
];

const REVOKE: &str = "fg:t:revoke_stake";

/// A stake as stored.
struct Stake {
    sender: String,
    held: u128,
    revoked: u128,
    terms: StakeTerms,
}

/// The changes of a stake and of accounts by one transaction.
pub struct StakeMoves {
    pub address: String,
    pub change: Change,
    pub accounts: Changes,
}

impl Ledger {
    /// Creates a stake or adds to it. An existing stake keeps its terms.
    pub(super) async fn stake(
        &self,
        tx: &mut SandboxTx,
        sender: &str,
        terms: &StakeTerms,
        amount: u128,
        givers: &Changes,
    ) -> Result<StakeMoves, Halt> {
        self.check_gas_stake(sender, terms, amount)?;
        exists(tx, &terms.receiver, "INVALID_RECEIVER_STATE").await?;
        for slasher in &terms.slashers {
            exists(tx, slasher, "INVALID_SLASHER_STATE").await?;
        }
        match load(tx, &terms.address).await? {
            Some(before) => {
                let held = before.held.checked_add(amount).ok_or_else(overflow)?;
                save(tx, &before, held, before.revoked).await?;
            }
            None => {
                let text = serde_json::to_string(terms).map_err(SandboxDbError::from)?;
                let added = tx
                    .execute(
                        "INSERT INTO ledger_stakes (address, sender, held, revoked, terms) VALUES ($1, $2, $3, '0', $4)
                         ON CONFLICT DO NOTHING",
                        &[(&terms.address).into(), sender.into(), (&amount.to_string()).into(), (&text).into()],
                    )
                    .await?;
                if added == 0 {
                    return Err(Halt::Raced);
                }
            }
        }
        Ok(StakeMoves { address: terms.address.clone(), change: Change::credit(amount), accounts: givers.clone() })
    }

    /// Revokes a part of a stake, which can be claimed after the waiting period.
    pub(super) async fn revoke_stake(
        &self,
        tx: &mut SandboxTx,
        sender: &str,
        address: &str,
        owners: &[String],
        amount: u128,
    ) -> Result<(), Halt> {
        for owner in owners {
            exists(tx, owner, "INVALID_RECEIVER_STATE").await?;
        }
        let stake = require(tx, address).await?;
        if stake.sender != sender {
            return Err(LedgerError::new("SENDER_NOT_MATCH", "You are not allowed to revoke stake from this address").into());
        }
        if stake.terms.locked {
            return Err(LedgerError::new("STAKE_NOT_REVOCABLE", "This stake address is not revocable").into());
        }
        let held = stake.held.checked_sub(amount).ok_or_else(insufficient)?;
        save(tx, &stake, held, stake.revoked.checked_add(amount).ok_or_else(overflow)?).await
    }

    /// Pays out the amount of an earlier revocation, once.
    pub(super) async fn claim_stake(
        &self,
        tx: &mut SandboxTx,
        sender: &str,
        address: &str,
        evidence: &str,
        now: Timestamp,
    ) -> Result<StakeMoves, Halt> {
        let stake = require(tx, address).await?;
        if stake.sender != sender {
            return Err(LedgerError::new("SENDER_NOT_MATCH", "You are not allowed to claim stake from this address").into());
        }
        let new = tx.execute("INSERT INTO ledger_evidence (hash) VALUES ($1) ON CONFLICT DO NOTHING", &[evidence.into()]).await?;
        if new == 0 {
            return Err(LedgerError::new("ALREADY_CLAIMED", "Revoke evidence already seen on this chain").into());
        }
        let rows = tx.rows("SELECT code, type_url, at, tx FROM ledger_transactions WHERE hash = $1", &[evidence.into()]).await?;
        let Some(row) = rows.first() else { return Err(LedgerError::recorded("INVALID_TX", "there is no evidence").into()) };
        let text = row.text(3)?;
        let body: Value = serde_json::from_str(&text).map_err(|_| SandboxDbError::Corrupt(text))?;
        let itx = &body["itxJson"];
        for (valid, message) in [
            (row.text(0)? == "OK", "Evidence tx is not valid"),
            (row.text(1)? == REVOKE, "Evidence tx type is not valid"),
            (itx["address"] == address, "Evidence tx does not belong to same stake"),
        ] {
            if !valid {
                return Err(LedgerError::new("INVALID_TX", message).into());
            }
        }
        let waiting = Duration::from_secs(u64::from(stake.terms.revoke_waiting_period));
        if now <= Timestamp::from_micros(row.int(2)?).plus(waiting) {
            return Err(LedgerError::new("WITHIN_WAITING_PERIOD", "You can not claim stake before waiting period ends").into());
        }
        let accounts = revoked_outputs(itx);
        let amount = accounts.values().try_fold(0_u128, |sum, change| sum.checked_add(change.credit)).ok_or_else(overflow)?;
        let revoked = stake.revoked.checked_sub(amount).ok_or_else(insufficient)?;
        save(tx, &stake, stake.held, revoked).await?;
        Ok(StakeMoves { address: address.to_owned(), change: Change::debit(amount), accounts })
    }

    /// Slashes the held amount first, then the revoked amount.
    pub(super) async fn slash_stake(
        &self,
        tx: &mut SandboxTx,
        sender: &str,
        address: &str,
        gains: &Changes,
        amount: u128,
    ) -> Result<StakeMoves, Halt> {
        for owner in gains.keys().filter(|owner| **owner != self.token) {
            exists(tx, owner, "INVALID_RECEIVER_STATE").await?;
        }
        let stake = require(tx, address).await?;
        let slashers = &stake.terms.slashers;
        let is_allowed =
            if slashers.is_empty() { stake.terms.receiver == sender } else { slashers.iter().any(|slasher| slasher == sender) };
        if !is_allowed {
            return Err(LedgerError::new("INVALID_TX", "You are not allowed to slash from this stake").into());
        }
        if !gains.keys().all(|owner| *owner == self.token || slashers.contains(owner)) {
            return Err(LedgerError::new("INVALID_TX", "Can only send slashed token/assets to vault or specified slasher").into());
        }
        let from_held = amount.min(stake.held);
        let revoked = stake.revoked.checked_sub(amount - from_held).ok_or_else(insufficient)?;
        save(tx, &stake, stake.held - from_held, revoked).await?;
        Ok(StakeMoves { address: address.to_owned(), change: Change::debit(amount), accounts: gains.clone() })
    }

    /// Returns held tokens to the staker.
    pub(super) async fn return_stake(
        &self,
        tx: &mut SandboxTx,
        sender: &str,
        address: &str,
        gains: &Changes,
        amount: u128,
    ) -> Result<StakeMoves, Halt> {
        let stake = require(tx, address).await?;
        for (valid, message) in [
            (stake.sender != stake.terms.receiver, "Can only return from none-self staking"),
            (stake.terms.receiver == sender, "Can only return stake from receiver"),
            (gains.keys().all(|owner| *owner == stake.sender), "Can only return stake to sender"),
        ] {
            if !valid {
                return Err(LedgerError::new("INVALID_TX", message).into());
            }
        }
        let held = stake.held.checked_sub(amount).ok_or_else(insufficient)?;
        save(tx, &stake, held, stake.revoked).await?;
        Ok(StakeMoves { address: address.to_owned(), change: Change::debit(amount), accounts: gains.clone() })
    }

    pub(super) async fn stake_state(&self, address: &str) -> Result<Value, SandboxDbError> {
        let rows = self.db.rows(SELECT, &[address.into()]).await?;
        let Some(stake) = rows.first().map(read).transpose()? else { return Ok(Value::Null) };
        let token = |amount: u128| {
            let mut token = self.token_info();
            token["value"] = json!(amount.to_string());
            json!([token])
        };
        let terms = &stake.terms;
        Ok(json!({
            "address": address, "sender": stake.sender, "receiver": terms.receiver, "tokens": token(stake.held),
            "revokedTokens": token(stake.revoked), "assets": [], "revokedAssets": [], "revocable": !terms.locked,
            "message": terms.message, "revokeWaitingPeriod": terms.revoke_waiting_period, "slashers": terms.slashers,
            "nonce": terms.nonce, "data": terms.data,
        }))
    }
}

/// The outputs of the revoking transaction.
fn revoked_outputs(itx: &Value) -> Changes {
    let mut accounts = Changes::new();
    for output in itx["outputs"].as_array().into_iter().flatten() {
        let values = output["tokens"].as_array().into_iter().flatten().filter_map(|token| token["value"].as_str()?.parse::<u128>().ok());
        let change = accounts.entry(output["owner"].as_str().unwrap_or_default().to_owned()).or_default();
        change.credit = values.fold(change.credit, u128::saturating_add);
    }
    accounts
}

fn insufficient() -> LedgerError {
    LedgerError::recorded("INSUFFICIENT_FUND", "the stake holds too little of the token")
}

async fn exists(tx: &mut SandboxTx, address: &str, code: &'static str) -> Result<(), Halt> {
    match is_known(tx, address).await? {
        true => Ok(()),
        false => Err(LedgerError::recorded(code, format!("there is no account {address}")).into()),
    }
}

/// Whether there is an account.
pub async fn is_known(tx: &mut SandboxTx, address: &str) -> Result<bool, SandboxDbError> {
    let rows = tx.rows("SELECT address FROM ledger_accounts WHERE address = $1", &[address.into()]).await?;
    Ok(!rows.is_empty())
}

pub struct StakeAmounts {
    pub held: u128,
    pub revoked: u128,
}

/// The amounts of a stake; `None`: there is none.
pub async fn amounts(tx: &mut SandboxTx, address: &str) -> Result<Option<StakeAmounts>, SandboxDbError> {
    Ok(load(tx, address).await?.map(|stake| StakeAmounts { held: stake.held, revoked: stake.revoked }))
}

const SELECT: &str = "SELECT sender, held, revoked, terms FROM ledger_stakes WHERE address = $1";

async fn load(tx: &mut SandboxTx, address: &str) -> Result<Option<Stake>, SandboxDbError> {
    tx.rows(SELECT, &[address.into()]).await?.first().map(read).transpose()
}

async fn require(tx: &mut SandboxTx, address: &str) -> Result<Stake, Halt> {
    let stake = load(tx, address).await?;
    stake.ok_or_else(|| LedgerError::recorded("INVALID_STAKE_STATE", format!("there is no stake {address}")).into())
}

fn read(row: &Row) -> Result<Stake, SandboxDbError> {
    let text = row.text(3)?;
    let terms = serde_json::from_str(&text).map_err(|_| SandboxDbError::Corrupt(text))?;
    Ok(Stake { sender: row.text(0)?, held: row.number(1)?, revoked: row.number(2)?, terms })
}

/// Saves the amounts if they have not changed since they were read.
async fn save(tx: &mut SandboxTx, before: &Stake, held: u128, revoked: u128) -> Result<(), Halt> {
    let changed = tx
        .execute(
            "UPDATE ledger_stakes SET held = $2, revoked = $3 WHERE address = $1 AND held = $4 AND revoked = $5",
            &[
                (&before.terms.address).into(),
                (&held.to_string()).into(),
                (&revoked.to_string()).into(),
                (&before.held.to_string()).into(),
                (&before.revoked.to_string()).into(),
            ],
        )
        .await?;
    if changed == 1 { Ok(()) } else { Err(Halt::Raced) }
}
