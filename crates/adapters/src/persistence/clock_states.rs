//! What the store knows about the clocks of its machines: one row.

use super::{Connection, Sql};
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
        let Some(row) = self.0.query("SELECT * FROM clock_state WHERE id = 1").optional().await? else {
            return Ok(ClockState::default());
        };
        let doubt = match row.get::<Option<_>>("doubt")? {
            Some(source) => Some(StoredDoubt {
                doubt: ClockDoubt { source, ahead_seconds: row.get("ahead_seconds")? },
                host: row.get("doubted_host")?,
                at: row.get("doubted_at")?,
            }),
            None => None,
        };
        Ok(ClockState { mark: row.get("marked_at")?, confirmations: row.get("confirmations")?, doubt })
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
        let update = "UPDATE clock_state SET doubt = $1, ahead_seconds = $2, doubted_host = $3, doubted_at = $4
                      WHERE id = 1 AND doubt IS NULL AND confirmations = $5";
        let query = self.0.query(update).bind(doubt.doubt.source).bind(doubt.doubt.ahead_seconds).bind(&doubt.host);
        query.bind(doubt.at).bind(confirmations).execute().await.map(drop)
    }

    async fn withdraw(&mut self, host: &str) -> Result<(), StorageError> {
        self.0.query("UPDATE clock_state SET doubt = NULL WHERE id = 1 AND doubted_host = $1").bind(host).execute().await.map(drop)
    }

    async fn confirm(&mut self, now: Timestamp) -> Result<(), StorageError> {
        self.ensure_row().await?;
        let update = "UPDATE clock_state SET doubt = NULL, confirmations = confirmations + 1, marked_at = $1 WHERE id = 1";
        self.0.query(update).bind(now).execute().await.map(drop)
    }
}
