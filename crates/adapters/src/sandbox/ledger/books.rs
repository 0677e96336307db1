//! The ledger's books: every transfer is one database transaction of conditional changes.

use super::rules::{Change, Order, Refusal};
use super::{FAUCET_AMOUNT, FAUCET_LIMIT, Ledger};
use crate::sandbox::store::{Row, SandboxDbError, SandboxTx};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Amounts and nonces are decimal text: no column type of both databases holds them.
pub const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS ledger_accounts (
        address TEXT PRIMARY KEY, pk TEXT NOT NULL, nonce TEXT NOT NULL, balance TEXT NOT NULL,
        faucet_since BIGINT NOT NULL, faucet_count BIGINT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ledger_transactions (
        hash TEXT PRIMARY KEY, code TEXT NOT NULL, type_url TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL,
        at BIGINT NOT NULL, tx TEXT NOT NULL, receipts TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ledger_transactions_sender ON ledger_transactions (sender, at)",
    "CREATE INDEX IF NOT EXISTS ledger_transactions_receiver ON ledger_transactions (receiver, at)",
];

const OK: &str = "OK";
pub const FAUCET_TYPE: &str = "fg:t:mint_token";
const HOUR: i64 = 3_600;
/// How often a transfer is tried again when others changed the same accounts meanwhile.
const MAX_RACES: usize = 50;

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Refusal),
    #[error(transparent)]
    Storage(#[from] SandboxDbError),
}

impl From<Refusal> for SendError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub struct Account {
    pub address: String,
    pub pk: String,
    pub nonce: String,
    pub balance: u128,
    /// Microseconds.
    pub created_at: i64,
}

pub struct Entry {
    pub hash: String,
    pub code: String,
    pub type_url: String,
    pub sender: String,
    pub receiver: String,
    /// Microseconds.
    pub at: i64,
    pub tx: Value,
    pub receipts: Value,
}

/// What came of one try.
enum Tried {
    Done,
    Duplicate,
    SameNonce,
    Short,
    Raced,
}

impl Ledger {
    /// Applies a transaction once. What was refused for lack of funds is kept under its hash, as chains do.
    pub(super) async fn apply(&self, order: &Order) -> Result<(), SendError> {
        for _ in 0..MAX_RACES {
            let tried = match self.try_apply(order, OK).await? {
                Tried::Short => match self.try_apply(order, "INSUFFICIENT_FUND").await? {
                    Tried::Done => return Err(Refusal::new("INSUFFICIENT_FUND", "the sender has too little of the token").into()),
                    other => other,
                },
                other => other,
            };
            match tried {
                Tried::Done => return Ok(()),
                Tried::Duplicate => return Err(Refusal::new("DUPLICATE_TX", "this transaction is known already").into()),
                Tried::SameNonce => return Err(Refusal::new("INVALID_NONCE", "the account's last transaction had the same nonce").into()),
                Tried::Short | Tried::Raced => {}
            }
        }
        Err(Refusal::new("TIMEOUT", "too many transactions of the same accounts at once").into())
    }

    async fn try_apply(&self, order: &Order, code: &str) -> Result<Tried, SandboxDbError> {
        let now = self.clock.now().micros();
        let moves = code == OK;
        let receipts = if moves { order.receipts(&self.token) } else { json!([]) };
        let mut tx = self.db.begin().await?;
        let added = insert_entry(&mut tx, order, code, now, &receipts).await?;
        if added == 0 {
            return Ok(Tried::Duplicate);
        }
        // Accounts come in the order of their addresses, so that two transactions never wait for each other.
        for (address, change) in &order.changes {
            if !moves && *address != order.transaction.from {
                continue;
            }
            ensure_account(&mut tx, address, now).await?;
            if *address == order.transaction.from && !take_nonce(&mut tx, order).await? {
                return Ok(Tried::SameNonce);
            }
            if moves && let Some(setback) = change_balance(&mut tx, address, *change).await? {
                return Ok(setback);
            }
        }
        tx.commit().await?;
        Ok(Tried::Done)
    }

