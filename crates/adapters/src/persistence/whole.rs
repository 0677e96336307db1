//! Transactions that are nothing but writes: by one call on PostgreSQL, and on SQLite together with others that wait for its one writer,
//! so that one wait for the disk serves them all. What a database does by itself keeps nobody else waiting for us.

use super::database::{DURABLE, Engine, storage};
use super::statement::{Waiting, count_of, in_order, parts, postgres_arguments, sqlite_arguments};
use super::value::Value;
use futures_util::TryStreamExt;
use souk_domain::shared::StorageError;
use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqlitePool};
use sqlx::{Executor, Sqlite, Transaction};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The most that are committed together: others wait for the writer as well.
const TOGETHER: usize = 32;
/// Fails: there is no such integer.
const NO_INTEGER: &str = "abs(-9223372036854775807 - 1)";
/// PostgreSQL's code for a division by zero.
const DIVISION_BY_ZERO: &str = "22012";

/// Runs statements and commits; [`StorageError::Conflict`] where one changes another number of rows than it must. It goes on when
/// nobody waits for it any more: a connection that was left in the middle of it would spoil what is run on it next.
pub(super) async fn run(engine: Engine, statements: Vec<Waiting>) -> Result<(), StorageError> {
    if statements.is_empty() {
        return Ok(());
    }
    let ended = match engine {
        Engine::Sqlite { writer, queue, .. } => queue.put(writer, Script::of(statements)?).await,
        Engine::Postgres(pool) => tokio::spawn(async move { on_postgres(&pool, statements).await }).await.ok(),
    };
    ended.unwrap_or_else(|| Err(storage(sqlx::Error::WorkerCrashed)))
}

/// Statements as one text, undone together where one of them fails.
#[derive(Debug)]
struct Script {
    text: String,
    values: Vec<Value>,
    /// Which of its steps fail where the one before changed another number of rows than it must.
    checks: BTreeSet<usize>,
}

impl Script {
    fn of(statements: Vec<Waiting>) -> Result<Self, StorageError> {
        let (mut steps, mut values, mut checks) = (vec!["SAVEPOINT script".to_owned()], Vec::new(), BTreeSet::new());
        for statement in statements {
            steps.push(in_order(&statement.sql, statement.values, &mut values)?);
            if let Some(rows) = statement.rows {
                checks.insert(steps.len());
                steps.push(format!("SELECT CASE WHEN changes() = {rows} THEN 0 ELSE {NO_INTEGER} END"));
            }
        }
        steps.push("RELEASE script".to_owned());
        Ok(Self { text: steps.join("; "), values, checks })
    }
}

#[derive(Debug)]
struct Job {
    script: Script,
    told: oneshot::Sender<Result<(), StorageError>>,
}

/// What waits for the writer of an SQLite file.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<Jobs>);

#[derive(Debug, Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// Somebody writes what waits.
    is_led: bool,
}

impl Queue {
    /// `None`: whoever wrote it is gone.
    async fn put(self: Arc<Self>, writer: SqlitePool, script: Script) -> Option<Result<(), StorageError>> {
        let (told, answer) = oneshot::channel();
        let leads = {
            let mut jobs = self.jobs();
            jobs.waiting.push_back(Job { script, told });
            !std::mem::replace(&mut jobs.is_led, true)
        };
        if leads {
            tokio::spawn(async move {
                let lead = Lead(&self);
                while lead.goes_on() {
                    let begun = writer.begin_with(DURABLE).await;
                    // Nobody waits for a second writer that does not come.
                    let jobs = lead.take(if begun.is_ok() { TOGETHER } else { usize::MAX });
                    write_together(begun, jobs).await;
                }
                std::mem::forget(lead);
            });
        }
        answer.await.ok()
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever writes what waits. Dropped in the middle of it, it leaves nobody waiting, and lets the next one who comes lead.
struct Lead<'q>(&'q Queue);

impl Lead<'_> {
    fn goes_on(&self) -> bool {
        let mut jobs = self.0.jobs();
        jobs.is_led = !jobs.waiting.is_empty();
        jobs.is_led
    }

    fn take(&self, limit: usize) -> Vec<Job> {
        let mut jobs = self.0.jobs();
        let count = jobs.waiting.len().min(limit);
        jobs.waiting.drain(..count).collect()
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut jobs = self.0.jobs();
        jobs.is_led = false;
        jobs.waiting.clear();
    }
}

/// Writes them in their order and commits; tells each what became of it.
async fn write_together(begun: Result<Transaction<'static, Sqlite>, sqlx::Error>, jobs: Vec<Job>) {
    let (scripts, tellers): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.script, job.told)).unzip();
    let written = async {
        let mut transaction = begun?;
        let mut outcomes = Vec::with_capacity(scripts.len());
        for script in scripts {
            outcomes.push(write(&mut transaction, script).await?);
        }
        transaction.commit().await?;
        Ok::<_, sqlx::Error>(outcomes)
    };
    let outcomes = match written.await {
        Ok(outcomes) => outcomes,
        // Nothing of any of them was kept, or nobody can tell.
        Err(error) => tellers.iter().map(|_| Err(StorageError::Driver(error.to_string().into()))).collect(),
    };
    for (told, outcome) in tellers.into_iter().zip(outcomes) {
        // Whoever waited for it may be gone.
        let _ = told.send(outcome);
    }
}

