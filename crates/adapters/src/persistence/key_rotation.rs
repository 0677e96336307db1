//! The key of a store: whether its database was encrypted with it, and its replacement by another one.

use super::audit_log::record;
use super::secret_box::{SecretBox, place};
use super::{Connection, Database, Row, Values, tables};
use souk_domain::access::AuditEntry;
use souk_domain::shared::StorageError;

/// Secrets that are read and encrypted again at a time.
const BATCH: u32 = 256;
const TABLE: &str = "store_secrets";
const VALUE: &str = "value";
/// Encrypted with the store's key, to recognize it.
const CHECK: &str = "check";
const CHECK_TEXT: &str = "the key of this store";
/// The key of the store's account and DID, once it no longer follows from the store's key.
const IDENTITY: &str = "identity";

/// A column with encrypted values.
struct SecretColumn {
    table: &'static str,
    column: &'static str,
    /// Selects the next rows with a value: their `id`, which is also the place of the secret, and the value as `sealed`.
    page: &'static str,
    set: &'static str,
    filter: &'static str,
}

macro_rules! secret_column {
    ($table:literal, $column:literal, $id:literal) => {
        SecretColumn {
            table: $table,
            column: $column,
            page: concat!(
                "SELECT ",
                $id,
                " AS id, ",
                $column,
                " AS sealed FROM ",
                $table,
                " WHERE ",
                $column,
                " IS NOT NULL AND ",
                $id,
                " > $1 ORDER BY ",
                $id,
                " LIMIT $2"
            ),
            set: concat!("UPDATE ", $table, " SET ", $column, " = new.column2"),
            filter: concat!($id, " = new.column1"),
        }
    };
}

/// Every column with encrypted values.
const SECRET_COLUMNS: [SecretColumn; 5] = [
    secret_column!("payment_methods", "secret_key", "payment_methods.id"),
    secret_column!("payment_methods", "webhook_signing_secret", "payment_methods.id"),
    secret_column!("attempts", "client_secret", "attempts.id"),
    secret_column!("idempotency_keys", "body", "idempotency_keys.caller || ':' || idempotency_keys.key"),
    secret_column!("store_secrets", "value", "store_secrets.name"),
];

/// The columns that [`rotate_key`] encrypts again, as `table.column`. A test compares them with the schema.
pub fn secret_columns() -> impl Iterator<Item = String> {
    SECRET_COLUMNS.iter().map(|column| format!("{}.{}", column.table, column.column))
}

/// Whether a key is the one of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFit {
    /// No key has been used yet.
    Unused,
    Fits,
    Differs,
}

/// Whether the database was encrypted with this key.
pub async fn key_fit(database: &Database, secrets: &SecretBox) -> Result<KeyFit, StorageError> {
    let mut connection = database.read().await?;
    // A schema that is not migrated yet may lack the table.
    if !has_table(&mut connection).await? {
        return Ok(KeyFit::Unused);
    }
    let Some(sealed) = find(&mut connection, CHECK).await? else { return Ok(KeyFit::Unused) };
    let fits = secrets.open(&place(TABLE, VALUE, CHECK), &sealed).as_deref() == Some(CHECK_TEXT);
    Ok(if fits { KeyFit::Fits } else { KeyFit::Differs })
}

async fn has_table(connection: &mut Connection) -> Result<bool, StorageError> {
    Ok(tables(connection).await?.iter().any(|table| table.name == TABLE))
}

async fn find(connection: &mut Connection, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let row = connection.query("SELECT value FROM store_secrets WHERE name = $1").bind(name).optional().await?;
    row.map(|row| row.get(VALUE)).transpose()
}

/// Records the key of a database that has none. Of several processes, the first decides.
pub async fn claim_key(database: &Database, secrets: &SecretBox) -> Result<(), StorageError> {
    let mut connection = database.begin().await?;
    insert(&mut connection, secrets, CHECK, CHECK_TEXT).await?;
    connection.commit().await
}

async fn insert(connection: &mut Connection, secrets: &SecretBox, name: &str, text: &str) -> Result<(), StorageError> {
    let sealed = secrets.encrypt(&place(TABLE, VALUE, name), text)?;
    let insert = "INSERT INTO store_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    connection.query(insert).bind(name).bind(sealed).execute().await.map(drop)
}

/// The key of the store's identity, if it was kept at a rotation; `None`: it follows from the store's key.
pub async fn stored_identity(database: &Database, secrets: &SecretBox) -> Result<Option<String>, StorageError> {
    let mut connection = database.read().await?;
    if !has_table(&mut connection).await? {
        return Ok(None);
    }
    let Some(sealed) = find(&mut connection, IDENTITY).await? else { return Ok(None) };
    secrets.open_column(TABLE, VALUE, IDENTITY, &sealed).map(Some)
}

/// Encrypts every secret with another key, in one transaction with the entry of the audit log, and keeps the identity. Returns the number of secrets. No process may have
/// the database open with the old key.
pub async fn rotate_key(
    database: &Database,
    from: &SecretBox,
    to: &SecretBox,
    identity: &str,
    entry: &AuditEntry,
) -> Result<u64, StorageError> {
    let mut connection = database.begin_unlimited().await?;
    insert(&mut connection, from, IDENTITY, identity).await?;
    let mut count = 0;
    for column in &SECRET_COLUMNS {
        count += encrypt_again(&mut connection, column, from, to).await?;
    }
    record(&mut connection, entry).await?;
    connection.commit().await?;
    Ok(count)
}

async fn encrypt_again(connection: &mut Connection, column: &SecretColumn, from: &SecretBox, to: &SecretBox) -> Result<u64, StorageError> {
    let (mut after, mut count) = (String::new(), 0);
    loop {
        let rows = connection.query(column.page).bind(after.as_str()).bind(BATCH).all().await?;
        let Some(last) = rows.last() else { return Ok(count) };
        after = last.get("id")?;
        let again = |row: &Row| -> Result<Values, StorageError> {
            let (id, sealed): (String, Vec<u8>) = (row.get("id")?, row.get("sealed")?);
            let text = from.open_column(column.table, column.column, &id, &sealed)?;
            Ok(Values::default().bind(&id).bind(to.encrypt(&place(column.table, column.column, &id), &text)?))
        };
        let values = rows.iter().map(again).collect::<Result<Vec<_>, _>>()?;
        let expected = values.len() as u64;
        if connection.update(column.set, values, column.filter).await? != expected {
            return Err(StorageError::Conflict);
        }
        count += expected;
    }
}
