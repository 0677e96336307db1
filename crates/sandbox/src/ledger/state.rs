//! The ledger's state. Every ledger transaction is one database transaction of conditional updates.

use super::gas::Gas;
use super::operations::Operation;
use super::rules::{Change, Changes, LedgerError, ValidTransaction, overflow, receipts};
use super::stakes::StakeMoves;
use super::{FAUCET_AMOUNT, FAUCET_LIMIT, Ledger, delegations, retention, stakes, times};
use crate::did::Address;
use crate::store::{Row, SandboxDbError, SandboxTx};
use crate::time::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Amounts and nonces are decimal text, because no column type of both databases covers their range.
pub const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS ledger_accounts (
        address TEXT PRIMARY KEY, pk TEXT NOT NULL, nonce TEXT NOT NULL, balance TEXT NOT NULL,
        faucet_since BIGINT NOT NULL, faucet_count BIGINT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ledger_transactions (
        hash TEXT PRIMARY KEY, code TEXT NOT NULL, type_url TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL,
        at BIGINT NOT NULL, tx TEXT NOT NULL, receipts TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ledger_transactions_sender ON ledger_transactions (sender, at)",
    "CREATE INDEX IF NOT EXISTS ledger_transactions_receiver ON ledger_transactions (receiver, at)",
    times::TABLE,
    delegations::TABLES[0],
    delegations::TABLES[1],
    stakes::TABLES[0],
    stakes::TABLES[1],
    retention::TABLES[0],
    retention::TABLES[1],
    retention::TABLES[2],
    retention::TABLES[3],
    retention::TABLES[4],
];

const OK: &str = "OK";
pub const FAUCET_TYPE: &str = "fg:t:mint_token";
const HOUR: i64 = 3_600;
/// A list counts its rows up to this number.
const MAX_COUNTED: i64 = 10_000;
/// Maximum number of tries of a transaction that conflicts with others.
const MAX_RACES: usize = 50;

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("{}: {}", .0.code, .0.message)]
    Rejected(LedgerError),
    #[error(transparent)]
    Storage(#[from] SandboxDbError),
}

impl From<LedgerError> for SendError {
    fn from(error: LedgerError) -> Self {
        Self::Rejected(error)
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

/// A part of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub offset: i64,
    pub size: i64,
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

/// Why a transaction was not applied.
pub enum Halt {
    Rejected(LedgerError),
    Duplicate,
    SameNonce,
    /// Another transaction changed the same rows.
    Raced,
    Storage(SandboxDbError),
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Self::Rejected(error)
    }
}

impl From<SandboxDbError> for Halt {
    fn from(error: SandboxDbError) -> Self {
        Self::Storage(error)
    }
}

/// The changes of a transaction, separated into accounts and the stake, as receipts need them.
struct Moves {
    accounts: Changes,
    /// The changed stake.
    stake: Option<(String, Change)>,
}

impl Moves {
    const fn none() -> Self {
        Self { accounts: Changes::new(), stake: None }
    }
}

impl From<Changes> for Moves {
    fn from(accounts: Changes) -> Self {
        Self { accounts, stake: None }
    }
}

impl From<StakeMoves> for Moves {
    fn from(StakeMoves { address, change, accounts }: StakeMoves) -> Self {
        Self { accounts, stake: Some((address, change)) }
    }
}

impl Ledger {
    /// Applies a transaction once. Some rejected transactions are recorded under their hash, as on real chains; all of them with
    /// `records_rejections`.
    pub(super) async fn apply(
        &self,
        transaction: &ValidTransaction,
        gas_payer: Option<&Address>,
        records_rejections: bool,
    ) -> Result<(), SendError> {
        for _ in 0..MAX_RACES {
            let result = match self.try_apply(transaction, gas_payer).await {
                Err(Halt::Rejected(error)) if error.recorded || records_rejections => {
                    self.record(transaction, gas_payer, error.code).await.and(Err(error.into()))
                }
                result => result,
            };
            match result {
                Ok(()) => return Ok(()),
                Err(Halt::Rejected(error)) => return Err(error.into()),
                Err(Halt::Duplicate) => {
                    if self.is_store(gas_payer) {
                        self.keep(&transaction.signed.hash).await?;
                    }
                    return Err(LedgerError::new("DUPLICATE_TX", "this transaction is known already").into());
                }
                Err(Halt::SameNonce) => {
                    return Err(LedgerError::new("INVALID_NONCE", "the account's last transaction had the same nonce").into());
                }
                Err(Halt::Raced) => {}
                Err(Halt::Storage(error)) => return Err(error.into()),
            }
        }
        Err(LedgerError::new("TIMEOUT", "too many transactions of the same accounts at once").into())
    }

