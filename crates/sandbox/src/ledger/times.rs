//! The time of accounts that follow a customer's test clock.

use super::Ledger;
use crate::store::{SandboxDbError, SandboxTx};
use crate::time::Timestamp;

pub const TABLE: &str = "CREATE TABLE IF NOT EXISTS ledger_times (address TEXT PRIMARY KEY, micros BIGINT NOT NULL)";

impl Ledger {
    /// Sets the time that applies to an account's delegations and stakes. An earlier time than the stored one is ignored.
    pub async fn set_time(&self, address: &str, now: Timestamp) -> Result<(), SandboxDbError> {
        let mut tx = self.db.begin().await?;
        tx.execute(
            "INSERT INTO ledger_times (address, micros) VALUES ($1, $2)
             ON CONFLICT (address) DO UPDATE SET micros = excluded.micros WHERE ledger_times.micros < excluded.micros",
            &[address.into(), now.micros().into()],
        )
        .await?;
        tx.commit().await
    }

    /// The current time of an account.
    pub(super) async fn time_of(&self, tx: &mut SandboxTx, address: &str) -> Result<Timestamp, SandboxDbError> {
        let rows = tx.rows("SELECT micros FROM ledger_times WHERE address = $1", &[address.into()]).await?;
        rows.first().map_or(Ok(self.clock.now()), |row| row.int(0).map(Timestamp::from_micros))
    }
}
