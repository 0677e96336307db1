//! Accounts that live in a time of their own: that of a customer's test clock.

use super::Ledger;
use crate::sandbox::store::{SandboxDbError, SandboxTx};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::payment::{RailError, SandboxTime};
use souk_domain::shared::Timestamp;

pub const TABLE: &str = "CREATE TABLE IF NOT EXISTS ledger_times (address TEXT PRIMARY KEY, micros BIGINT NOT NULL)";

impl Ledger {
    /// Sets the time of an account, unless it had a later one.
    pub(super) async fn set_time(&self, address: &str, now: Timestamp) -> Result<(), SandboxDbError> {
        let mut tx = self.db.begin().await?;
        tx.execute(
            "INSERT INTO ledger_times (address, micros) VALUES ($1, $2)
             ON CONFLICT (address) DO UPDATE SET micros = excluded.micros WHERE ledger_times.micros < excluded.micros",
            &[address.into(), now.micros().into()],
        )
        .await?;
        tx.commit().await
    }

    /// What time it is for an account.
    pub(super) async fn time_of(&self, tx: &mut SandboxTx, address: &str) -> Result<Timestamp, SandboxDbError> {
        let rows = tx.rows("SELECT micros FROM ledger_times WHERE address = $1", &[address.into()]).await?;
        rows.first().map_or(Ok(self.clock.now()), |row| row.int(0).map(Timestamp::from_micros))
    }
}

#[async_trait]
impl SandboxTime for Ledger {
    async fn set(&self, payer: &Did, now: Timestamp) -> Result<(), RailError> {
        self.set_time(payer.as_str(), now).await.map_err(|error| RailError::Unreachable(error.to_string()))
    }
}
