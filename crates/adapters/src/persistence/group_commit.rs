//! Group commit: writes several units of work in one SQLite commit.
//!
//! SQLite has one writer, and each commit waits for the disk. A unit of work whose statements are all deferred until its commit is
//! queued here. One task writes the queued units, each in its own savepoint, and commits them together. They share one wait for the
//! disk, and no caller holds the write lock while it computes. `make bench SET=purchase` measures the effect on a checkout submit.

use super::batch::{Statement, run_on_sqlite};
use super::database::{DURABLE, storage};
use souk_domain::shared::StorageError;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Executor, Sqlite, Transaction};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The most units of work in one commit. The limit exists because other writers wait for the lock meanwhile.
const UNITS_MAX: usize = 32;

/// The statements of a unit of work, and the channel to its caller.
#[derive(Debug)]
struct Unit {
    statements: Vec<Statement>,
    outcome: oneshot::Sender<Result<(), StorageError>>,
}

/// The queue of an SQLite file's writer.
#[derive(Debug, Default)]
pub(super) struct GroupCommit(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    units: VecDeque<Unit>,
    /// True while a task is writing the queued units.
    has_writer: bool,
}

impl GroupCommit {
    /// Writes a unit of work and commits it. Returns [`StorageError::Conflict`] if a statement does not change its expected number of
    /// rows. The commit continues even if the caller's future is dropped, because a connection abandoned inside a transaction would
    /// break the next transaction.
    pub(super) async fn commit(self: Arc<Self>, writer: SqlitePool, statements: Vec<Statement>) -> Result<(), StorageError> {
        if statements.is_empty() {
            return Ok(());
        }
        let (outcome, outcome_receiver) = oneshot::channel();
        let starts_writer = {
            let mut queue = self.queue();
            queue.units.push_back(Unit { statements, outcome });
            !std::mem::replace(&mut queue.has_writer, true)
        };
        if starts_writer {
            tokio::spawn(async move {
                let writer_role = WriterRole(&self);
                while writer_role.has_more() {
                    let begun = writer.begin_with(DURABLE).await;
                    // If the transaction cannot begin, fail all queued units.
                    let units = writer_role.take(if begun.is_ok() { UNITS_MAX } else { usize::MAX });
                    write_together(begun, units).await;
                }
                std::mem::forget(writer_role);
            });
        }
        outcome_receiver.await.unwrap_or_else(|_| Err(storage(sqlx::Error::WorkerCrashed)))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by the task that writes. If the task ends early, dropping this fails the queued units, and the next unit starts a new task.
struct WriterRole<'q>(&'q GroupCommit);

impl WriterRole<'_> {
    fn has_more(&self) -> bool {
        let mut queue = self.0.queue();
        queue.has_writer = !queue.units.is_empty();
        queue.has_writer
    }

    fn take(&self, limit: usize) -> Vec<Unit> {
        let mut queue = self.0.queue();
        let count = queue.units.len().min(limit);
        queue.units.drain(..count).collect()
    }
}

impl Drop for WriterRole<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.has_writer = false;
        queue.units.clear();
    }
}

/// Writes units of work in order, commits them and sends each caller its outcome.
async fn write_together(begun: Result<Transaction<'static, Sqlite>, sqlx::Error>, units: Vec<Unit>) {
    let (statements, callers): (Vec<_>, Vec<_>) = units.into_iter().map(|unit| (unit.statements, unit.outcome)).unzip();
    let written = async {
        let mut transaction = begun.map_err(storage)?;
        let mut outcomes = Vec::with_capacity(statements.len());
        for statements in statements {
            outcomes.push(write(&mut transaction, statements).await?);
        }
        transaction.commit().await.map_err(storage)?;
        Ok::<_, StorageError>(outcomes)
    };
    let outcomes = match written.await {
        Ok(outcomes) => outcomes,
        // No unit was committed, or the outcome of the commit is unknown.
        Err(StorageError::NoSpace(cause)) => callers.iter().map(|_| Err(StorageError::NoSpace(cause.to_string().into()))).collect(),
        Err(error) => callers.iter().map(|_| Err(StorageError::Driver(error.to_string().into()))).collect(),
    };
    for (caller, outcome) in callers.into_iter().zip(outcomes) {
        if caller.send(outcome).is_err() {
            tracing::debug!("the caller of a unit of work stopped waiting for its outcome");
        }
    }
}