    async fn try_apply(&self, transaction: &ValidTransaction, gas_payer: Option<&Address>) -> Result<(), Halt> {
        let from = transaction.signed.from();
        let mut tx = self.db.begin().await?;
        let now = self.time_of(&mut tx, from).await?;
        self.insert(&mut tx, transaction, gas_payer, OK, now).await?;
        if transaction.operation.debit_of(from) > balance_of(&mut tx, from).await? {
            return Err(insufficient().into());
        }
        let mut moves = self.apply_operation(&mut tx, transaction, now).await?;
        moves.accounts.entry(from.to_owned()).or_default();
        let gas = self.gas_of(&mut tx, transaction, gas_payer, &moves.accounts).await?;
        // Accounts are locked last and in the order of their addresses, so that transactions cannot deadlock.
        for (address, change) in &with_gas(&moves.accounts, from, &self.token, gas)? {
            ensure_account(&mut tx, address, now.micros()).await?;
            if address == from {
                take_nonce(&mut tx, transaction).await?;
            }
            change_balance(&mut tx, address, *change).await?;
        }
        moves.accounts.extend(moves.stake);
        let receipts = receipts(&moves.accounts, &self.token, from, gas).to_string();
        tx.execute(
            "UPDATE ledger_transactions SET receipts = $2 WHERE hash = $1",
            &[(&transaction.signed.hash).into(), (&receipts).into()],
        )
        .await?;
        Ok(tx.commit().await?)
    }

    /// Executes everything except the changes of accounts, which it returns.
    async fn apply_operation(&self, tx: &mut SandboxTx, transaction: &ValidTransaction, now: Timestamp) -> Result<Moves, Halt> {
        let from = transaction.signed.from();
        Ok(match &transaction.operation {
            Operation::Transfer(changes) => changes.clone().into(),
            Operation::Pull { delegation, to, amounts, changes } => {
                self.spend(tx, delegation, to, amounts, now).await?;
                changes.clone().into()
            }
            Operation::Delegate(delegate) => {
                self.delegate(tx, from, delegate).await?;
                Changes::from([(delegate.to.clone(), Change::default())]).into()
            }
            Operation::RevokeDelegate(revoke) => {
                self.revoke_delegate(tx, revoke).await?;
                Moves::none()
            }
            Operation::Stake { terms, amount, changes } => self.stake(tx, from, terms, *amount, changes).await?.into(),
            Operation::RevokeStake { address, owners, amount } => {
                self.revoke_stake(tx, from, address, owners, *amount).await?;
                Moves::none()
            }
            Operation::ClaimStake { address, evidence } => self.claim_stake(tx, from, address, evidence, now).await?.into(),
            Operation::SlashStake { address, gains, amount } => self.slash_stake(tx, from, address, gains, *amount).await?.into(),
            Operation::ReturnStake { address, gains, amount } => self.return_stake(tx, from, address, gains, *amount).await?.into(),
        })
    }

    /// Records a rejected transaction under its hash.
    async fn record(&self, transaction: &ValidTransaction, gas_payer: Option<&Address>, code: &str) -> Result<(), Halt> {
        let from = transaction.signed.from();
        let mut tx = self.db.begin().await?;
        let now = self.time_of(&mut tx, from).await?;
        self.insert(&mut tx, transaction, gas_payer, code, now).await?;
        ensure_account(&mut tx, from, now.micros()).await?;
        take_nonce(&mut tx, transaction).await?;
        Ok(tx.commit().await?)
    }