    /// Gives existence to an address. Does nothing when it exists.
    pub(super) async fn create_account(&self, address: &str) -> Result<(), SandboxDbError> {
        let mut tx = self.db.begin().await?;
        ensure_account(&mut tx, address, self.clock.now().micros()).await?;
        tx.commit().await
    }

    /// Gives `address` tokens and answers the hash under which that is known; `None` when it had its share for this hour.
    pub(super) async fn pour(&self, address: &str) -> Result<Option<String>, SandboxDbError> {
        loop {
            let now = self.clock.now();
            let mut tx = self.db.begin().await?;
            ensure_account(&mut tx, address, now.micros()).await?;
            let allowed = tx
                .execute(
                    "UPDATE ledger_accounts SET
                        faucet_count = CASE WHEN faucet_since <= $2 THEN 1 ELSE faucet_count + 1 END,
                        faucet_since = CASE WHEN faucet_since <= $2 THEN $3 ELSE faucet_since END
                     WHERE address = $1 AND (faucet_since <= $2 OR faucet_count < $4)",
                    &[address.into(), (now.seconds() - HOUR).into(), now.seconds().into(), FAUCET_LIMIT.into()],
                )
                .await?;
            if allowed == 0 {
                return Ok(None);
            }
            if change_balance(&mut tx, address, Change { debit: 0, credit: FAUCET_AMOUNT }).await?.is_some() {
                continue;
            }
            let rows = tx.rows("SELECT COUNT(*) FROM ledger_transactions WHERE receiver = $1", &[address.into()]).await?;
            let nth = rows.first().map_or(Ok(0), |row| row.int(0))?;
            let hash = hex::encode_upper(Sha256::digest(format!("{FAUCET_TYPE}:{address}:{}:{nth}", now.micros())));
            let amount = FAUCET_AMOUNT.to_string();
            let changes = json!([{"target": self.token, "action": "mint", "value": amount}]);
            let body = json!({
                "chainId": super::CHAIN_ID, "from": self.token, "sender": self.token, "receiver": address,
                "itxJson": {"typeUrl": FAUCET_TYPE, "receiver": address, "amount": amount},
            });
            tx.execute(
                INSERT_ENTRY,
                &[
                    (&hash).into(),
                    OK.into(),
                    FAUCET_TYPE.into(),
                    (&self.token).into(),
                    address.into(),
                    now.micros().into(),
                    (&body.to_string()).into(),
                    (&json!([{"address": address, "changes": changes}]).to_string()).into(),
                ],
            )
            .await?;
            tx.commit().await?;
            return Ok(Some(hash));
        }
    }

    pub(super) async fn account(&self, address: &str) -> Result<Option<Account>, SandboxDbError> {
        let rows = self
            .db
            .rows("SELECT address, pk, nonce, balance, created_at FROM ledger_accounts WHERE address = $1", &[address.into()])
            .await?;
        let read = |row: &Row| {
            Ok(Account { address: row.text(0)?, pk: row.text(1)?, nonce: row.text(2)?, balance: row.number(3)?, created_at: row.int(4)? })
        };
        rows.first().map(read).transpose()
    }

    pub(super) async fn entry(&self, hash: &str) -> Result<Option<Entry>, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT hash, code, type_url, sender, receiver, at, tx, receipts FROM ledger_transactions WHERE hash = $1",
                &[hash.into()],
            )
            .await?;
        rows.first().map(read_entry).transpose()
    }

    /// The latest transactions of an account, newest first.
    pub(super) async fn entries_of(&self, address: &str, limit: i64) -> Result<Vec<Entry>, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT hash, code, type_url, sender, receiver, at, tx, receipts FROM ledger_transactions
                 WHERE sender = $1 OR receiver = $1 ORDER BY at DESC, hash LIMIT $2",
                &[address.into(), limit.into()],
            )
            .await?;
        rows.iter().map(read_entry).collect()
    }

    /// All transfers that moved money, oldest first.
    pub(super) async fn settled(&self) -> Result<Vec<Entry>, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT hash, code, type_url, sender, receiver, at, tx, receipts FROM ledger_transactions
                 WHERE code = 'OK' AND type_url <> $1 ORDER BY at, hash",
                &[FAUCET_TYPE.into()],
            )
            .await?;
        rows.iter().map(read_entry).collect()
    }

    /// How much of the token there is.
    pub(super) async fn supply(&self) -> Result<u128, SandboxDbError> {
        let rows = self.db.rows("SELECT COUNT(*) FROM ledger_transactions WHERE type_url = $1", &[FAUCET_TYPE.into()]).await?;
        let poured = rows.first().map_or(Ok(0), |row| row.int(0))?;
        Ok(u128::try_from(poured).unwrap_or(0) * FAUCET_AMOUNT)
    }
}

