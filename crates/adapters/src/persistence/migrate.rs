//! The schema migrations, embedded in the binary. The files of the two folders correspond one to one.

use super::Database;
use super::database::{Engine, storage};
use souk_domain::shared::StorageError;
use sqlx::migrate::Migrator;

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");

/// Brings the schema up to date. Several processes may run it at the same time: on SQLite the whole migration is one transaction that
/// takes the write lock first; on PostgreSQL the migrator takes its own lock.
pub async fn migrate(database: &Database) -> Result<(), StorageError> {
    migrate_to(database, known_schema()).await
}

/// As [`migrate`], up to a version of the schema, for a database that will hold what an earlier version of Souk has written.
pub async fn migrate_to(database: &Database, version: i64) -> Result<(), StorageError> {
    let failed = |error: sqlx::migrate::MigrateError| StorageError::Driver(Box::new(error));
    match &database.engine {
        Engine::Sqlite { writer, .. } => {
            let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await.map_err(storage)?;
            SQLITE.run_to(version, &mut *transaction).await.map_err(failed)?;
            transaction.commit().await.map_err(storage)
        }
        Engine::Postgres(pool) => {
            let mut connection = pool.acquire().await.map_err(storage)?;
            // Its session must not return to the pool without the time limits.
            connection.close_on_drop();
            sqlx::raw_sql("SET statement_timeout = 0; SET lock_timeout = 0").execute(&mut *connection).await.map_err(storage)?;
            POSTGRES.run_to(version, &mut *connection).await.map_err(failed)
        }
    }
}

/// The version of the newest migration that the database has; `None` if it has no schema yet.
pub async fn schema_version(database: &Database) -> Result<Option<i64>, StorageError> {
    let newest = "SELECT MAX(version) FROM _sqlx_migrations";
    match &database.engine {
        Engine::Sqlite { reader, .. } => {
            let table = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '_sqlx_migrations'";
            let exists = sqlx::query_scalar::<_, i64>(table).fetch_one(reader).await.map_err(storage)? > 0;
            if exists { sqlx::query_scalar(newest).fetch_one(reader).await.map_err(storage) } else { Ok(None) }
        }
        Engine::Postgres(pool) => {
            let table = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
            let exists = sqlx::query_scalar::<_, bool>(table).fetch_one(pool).await.map_err(storage)?;
            if exists { sqlx::query_scalar(newest).fetch_one(pool).await.map_err(storage) } else { Ok(None) }
        }
    }
}

/// The version of the newest migration that this binary knows. Both databases have the same.
#[must_use]
pub fn known_schema() -> i64 {
    SQLITE.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// A fingerprint of the migrations. It names the templates that test databases are copied from, so that each schema has its own.
#[cfg(feature = "testing")]
pub(crate) fn schema_mark() -> String {
    use sha2::{Digest, Sha256};
    let mut digest = Sha256::new();
    for migration in SQLITE.iter().chain(POSTGRES.iter()) {
        digest.update(&migration.checksum);
    }
    hex::encode(&digest.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginnings of the checksums of each version on SQLite and PostgreSQL.
    const CHECKSUMS: [(i64, &str, &str); 23] = [
        (0, "ddcd117b63b81bed", "1b8a2ace22512cf4"),
        (1, "5a53b11735fba3dc", "261f553a5d5a1831"),
        (2, "565947946adc86d9", "caa2be89f0e88adc"),
        (3, "eef1bfcf8b39c8ac", "d6bdca13bbdc4c01"),
        (4, "055dcca3fa4b5a2f", "c36c9bde20cfed5d"),
        (5, "40d35df23c845c3c", "32b99f4a304b0cbd"),
        (6, "325cc0ddd8c9e6c4", "b2ef13fb8ef072ed"),
        (7, "1fb0d35b2dcd4872", "20739939d6f689f5"),
        (8, "c076753157ea7733", "12352fe47e8ca043"),
        (9, "11479bbbe05baedd", "f0e825e0e061788b"),
        (10, "0eb5c13b9c703c27", "00b263658e772c80"),
        (11, "d805da753375f96d", "105f11ed23412878"),
        (12, "dd4f6c728b787fa1", "c1b024f631871821"),
        (13, "11fc490c0413f9fc", "06a6c2f2bf14f16f"),
        (14, "f9e6888bd98148fa", "09fcd6e42f3f3885"),
        (15, "e457a16c06ad2098", "87a574d7699674b1"),
        (16, "3b341ede63bb88b7", "03c2a28927320df2"),
        (17, "d6a47d3a29152b5d", "94482c603c73577a"),
        (18, "3b7fc085398ef8ea", "4571568794e62a2a"),
        (19, "b8904e8789db49c7", "d63d384861c83d54"),
        (20, "e6552bdb37a3aff7", "bb48f3b4355e9559"),
        (21, "c85c017ccab0ba4d", "f1bef7926bed470d"),
        (22, "d856f6afd34d8b51", "b5fc0829beab8b84"),
    ];

    #[test]
    fn no_migration_that_a_store_may_have_applied_is_edited() {
        let checksums = |migrator: &Migrator| -> Vec<_> {
            migrator.iter().map(|migration| (migration.version, hex::encode(&migration.checksum)[..16].to_owned())).collect()
        };
        let advice = "a store that has applied a migration refuses an edited one: change the schema by a new file, and add its line here";
        assert_eq!(checksums(&SQLITE), CHECKSUMS.map(|(version, sqlite, _)| (version, sqlite.to_owned())), "{advice}");
        assert_eq!(checksums(&POSTGRES), CHECKSUMS.map(|(version, _, postgres)| (version, postgres.to_owned())), "{advice}");
    }
}
