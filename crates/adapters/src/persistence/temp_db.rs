//! Temporary databases on a PostgreSQL server: created for one run and dropped after it.

use super::database::storage;
use souk_domain::shared::StorageError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use std::str::FromStr;

/// Creates an empty database on the server of the address `server`. The name may have lower-case letters, digits and `_` only.
pub async fn create(server: &str, name: &str) -> Result<(), StorageError> {
    run(server, format!("CREATE DATABASE {}", checked(name)?)).await
}

/// Drops a database if it exists, and disconnects its remaining clients.
pub async fn remove(server: &str, name: &str) -> Result<(), StorageError> {
    run(server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", checked(name)?)).await
}

fn checked(name: &str) -> Result<&str, StorageError> {
    let is_valid = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_valid.then_some(name).ok_or_else(|| StorageError::Driver("a database's name is lower-case letters, digits and _".into()))
}

async fn run(server: &str, statement: String) -> Result<(), StorageError> {
    let mut connection = PgConnectOptions::from_str(server).map_err(storage)?.connect().await.map_err(storage)?;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.map_err(storage)?;
    connection.close().await.map_err(storage)
}
