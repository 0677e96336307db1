//! Databases that are made for one run and dropped after it, on a PostgreSQL server.

use super::database::storage;
use souk_domain::shared::StorageError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;

/// Makes an empty database with this name beside the one at `server`. A name is letters, digits and `_`.
pub async fn create(server: &str, name: &str) -> Result<(), StorageError> {
    order(server, format!("CREATE DATABASE {}", checked(name)?)).await
}

/// Drops it, with everybody who is still connected to it.
pub async fn remove(server: &str, name: &str) -> Result<(), StorageError> {
    order(server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", checked(name)?)).await
}

fn checked(name: &str) -> Result<&str, StorageError> {
    let sound = !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_');
    sound.then_some(name).ok_or_else(|| StorageError::Driver("a database's name is lower-case letters, digits and _".into()))
}

async fn order(server: &str, statement: String) -> Result<(), StorageError> {
    let mut connection = PgConnectOptions::from_str(server).map_err(storage)?.connect().await.map_err(storage)?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.map_err(storage)?;
    connection.close().await.map_err(storage)
}
