//! Deletes what strangers made the ledger keep.
//!
//! The store asks for its transactions by their hashes, and it sends all of them itself, also those that wallets sign for it. These are
//! kept. What anybody else or the faucet has sent is deleted by age and by number, and so are accounts that have never sent anything.
//! Balances, delegations and stakes do not depend on transactions. Only a claim needs one, the revocation of the stake: its waiting period is
//! 14 days for stakes of the store, less than [`Retention::max_age`].

use super::Ledger;
use super::state::FAUCET_TYPE;
use crate::store::{SandboxDbError, SandboxTx, Value};
use std::time::Duration;

pub const TABLES: [&str; 5] = [
    // The transactions that the store has not sent.
    "CREATE TABLE IF NOT EXISTS ledger_direct (hash TEXT PRIMARY KEY, at BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ledger_direct_at ON ledger_direct (at)",
    "CREATE INDEX IF NOT EXISTS ledger_transactions_faucet ON ledger_transactions (at) WHERE type_url = 'fg:t:mint_token'",
    "CREATE INDEX IF NOT EXISTS ledger_accounts_unused ON ledger_accounts (created_at) WHERE pk = '' AND nonce = '0'",
    // How many transactions of the faucet were deleted. They count towards the total supply.
    "CREATE TABLE IF NOT EXISTS ledger_deleted (type_url TEXT PRIMARY KEY, count BIGINT NOT NULL)",
];

/// Rows that one database transaction deletes, so that others do not wait long.
const CHUNK: i64 = 500;

/// What is kept of strangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The age at which transactions of strangers, and of the faucet, are deleted.
    pub max_age: Duration,
    /// How many transactions are kept at most: of strangers, and of the faucet.
    pub transactions: i64,
    /// How many accounts are kept at most that have never sent a transaction.
    pub unused_accounts: i64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(30 * 24 * 3_600), transactions: 100_000, unused_accounts: 100_000 }
    }
}

impl Ledger {
    /// Deletes what exceeds the limits, oldest first. Returns the number of deleted rows. It looks at ages, so the clock must be trusted.
    pub async fn prune(&self, retention: &Retention) -> Result<u64, SandboxDbError> {
        let old = self.clock.now().minus(retention.max_age).micros();
        let kept = retention.transactions.into();
        let direct = self.time("SELECT at FROM ledger_direct ORDER BY at DESC LIMIT 1 OFFSET $1", kept).await?;
        let faucet = "SELECT at FROM ledger_transactions WHERE type_url = 'fg:t:mint_token' ORDER BY at DESC LIMIT 1 OFFSET $1";
        let faucet = self.time(faucet, kept).await?;
        let unused = "SELECT created_at FROM ledger_accounts WHERE pk = '' AND nonce = '0' ORDER BY created_at DESC LIMIT 1 OFFSET $1";
        let unused = self.time(unused, retention.unused_accounts.into()).await?;
        let mut deleted = self.delete_direct(direct.map_or(old, |excess| excess.max(old))).await?;
        deleted += self.delete_of_faucet(faucet.map_or(old, |excess| excess.max(old))).await?;
        if let Some(until) = unused {
            deleted += self.delete_unused_accounts(until).await?;
        }
        Ok(deleted)
    }

    /// The store has sent a transaction that a stranger had sent before: it is kept.
    pub(super) async fn keep(&self, hash: &str) -> Result<(), SandboxDbError> {
        let mut tx = self.db.begin().await?;
        tx.execute("DELETE FROM ledger_direct WHERE hash = $1", &[hash.into()]).await?;
        tx.commit().await
    }

    /// The time of the newest row that is too many.
    async fn time(&self, sql: &'static str, kept: Value<'_>) -> Result<Option<i64>, SandboxDbError> {
        self.db.rows(sql, &[kept]).await?.first().map(|row| row.int(0)).transpose()
    }

    /// Deletes transactions of strangers that were sent at `until` or before.
    async fn delete_direct(&self, until: i64) -> Result<u64, SandboxDbError> {
        let mut deleted = 0;
        loop {
            let mut tx = self.db.begin().await?;
            let oldest = "SELECT hash FROM ledger_direct WHERE at <= $1 ORDER BY at, hash LIMIT $2";
            let oldest = tx.rows(oldest, &[until.into(), CHUNK.into()]).await?;
            if oldest.is_empty() {
                return Ok(deleted);
            }
            for row in oldest {
                let hash = row.text(0)?;
                // Another process may have deleted it, or the store has sent it meanwhile.
                if tx.execute("DELETE FROM ledger_direct WHERE hash = $1", &[(&hash).into()]).await? == 1 {
                    deleted += tx.execute("DELETE FROM ledger_transactions WHERE hash = $1", &[(&hash).into()]).await?;
                }
            }
            tx.commit().await?;
        }
    }

    async fn delete_of_faucet(&self, until: i64) -> Result<u64, SandboxDbError> {
        let mut deleted = 0;
        loop {
            let mut tx = self.db.begin().await?;
            let count = tx
                .execute(
                    "DELETE FROM ledger_transactions WHERE hash IN
                         (SELECT hash FROM ledger_transactions WHERE type_url = 'fg:t:mint_token' AND at <= $1 ORDER BY at LIMIT $2)",
                    &[until.into(), CHUNK.into()],
                )
                .await?;
            if count == 0 {
                return Ok(deleted);
            }
            tx.execute(
                "INSERT INTO ledger_deleted (type_url, count) VALUES ($1, $2)
                 ON CONFLICT (type_url) DO UPDATE SET count = ledger_deleted.count + excluded.count",
                &[FAUCET_TYPE.into(), i64::try_from(count).unwrap_or(i64::MAX).into()],
            )
            .await?;
            tx.commit().await?;
            deleted += count;
        }
    }

    /// The accounts of the store and of the token are in use, and so are those that follow a test clock.
    async fn delete_unused_accounts(&self, created_until: i64) -> Result<u64, SandboxDbError> {
        let mut deleted = 0;
        loop {
            let mut tx = self.db.begin().await?;
            let count = tx
                .execute(
                    "DELETE FROM ledger_accounts WHERE pk = '' AND nonce = '0' AND address IN
                         (SELECT a.address FROM ledger_accounts a
                          WHERE a.pk = '' AND a.nonce = '0' AND a.created_at <= $1 AND a.address <> $3 AND a.address <> $4
                              AND NOT EXISTS (SELECT 1 FROM ledger_times t WHERE t.address = a.address)
                          ORDER BY a.created_at LIMIT $2)",
                    &[created_until.into(), CHUNK.into(), (&self.app).into(), (&self.token).into()],
                )
                .await?;
            tx.commit().await?;
            if count == 0 {
                return Ok(deleted);
            }
            deleted += count;
        }
    }
}

/// Notes that the store has not sent this transaction.
pub async fn mark_direct(tx: &mut SandboxTx, hash: &str, at: i64) -> Result<(), SandboxDbError> {
    tx.execute("INSERT INTO ledger_direct (hash, at) VALUES ($1, $2) ON CONFLICT DO NOTHING", &[hash.into(), at.into()]).await?;
    Ok(())
}
