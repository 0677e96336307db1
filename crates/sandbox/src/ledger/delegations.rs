//! Delegations and their remaining limits.

use super::Ledger;
use super::operations::{Delegation, DelegationLimit, DelegationOp, RevokeDelegate, TokenLimit};
use super::rules::{LedgerError, base_units};
use super::state::Halt;
use crate::store::{Row, SandboxDbError, SandboxTx};
use crate::time::Timestamp;
use serde_json::{Value, json};

/// `state` is the delegation with its counters, as JSON.
pub const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS ledger_delegations (address TEXT PRIMARY KEY, sender TEXT NOT NULL, state TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ledger_delegations_sender ON ledger_delegations (sender)",
];

/// Maximum number of delegations in a list.
const MAX_LISTED: i64 = 100;
const TRANSFER: &str = "fg:t:transfer_v2";

/// A delegation as stored.
struct StoredDelegation {
    sender: String,
    /// The stored JSON, for compare-and-set.
    text: String,
    state: Delegation,
}

impl Ledger {
    /// Stores a delegation. Operations of the same types are replaced with new counters; other types are kept.
    pub(super) async fn delegate(&self, tx: &mut SandboxTx, sender: &str, given: &Delegation) -> Result<(), Halt> {
        let mut ops: Vec<DelegationOp> = given.ops.clone();
        for limit in ops.iter_mut().filter_map(|op| op.limit.as_mut()) {
            restart(limit);
        }
        let before = load(tx, &given.address).await?;
        if let Some(before) = &before {
            let others = before.state.ops.iter().filter(|op| given.ops.iter().all(|new| new.type_url != op.type_url));
            ops.extend(others.cloned());
        }
        let state = Delegation { ops, ..given.clone() };
        match before {
            Some(before) => replace(tx, &before, &state).await,
            None => {
                let text = serde_json::to_string(&state).map_err(SandboxDbError::from)?;
                let added = tx
                    .execute(
                        "INSERT INTO ledger_delegations (address, sender, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                        &[(&given.address).into(), sender.into(), (&text).into()],
                    )
                    .await?;
                if added == 1 { Ok(()) } else { Err(Halt::Raced) }
            }
        }
    }

    pub(super) async fn revoke_delegate(&self, tx: &mut SandboxTx, revoke: &RevokeDelegate) -> Result<(), Halt> {
        let Some(before) = load(tx, &revoke.address).await? else {
            return Err(LedgerError::recorded("INVALID_DELEGATION", format!("there is no delegation {}", revoke.address)).into());
        };
        let mut state = before.state.clone();
        state.ops.retain(|op| !revoke.type_urls.contains(&op.type_url));
        replace(tx, &before, &state).await
    }

    /// Checks amounts that are sent to `to` on behalf of the delegator against the limits, and counts them.
    pub(super) async fn spend(&self, tx: &mut SandboxTx, delegation: &str, to: &str, amounts: &[u128], now: Timestamp) -> Result<(), Halt> {
        let Some(before) = load(tx, delegation).await? else {
            return Err(LedgerError::recorded("INVALID_DELEGATION", "No delegation found between sender and delegator").into());
        };
        let mut state = before.state.clone();
        let now = u64::try_from(now.seconds()).unwrap_or(0);
        let limit = transfer_limit(&mut state, now)?;
        if !(limit.tokens.is_empty() && limit.assets.is_empty()) {
            for amount in amounts {
                count(limit, &self.token, to, *amount, now)?;
            }
            replace(tx, &before, &state).await?;
        }
        Ok(())
    }

    pub(super) async fn delegation_state(&self, address: &str) -> Result<Value, SandboxDbError> {
        let rows = self.db.rows("SELECT sender, state FROM ledger_delegations WHERE address = $1", &[address.into()]).await?;
        Ok(rows.first().map(read).transpose()?.map_or(Value::Null, |stored| describe(&stored)))
    }

    /// The delegations of an account, to all others or only to `to` if it is not empty.
    pub(super) async fn delegations_of(&self, sender: &str, to: &str) -> Result<Value, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT sender, state FROM ledger_delegations WHERE sender = $1 ORDER BY address LIMIT $2",
                &[sender.into(), MAX_LISTED.into()],
            )
            .await?;
        let stored = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(stored.iter().filter(|stored| to.is_empty() || stored.state.to == to).map(describe).collect())
    }
}

/// The JSON format of chains.md 3.8.
fn describe(stored: &StoredDelegation) -> Value {
    let ops = stored.state.ops.iter().map(|op| {
        let limit = op.limit.clone().unwrap_or_default();
        json!({"key": op.type_url, "value": {"limit": limit}})
    });
    json!({
        "address": stored.state.address, "from": stored.sender, "to": stored.state.to, "ops": ops.collect::<Vec<_>>(),
        "deny": stored.state.deny, "validUntil": stored.state.valid_until, "data": stored.state.data,
    })
}