    /// Whether the store has sent a transaction: it offers to pay the gas of each, also of those that a wallet has signed.
    pub(super) fn is_store(&self, gas_payer: Option<&Address>) -> bool {
        gas_payer.is_some_and(|payer| payer.as_str() == self.app)
    }

    /// Inserts a transaction, once.
    async fn insert(
        &self,
        tx: &mut SandboxTx,
        transaction: &ValidTransaction,
        gas_payer: Option<&Address>,
        code: &str,
        at: Timestamp,
    ) -> Result<(), Halt> {
        insert_entry(tx, transaction, code, at.micros()).await?;
        if !self.is_store(gas_payer) {
            retention::mark_direct(tx, &transaction.signed.hash, self.clock.now().micros()).await?;
        }
        Ok(())
    }

    /// Creates an account if it does not exist.
    pub(super) async fn create_account(&self, address: &str) -> Result<(), SandboxDbError> {
        let mut tx = self.db.begin().await?;
        ensure_account(&mut tx, address, self.clock.now().micros()).await?;
        tx.commit().await
    }

    /// Issues tokens to `address` and returns the hash of the transaction; `None` if the address has reached its hourly limit.
    pub(super) async fn faucet(&self, address: &str) -> Result<Option<String>, SandboxDbError> {
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
            match change_balance(&mut tx, address, Change::credit(FAUCET_AMOUNT)).await {
                Ok(()) => {}
                Err(Halt::Storage(error)) => return Err(error),
                Err(_) => continue,
            }
            let rows = tx.rows("SELECT faucet_count FROM ledger_accounts WHERE address = $1", &[address.into()]).await?;
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

    /// A page of the transactions of an account since a time in microseconds, newest first. `code`: empty for all.
    pub(super) async fn entries_since(&self, address: &str, since: i64, code: &str, page: Page) -> Result<Vec<Entry>, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT hash, code, type_url, sender, receiver, at, tx, receipts FROM ledger_transactions
                 WHERE (sender = $1 OR receiver = $1) AND at >= $2 AND ($3 = '' OR code = $3) ORDER BY at DESC, hash LIMIT $4 OFFSET $5",
                &[address.into(), since.into(), code.into(), page.size.into(), page.offset.into()],
            )
            .await?;
        rows.iter().map(read_entry).collect()
    }

    /// The number of these transactions, up to [`MAX_COUNTED`].
    pub(super) async fn count_since(&self, address: &str, since: i64) -> Result<i64, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT COUNT(*) FROM (SELECT 1 AS found FROM ledger_transactions
                     WHERE (sender = $1 OR receiver = $1) AND at >= $2 LIMIT $3) AS counted",
                &[address.into(), since.into(), MAX_COUNTED.into()],
            )
            .await?;
        rows.first().map_or(Ok(0), |row| row.int(0))
    }

    /// All transactions that moved tokens, oldest first.
    pub(super) async fn settled(&self) -> Result<Vec<Entry>, SandboxDbError> {
        let rows = self
            .db
            .rows(
                "SELECT hash, code, type_url, sender, receiver, at, tx, receipts FROM ledger_transactions
                 WHERE code = 'OK' AND receipts <> '[]' AND type_url <> $1 ORDER BY at, hash",
                &[FAUCET_TYPE.into()],
            )
            .await?;
        rows.iter().map(read_entry).collect()
    }

    /// For tests: removes a transaction. False: there is none.
    pub(super) async fn forget(&self, hash: &str) -> Result<bool, SandboxDbError> {
        let mut tx = self.db.begin().await?;
        let removed = tx.execute("DELETE FROM ledger_transactions WHERE hash = $1", &[hash.into()]).await?;
        tx.commit().await?;
        Ok(removed == 1)
    }

    /// The total supply of the token.
    pub(super) async fn supply(&self) -> Result<u128, SandboxDbError> {
        let kept = "SELECT COUNT(*) FROM ledger_transactions WHERE type_url = 'fg:t:mint_token'";
        let deleted = "SELECT count FROM ledger_deleted WHERE type_url = 'fg:t:mint_token'";
        let mut issued = 0;
        for sql in [kept, deleted] {
            issued += self.db.rows(sql, &[]).await?.first().map_or(Ok(0), |row| row.int(0))?;
        }
        Ok(u128::try_from(issued).unwrap_or(0) * FAUCET_AMOUNT)
    }
}

