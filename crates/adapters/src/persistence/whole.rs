//! A transaction by one call: what SQLite's thread and PostgreSQL's process do by themselves keeps nobody else waiting for us.

use super::database::{Engine, storage};
use super::session::{Waiting, count_of, in_order, parts, postgres_arguments, sqlite_arguments};
use futures_util::TryStreamExt;
use souk_domain::shared::StorageError;
use sqlx::Executor;
use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqlitePool};
use std::collections::BTreeSet;

/// Fails: there is no such integer.
const NO_INTEGER: &str = "abs(-9223372036854775807 - 1)";
/// Whether the connection's commits wait for the disk: those of [`super::Database::begin_relaxed`] do not. The setting cannot be made
/// here, for it is made when a statement is prepared, and these are kept.
const IS_DURABLE: &str = "(SELECT synchronous FROM pragma_synchronous) = 2";
/// PostgreSQL's code for a division by zero.
const DIVISION_BY_ZERO: &str = "22012";

/// Runs statements and commits; [`StorageError::Conflict`] where one changes another number of rows than it must. It goes on when
/// nobody waits for it any more: a connection that was left in the middle of it would spoil what is run on it next.
pub(super) async fn run(engine: Engine, statements: Vec<Waiting>) -> Result<(), StorageError> {
    if statements.is_empty() {
        return Ok(());
    }
    let ran = tokio::spawn(async move {
        match engine {
            Engine::Sqlite { writer, .. } => on_sqlite(&writer, statements).await,
            Engine::Postgres(pool) => on_postgres(&pool, statements).await,
        }
    });
    ran.await.map_err(|_| storage(sqlx::Error::WorkerCrashed))?
}

async fn on_sqlite(writer: &SqlitePool, statements: Vec<Waiting>) -> Result<(), StorageError> {
    let unless = |condition: &str| format!("SELECT CASE WHEN {condition} THEN 0 ELSE {NO_INTEGER} END");
    let (mut texts, mut values) = (vec![unless(IS_DURABLE), "BEGIN IMMEDIATE".to_owned()], Vec::new());
    let mut checks = BTreeSet::new();
    for statement in statements {
        texts.push(in_order(&statement.sql, statement.values, &mut values)?);
        if let Some(rows) = statement.rows {
            checks.insert(texts.len());
            texts.push(unless(&format!("changes() = {rows}")));
        }
    }
    texts.push("COMMIT".to_owned());
    let text = texts.join("; ");
    let mut connection = writer.acquire().await.map_err(storage)?;
    let mut outcome = run_each(&mut connection, &text, sqlite_arguments(values.clone())?).await;
    if matches!(outcome, Err((0, _))) {
        connection.execute("PRAGMA synchronous = FULL").await.map_err(storage)?;
        outcome = run_each(&mut connection, &text, sqlite_arguments(values)?).await;
    }
    let Err((done, error)) = outcome else { return Ok(()) };
    if done > 1 && connection.execute("ROLLBACK").await.is_err() {
        // SQLite may have rolled back by itself; a new connection is in no transaction for certain.
        let _ = connection.close().await;
    }
    Err(if checks.contains(&done) { StorageError::Conflict } else { storage(error) })
}

/// Runs the statements of a text; how many were done where one fails.
async fn run_each(connection: &mut SqliteConnection, text: &str, values: SqliteArguments) -> Result<(), (usize, sqlx::Error)> {
    let mut done = 0;
    let mut steps = connection.fetch_many(sqlx::query_with(sqlx::AssertSqlSafe(text.to_owned()), values));
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
}