const INSERT_ENTRY: &str = "INSERT INTO ledger_transactions (hash, code, type_url, sender, receiver, at, tx, receipts)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

async fn insert_entry(tx: &mut SandboxTx, order: &Order, code: &str, at: i64, receipts: &Value) -> Result<u64, SandboxDbError> {
    tx.execute(
        INSERT_ENTRY,
        &[
            (&order.hash).into(),
            code.into(),
            order.type_url.into(),
            (&order.transaction.from).into(),
            (&order.receiver).into(),
            at.into(),
            (&order.to_json().to_string()).into(),
            (&receipts.to_string()).into(),
        ],
    )
    .await
}

async fn ensure_account(tx: &mut SandboxTx, address: &str, at: i64) -> Result<(), SandboxDbError> {
    tx.execute(
        "INSERT INTO ledger_accounts (address, pk, nonce, balance, faucet_since, faucet_count, created_at)
         VALUES ($1, '', '0', '0', 0, 0, $2) ON CONFLICT DO NOTHING",
        &[address.into(), at.into()],
    )
    .await?;
    Ok(())
}

/// Any nonce will do, except the last one.
async fn take_nonce(tx: &mut SandboxTx, order: &Order) -> Result<bool, SandboxDbError> {
    let changed = tx
        .execute(
            "UPDATE ledger_accounts SET nonce = $2, pk = $3 WHERE address = $1 AND nonce <> $2",
            &[
                (&order.transaction.from).into(),
                (&order.transaction.nonce.to_string()).into(),
                (&hex::encode_upper(&order.transaction.pk)).into(),
            ],
        )
        .await?;
    Ok(changed == 1)
}

/// Changes a balance if it is still what it was read to be. Answers what stood in the way.
async fn change_balance(tx: &mut SandboxTx, address: &str, change: Change) -> Result<Option<Tried>, SandboxDbError> {
    if change == Change::default() {
        return Ok(None);
    }
    let rows = tx.rows("SELECT balance FROM ledger_accounts WHERE address = $1", &[address.into()]).await?;
    let Some(row) = rows.first() else { return Ok(Some(Tried::Raced)) };
    let before: u128 = row.number(0)?;
    let Some(after) = before.checked_sub(change.debit).and_then(|rest| rest.checked_add(change.credit)) else {
        return Ok(Some(Tried::Short));
    };
    let changed = tx
        .execute(
            "UPDATE ledger_accounts SET balance = $3 WHERE address = $1 AND balance = $2",
            &[address.into(), (&before.to_string()).into(), (&after.to_string()).into()],
        )
        .await?;
    Ok((changed == 0).then_some(Tried::Raced))
}

fn read_entry(row: &Row) -> Result<Entry, SandboxDbError> {
    Ok(Entry {
        hash: row.text(0)?,
        code: row.text(1)?,
        type_url: row.text(2)?,
        sender: row.text(3)?,
        receiver: row.text(4)?,
        at: row.int(5)?,
        tx: json_of(row, 6)?,
        receipts: json_of(row, 7)?,
    })
}

fn json_of(row: &Row, column: usize) -> Result<Value, SandboxDbError> {
    let text = row.text(column)?;
    serde_json::from_str(&text).map_err(|_| SandboxDbError::Corrupt(text))
}