const INSERT_ENTRY: &str = "INSERT INTO ledger_transactions (hash, code, type_url, sender, receiver, at, tx, receipts)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

async fn insert_entry(tx: &mut SandboxTx, transaction: &ValidTransaction, code: &str, at: i64) -> Result<(), Halt> {
    let added = tx
        .execute(
            INSERT_ENTRY,
            &[
                (&transaction.signed.hash).into(),
                code.into(),
                transaction.type_url.into(),
                transaction.signed.from().into(),
                (&transaction.receiver).into(),
                at.into(),
                (&transaction.signed.to_json(&transaction.receiver).to_string()).into(),
                "[]".into(),
            ],
        )
        .await?;
    if added == 1 { Ok(()) } else { Err(Halt::Duplicate) }
}

/// The changes of accounts, gas included.
fn with_gas(accounts: &Changes, from: &str, vault: &str, Gas(gas): Gas) -> Result<Changes, LedgerError> {
    let mut changes = accounts.clone();
    if gas > 0 {
        let payer = changes.entry(from.to_owned()).or_default();
        payer.debit = payer.debit.checked_add(gas).ok_or_else(overflow)?;
        let vault = changes.entry(vault.to_owned()).or_default();
        vault.credit = vault.credit.checked_add(gas).ok_or_else(overflow)?;
    }
    Ok(changes)
}

pub async fn balance_of(tx: &mut SandboxTx, address: &str) -> Result<u128, SandboxDbError> {
    let rows = tx.rows("SELECT balance FROM ledger_accounts WHERE address = $1", &[address.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.number(0))
}

fn insufficient() -> LedgerError {
    LedgerError::recorded("INSUFFICIENT_FUND", "the sender has too little of the token")
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

/// Stores the nonce, which must differ from the last one. Stores the public key unless the transaction was sent on behalf of a
/// delegator.
async fn take_nonce(tx: &mut SandboxTx, transaction: &ValidTransaction) -> Result<(), Halt> {
    let (from, nonce) = (transaction.signed.from(), transaction.signed.nonce());
    let key = if transaction.signed.delegator().is_empty() { hex::encode_upper(transaction.signed.public_key()) } else { String::new() };
    let changed = tx
        .execute(
            "UPDATE ledger_accounts SET nonce = $2, pk = CASE WHEN $3 = '' THEN pk ELSE $3 END WHERE address = $1 AND nonce <> $2",
            &[from.into(), (&nonce.to_string()).into(), (&key).into()],
        )
        .await?;
    if changed == 1 { Ok(()) } else { Err(Halt::SameNonce) }
}

/// Changes a balance with compare-and-set.
async fn change_balance(tx: &mut SandboxTx, address: &str, change: Change) -> Result<(), Halt> {
    if change == Change::default() {
        return Ok(());
    }
    // Lock the row while reading it: every payment changes the store's account, so compare-and-set without a lock would fail often.
    let lock = tx.per_dialect(
        "SELECT balance FROM ledger_accounts WHERE address = $1",
        "SELECT balance FROM ledger_accounts WHERE address = $1 FOR UPDATE",
    );
    let before: u128 = tx.rows(lock, &[address.into()]).await?.first().map_or(Ok(0), |row| row.number(0))?;
    let after = before.checked_sub(change.debit).and_then(|rest| rest.checked_add(change.credit)).ok_or_else(insufficient)?;
    let changed = tx
        .execute(
            "UPDATE ledger_accounts SET balance = $3 WHERE address = $1 AND balance = $2",
            &[address.into(), (&before.to_string()).into(), (&after.to_string()).into()],
        )
        .await?;
    if changed == 1 { Ok(()) } else { Err(Halt::Raced) }
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