fn restart(limit: &mut DelegationLimit) {
    for token in &mut limit.tokens {
        token.tx_sent = 0;
        token.spent_allowance = "0".to_owned();
        token.last_tx = token.rate.as_ref().map_or(0, |rate| rate.anchor);
    }
    for asset in &mut limit.assets {
        asset.tx_sent = 0;
        asset.last_tx = asset.rate.as_ref().map_or(0, |rate| rate.anchor);
    }
}

/// The limit of transfers.
fn transfer_limit(state: &mut Delegation, now: u64) -> Result<&mut DelegationLimit, LedgerError> {
    let denied = |code, reason: &str| Err(LedgerError::recorded(code, format!("Delegation check failed: {reason}")));
    if state.valid_until > 0 && state.valid_until < now {
        return denied("DELEGATION_EXPIRED", "Delegation has expired");
    }
    if state.deny.iter().any(|pattern| matches(TRANSFER, pattern)) {
        return denied("DELEGATION_DENIED", "fg:t:transfer_v2 is denied in delegation");
    }
    let exact = state.ops.iter().position(|op| op.type_url == TRANSFER);
    match exact.or_else(|| state.ops.iter().position(|op| matches(TRANSFER, &op.type_url))) {
        Some(at) => Ok(state.ops[at].limit.get_or_insert_default()),
        None => denied("INVALID_DELEGATION_TYPE_URL", "fg:t:transfer_v2 is not allowed in delegation"),
    }
}

/// Checks and counts an amount, with the order of checks and the messages of chains.md 3.5.
fn count(limit: &mut DelegationLimit, token: &str, to: &str, amount: u128, now: u64) -> Result<(), LedgerError> {
    let short = |reason: &str| LedgerError::recorded("INSUFFICIENT_DELEGATION", format!("Delegation check failed: {reason}"));
    let limit = limit.tokens.iter_mut().find(|limit| limit.address == token).ok_or_else(|| short("token address is not allowed"))?;
    let (allowance, total, spent) = (cap(&limit.tx_allowance)?, cap(&limit.total_allowance)?, cap(&limit.spent_allowance)?);
    let after = spent.saturating_add(amount);
    for (broken, reason) in [
        (!limit.to.is_empty() && !limit.to.iter().any(|allowed| allowed == to), "token receiver is not allowed"),
        (limit.tx_count > 0 && limit.tx_sent >= limit.tx_count, "tx count exceeds threshold"),
        (limit.valid_until > 0 && limit.valid_until < now, "delegation expired"),
        (is_too_soon(limit, now), "delegation rate limit exceeded"),
        (allowance > 0 && amount > allowance, "token amount exceeds tx allowance"),
        (total > 0 && after > total, "token amount exceeds total allowance"),
    ] {
        if broken {
            return Err(short(reason));
        }
    }
    limit.tx_sent = limit.tx_sent.saturating_add(1);
    limit.spent_allowance = after.to_string();
    limit.last_tx = now;
    Ok(())
}

fn is_too_soon(limit: &TokenLimit, now: u64) -> bool {
    let interval = limit.rate.as_ref().map_or(0, |rate| rate.interval);
    interval > 0 && limit.last_tx > 0 && limit.last_tx.saturating_add(interval) > now
}

/// Parses an allowance; empty and zero mean unlimited.
fn cap(text: &str) -> Result<u128, LedgerError> {
    if text.is_empty() { Ok(0) } else { base_units(text) }
}

/// Returns whether a pattern covers a type: the type itself, its subtypes, or every type with the prefix before `*`.
fn matches(type_url: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*').filter(|prefix| prefix.ends_with(':')) {
        Some(prefix) => type_url.starts_with(prefix) || type_url == pattern,
        None => type_url.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')),
    }
}

async fn load(tx: &mut SandboxTx, address: &str) -> Result<Option<StoredDelegation>, SandboxDbError> {
    // Lock the row while reading it, because it will be updated and every charge of the payer updates it as well.
    let lock = tx.per_dialect(
        "SELECT sender, state FROM ledger_delegations WHERE address = $1",
        "SELECT sender, state FROM ledger_delegations WHERE address = $1 FOR UPDATE",
    );
    let rows = tx.rows(lock, &[address.into()]).await?;
    rows.first().map(read).transpose()
}

fn read(row: &Row) -> Result<StoredDelegation, SandboxDbError> {
    let text = row.text(1)?;
    match serde_json::from_str(&text) {
        Ok(state) => Ok(StoredDelegation { sender: row.text(0)?, text, state }),
        Err(_) => Err(SandboxDbError::Corrupt(text)),
    }
}

/// Replaces the state if it has not changed since it was read.
async fn replace(tx: &mut SandboxTx, before: &StoredDelegation, state: &Delegation) -> Result<(), Halt> {
    let text = serde_json::to_string(&state).map_err(SandboxDbError::from)?;
    let changed = tx
        .execute(
            "UPDATE ledger_delegations SET state = $2 WHERE address = $1 AND state = $3",
            &[(&before.state.address).into(), (&text).into(), (&before.text).into()],
        )
        .await?;
    if changed == 1 { Ok(()) } else { Err(Halt::Raced) }
}