/// Writes one unit of work. The inner error means that the unit failed and its changes were rolled back. The outer error means that the
/// whole transaction failed.
async fn write(transaction: &mut SqliteConnection, statements: Vec<Statement>) -> Result<Result<(), StorageError>, StorageError> {
    transaction.execute("SAVEPOINT unit").await.map_err(storage)?;
    let outcome = run_on_sqlite(transaction, statements).await;
    let end = if outcome.is_ok() { "RELEASE unit" } else { "ROLLBACK TO unit; RELEASE unit" };
    match (transaction.execute(end).await, outcome) {
        (Ok(_), outcome) => Ok(outcome),
        // If the disk is full, SQLite rolls back the whole transaction, so the other units fail for the same reason.
        (Err(_), Err(error)) => Err(error),
        (Err(error), Ok(())) => Err(storage(error)),
    }
}

#[cfg(test)]
mod tests {
    use crate::persistence::database::Engine;
    use crate::testing::TestDatabase;
    use futures_util::FutureExt;
    use souk_domain::shared::StorageError;
    use sqlx::Row;

    #[tokio::test]
    async fn a_group_commit_waits_for_the_disk_even_after_a_relaxed_commit() {
        let db = TestDatabase::sqlite().await;
        let Engine::Sqlite { writer, .. } = &db.engine else { panic!("this is SQLite") };
        let level = async || -> i64 { sqlx::query("PRAGMA synchronous").fetch_one(writer).await.expect("answers").get(0) };
        let mut connection = db.begin_relaxed().await.expect("begins");
        connection.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        connection.commit().await.expect("commits");
        assert_eq!(level().await, 1);
        let mut connection = db.begin().await.expect("begins");
        connection.query("INSERT INTO specimens (id) VALUES ($1)").bind("cs_1").defer(Some(1)).await.expect("defers");
        connection.commit().await.expect("commits");
        assert_eq!(level().await, 2);
    }

    #[tokio::test]
    async fn a_failed_unit_of_work_does_not_fail_the_other_units_of_the_group_commit() {
        let db = TestDatabase::sqlite().await;
        let mut connection = db.begin().await.expect("begins");
        connection.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        // These units queue while another one holds the write lock, and are written together once it commits.
        let put = async |id: &'static str, rows: u64| {
            let mut connection = db.begin().await.expect("begins");
            connection.query("INSERT INTO specimens (id) VALUES ($1)").bind(id).defer(Some(1)).await.expect("defers");
            connection.query("DELETE FROM specimens WHERE id = $1").bind("nobody").defer(Some(rows)).await.expect("defers");
            connection.commit().await
        };
        let ids = [("a", 0), ("b", 1), ("a", 0), ("c", 0)];
        let mut all = Box::pin(futures_util::future::join_all(ids.map(|(id, rows)| put(id, rows))));
        assert!((&mut all).now_or_never().is_none());
        connection.commit().await.expect("commits");
        let outcomes = all.await;
        assert!(matches!(outcomes[..], [Ok(()), Err(StorageError::Conflict), Err(StorageError::Duplicate(_)), Ok(())]));
        let kept = db.read().await.expect("reads").query("SELECT id FROM specimens ORDER BY id").all().await.expect("reads");
        let kept: Vec<String> = kept.iter().map(|row| row.get("id").expect("an id")).collect();
        assert_eq!(kept, ["a", "c"]);
    }

    #[tokio::test]
    async fn writes_succeed_again_after_the_disk_was_full() {
        let db = TestDatabase::sqlite().await;
        let Engine::Sqlite { writer, .. } = &db.engine else { panic!("this is SQLite") };
        let mut connection = db.begin().await.expect("begins");
        connection.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        connection.commit().await.expect("commits");
        let put = async |id: String, at_once: bool| {
            let mut connection = db.begin().await.expect("begins");
            let query = connection.query("INSERT INTO specimens (id) VALUES ($1)").bind(id);
            match at_once {
                true => query.execute().await.map(drop)?,
                false => query.defer(Some(1)).await?,
            }
            connection.commit().await
        };
        for at_once in [false, true] {
            // Simulates a full disk. The limit ends with this connection; the pool replaces it after the failure.
            let pages: i64 = sqlx::query("PRAGMA page_count").fetch_one(writer).await.expect("answers").get(0);
            sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))).execute(writer).await.expect("limits");
            let refused = put("x".repeat(1 << 20), at_once).await;
            assert!(matches!(refused, Err(StorageError::NoSpace(_))), "{refused:?}");
            put(format!("small, {at_once}"), at_once).await.expect("writes again");
        }
    }
}
