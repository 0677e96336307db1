//! What the store knows about the clocks of its machines: one row, and one for each process that doubts its clock.

use super::{Connection, Row, Sql, ahead_of_clock};
use async_trait::async_trait;
use souk_domain::operation::{ClockDoubt, ClockState, ClockStates, StoredDoubt};
use souk_domain::shared::{StorageError, Timestamp};

const SERVER_TIME: Sql = Sql { sqlite: "SELECT NULL AS at", postgres: "SELECT clock_timestamp() AS at" };

pub struct SqlClockStates<'s>(pub &'s mut Connection);

impl SqlClockStates<'_> {
    async fn ensure_row(&mut self) -> Result<(), StorageError> {
        self.0.query("INSERT INTO clock_state (id, confirmations) VALUES (1, 0) ON CONFLICT (id) DO NOTHING").execute().await?;
        Ok(())
    }
}

#[async_trait]
impl ClockStates for SqlClockStates<'_> {
    async fn read(&mut self) -> Result<ClockState, StorageError> {
        let doubts = self.0.query("SELECT * FROM clock_doubts ORDER BY doubted_at, process").all().await?;
        let doubts = doubts.iter().map(read_doubt).collect::<Result<_, _>>()?;
        match self.0.query("SELECT * FROM clock_state WHERE id = 1").optional().await? {
            Some(row) => Ok(ClockState { mark: row.get("marked_at")?, confirmations: row.get("confirmations")?, doubts }),
            None => Ok(ClockState { doubts, ..ClockState::default() }),
        }
    }

    async fn server_time(&mut self) -> Result<Option<Timestamp>, StorageError> {
        self.0.query_per_dialect(SERVER_TIME).one().await?.get("at")
    }

    async fn set_mark(&mut self, mark: Timestamp, reset: bool) -> Result<(), StorageError> {
        self.ensure_row().await?;
        let update = "UPDATE clock_state SET marked_at = $1 WHERE id = 1 AND ($2 OR marked_at IS NULL OR marked_at < $1)";
        self.0.query(update).bind(mark).bind(reset).execute().await.map(drop)
    }

    async fn raise(&mut self, doubt: &StoredDoubt, confirmations: u64) -> Result<(), StorageError> {
        self.ensure_row().await?;
        let insert = "INSERT INTO clock_doubts (process, host, source, ahead_seconds, doubted_at, renewals)
                      SELECT $1, $2, $3, $4, $5, $6 FROM clock_state WHERE id = 1 AND confirmations = $7
                      ON CONFLICT (process) DO UPDATE SET
                          source = excluded.source, ahead_seconds = excluded.ahead_seconds, renewals = excluded.renewals";
        let StoredDoubt { process, host, doubt, at, renewals } = doubt;
        let query = self.0.query(insert).bind(process).bind(host).bind(doubt.source).bind(doubt.ahead_seconds);
        query.bind(*at).bind(*renewals).bind(confirmations).execute().await.map(drop)
    }

    async fn withdraw(&mut self, process: &str) -> Result<(), StorageError> {
        self.0.query("DELETE FROM clock_doubts WHERE process = $1").bind(process).execute().await.map(drop)
    }

    async fn confirm(&mut self) -> Result<(), StorageError> {
        self.ensure_row().await?;
        let update = "UPDATE clock_state SET confirmations = confirmations + 1, marked_at = NULL WHERE id = 1";
        self.0.query(update).execute().await?;
        self.0.query("DELETE FROM clock_doubts").execute().await.map(drop)
    }

    async fn pull_forward(&mut self, now: Timestamp) -> Result<(), StorageError> {
        ahead_of_clock::pull_forward(self.0, now).await
    }
}

fn read_doubt(row: &Row) -> Result<StoredDoubt, StorageError> {
    Ok(StoredDoubt {
        process: row.get("process")?,
        host: row.get("host")?,
        doubt: ClockDoubt { source: row.get("source")?, ahead_seconds: row.get("ahead_seconds")? },
        at: row.get("doubted_at")?,
        renewals: row.get("renewals")?,
    })
}
