//! The schema, embedded in the binary: the files of both folders are reviewed as pairs.

use super::Database;
use super::database::Engine;
use souk_domain::shared::StorageError;
use sqlx::migrate::Migrator;

static SQLITE: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("../../migrations/postgres");

/// Brings the schema up to date. Safe to run from several processes at once.
pub async fn migrate(database: &Database) -> Result<(), StorageError> {
    match &database.engine {
        Engine::Sqlite { writer, .. } => SQLITE.run(writer).await,
        Engine::Postgres(pool) => POSTGRES.run(pool).await,
    }
    .map_err(|error| StorageError::Driver(Box::new(error)))
}

/// Differs between any two PostgreSQL schemas: names the template that test databases are copied from.
#[cfg(feature = "testing")]
pub(crate) fn schema_mark() -> String {
    use sha2::{Digest, Sha256};
    let mut digest = Sha256::new();
    for migration in POSTGRES.iter() {
        digest.update(&migration.checksum);
    }
    hex::encode(&digest.finalize()[..8])
}