/// Writes one; where it fails, the transaction is as it was before.
async fn write(transaction: &mut SqliteConnection, script: Script) -> Result<Result<(), StorageError>, sqlx::Error> {
    let arguments = match sqlite_arguments(script.values) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(Err(error)),
    };
    let Err((done, error)) = run_each(transaction, script.text, arguments).await else { return Ok(Ok(())) };
    if transaction.execute("ROLLBACK TO script; RELEASE script").await.is_err() {
        // SQLite has undone the whole transaction by itself, as where the disk is full: the others fail for the same reason.
        return Err(error);
    }
    Ok(Err(if script.checks.contains(&done) { StorageError::Conflict } else { storage(error) }))
}

/// Runs the statements of a text; how many were done where one fails.
async fn run_each(connection: &mut SqliteConnection, text: String, values: SqliteArguments) -> Result<(), (usize, sqlx::Error)> {
    let mut done = 0;
    let mut steps = connection.fetch_many(sqlx::query_with(sqlx::AssertSqlSafe(text), values));
    loop {
        match steps.try_next().await {
            Ok(Some(step)) => done += usize::from(step.is_left()),
            Ok(None) => return Ok(()),
            Err(error) => return Err((done, error)),
        }
    }
}

/// One statement, which is a transaction of its own.
async fn on_postgres(pool: &PgPool, statements: Vec<Waiting>) -> Result<(), StorageError> {
    let wanted: Vec<_> = statements.iter().map(|statement| statement.rows).collect();
    let count = |(place, rows): (usize, &Option<u64>)| match rows {
        Some(rows) => format!("{} = {rows}", count_of(place)),
        None => format!("{} >= 0", count_of(place)),
    };
    let counts: Vec<_> = wanted.iter().enumerate().map(count).collect();
    let (parts, values) = parts(statements)?;
    let sql = format!("{parts} SELECT 1 / CASE WHEN {} THEN 1 ELSE 0 END", counts.join(" AND "));
    let query = sqlx::query_with(sqlx::AssertSqlSafe(sql), postgres_arguments(values)?);
    match query.execute(pool).await {
        Ok(_) => Ok(()),
        Err(error) if error.as_database_error().is_some_and(|error| error.code().as_deref() == Some(DIVISION_BY_ZERO)) => {
            Err(StorageError::Conflict)
        }
        Err(error) => Err(storage(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::Engine;
    use crate::testing::TestDatabase;
    use futures_util::FutureExt;
    use souk_domain::shared::StorageError;
    use sqlx::Row;

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_after_those_that_did_not() {
        let db = TestDatabase::sqlite().await;
        let Engine::Sqlite { writer, .. } = &db.engine else { panic!("of another kind") };
        let level = async || -> i64 { sqlx::query("PRAGMA synchronous").fetch_one(writer).await.expect("answers").get(0) };
        let mut session = db.begin_relaxed().await.expect("begins");
        session.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        session.commit().await.expect("commits");
        assert_eq!(level().await, 1);
        let mut session = db.begin().await.expect("begins");
        session.query("INSERT INTO specimens (id) VALUES ($1)").bind("cs_1").later(Some(1)).await.expect("waits");
        session.commit().await.expect("commits");
        assert_eq!(level().await, 2);
    }

    #[tokio::test]
    async fn of_those_that_are_written_together_one_that_fails_is_left_out() {
        let db = TestDatabase::sqlite().await;
        let mut session = db.begin().await.expect("begins");
        session.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        // They pile up behind whoever has the writer, and are taken together when it is free.
        let put = async |id: &'static str, rows: u64| {
            let mut session = db.begin().await.expect("begins");
            session.query("INSERT INTO specimens (id) VALUES ($1)").bind(id).later(Some(1)).await.expect("waits");
            session.query("DELETE FROM specimens WHERE id = $1").bind("nobody").later(Some(rows)).await.expect("waits");
            session.commit().await
        };
        let ids = [("a", 0), ("b", 1), ("a", 0), ("c", 0)];
        let mut all = Box::pin(futures_util::future::join_all(ids.map(|(id, rows)| put(id, rows))));
        assert!((&mut all).now_or_never().is_none());
        session.commit().await.expect("commits");
        let told = all.await;
        assert!(matches!(told[..], [Ok(()), Err(StorageError::Conflict), Err(StorageError::Duplicate(_)), Ok(())]));
        let kept = db.read().await.expect("reads").query("SELECT id FROM specimens ORDER BY id").all().await.expect("reads");
        let kept: Vec<String> = kept.iter().map(|row| row.get("id").expect("an id")).collect();
        assert_eq!(kept, ["a", "c"]);
    }

    #[tokio::test]
    async fn a_writer_whose_disk_was_full_writes_again_when_it_is_not() {
        let db = TestDatabase::sqlite().await;
        let Engine::Sqlite { writer, .. } = &db.engine else { panic!("of another kind") };
        let mut session = db.begin().await.expect("begins");
        session.query("CREATE TABLE specimens (id TEXT NOT NULL PRIMARY KEY) STRICT").execute().await.expect("creates");
        session.commit().await.expect("commits");
        let put = async |id: String, at_once: bool| {
            let mut session = db.begin().await.expect("begins");
            let query = session.query("INSERT INTO specimens (id) VALUES ($1)").bind(id);
            match at_once {
                true => query.execute().await.map(drop)?,
                false => query.later(Some(1)).await?,
            }
            session.commit().await
        };
        for at_once in [false, true] {
            // As full as a disk can be made without one; the next connection has another one.
            let pages: i64 = sqlx::query("PRAGMA page_count").fetch_one(writer).await.expect("answers").get(0);
            sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"))).execute(writer).await.expect("limits");
            let refused = put("x".repeat(1 << 20), at_once).await;
            assert!(matches!(&refused, Err(error) if error.to_string().contains("full")), "{refused:?}");
            put(format!("small, {at_once}"), at_once).await.expect("writes again");
        }
    }
}
