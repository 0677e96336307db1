//! Reads several attempts, or facts about several, at once.

use super::attempts::{SqlAttempts, attempt};
use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql};
use souk_domain::access::Did;
use souk_domain::payment::{Attempt, PlannedPayment, TransactionKey};
use souk_domain::shared::{AttemptId, InvoiceId, MethodId, StorageError};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(super) const OF_CONNECT_SESSION: &str =
    "SELECT * FROM attempts WHERE connect_token = $1 AND connect_token IS NOT NULL ORDER BY created_at, id";
pub(super) const FIND_OPEN: Sql =
    sql_per_dialect!("SELECT * FROM attempts WHERE id " (among "$1") " AND status IN ('open', 'unknown') ORDER BY id");
pub(super) const LOCK_OPEN: Sql = sql_per_dialect!(
    "SELECT * FROM attempts WHERE id " (among "$1") " AND status IN ('open', 'unknown') ORDER BY id" (either "" " FOR UPDATE")
);
pub(super) const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM attempts WHERE id " (among "$1") " ORDER BY id");
const PLANNED_BY: Sql = sql_per_dialect!(
    "SELECT attempt_id, invoice_id, amount FROM attempt_invoices WHERE attempt_id " (among "$1") " ORDER BY invoice_id"
);
const METHODS_OF: Sql = sql_per_dialect!("SELECT id, method_id FROM attempts WHERE id " (among "$1") " ORDER BY id");
/// Repeats the condition of the partial index on the hash.
pub(super) const WALLETS_OF: Sql = sql_per_dialect!(
    "SELECT method_id, hash, payer FROM attempts WHERE method_id " (among "$1") " AND hash " (among "$2")
    " AND hash IS NOT NULL AND payer IS NOT NULL"
);
// SQLite uses a partial index only if the statement repeats the index's condition verbatim.
pub(super) const IN_FLIGHT: Sql = sql_per_dialect!(
    "SELECT invoice_id FROM attempt_invoices WHERE " (either "open = 1" "open") " AND invoice_id " (among "$1")
);

/// The attempts that a statement finds among these ids.
pub(super) async fn among(attempts: &mut SqlAttempts<'_>, select: Sql, ids: &[AttemptId]) -> Result<Vec<Attempt>, StorageError> {
    let rows = attempts.connection.query_per_dialect(select).bind(keys(ids)).all().await?;
    rows.iter().map(|row| attempt(row, attempts.secrets)).collect()
}

pub(super) async fn of_connect_session(attempts: &mut SqlAttempts<'_>, token: &str) -> Result<Vec<Attempt>, StorageError> {
    let rows = attempts.connection.query(OF_CONNECT_SESSION).bind(token).all().await?;
    rows.iter().map(|row| attempt(row, attempts.secrets)).collect()
}

pub(super) async fn methods_of(connection: &mut Connection, ids: &[AttemptId]) -> Result<Vec<(AttemptId, MethodId)>, StorageError> {
    let rows = connection.query_per_dialect(METHODS_OF).bind(keys(ids)).all().await?;
    rows.iter().map(|row| Ok((row.get("id")?, row.get("method_id")?))).collect()
}

pub(super) async fn wallets_of(
    connection: &mut Connection,
    transactions: &[TransactionKey],
) -> Result<BTreeMap<TransactionKey, Did>, StorageError> {
    if transactions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let methods: BTreeSet<_> = transactions.iter().map(|transaction| transaction.method_id.as_str()).collect();
    let hashes: Vec<_> = transactions.iter().map(|transaction| transaction.hash.as_str()).collect();
    let methods: Vec<_> = methods.into_iter().collect();
    let rows = connection.query_per_dialect(WALLETS_OF).bind(keys(&methods)).bind(keys(&hashes)).all().await?;
    let key = |row: &Row| Ok(TransactionKey { method_id: row.get("method_id")?, hash: row.get("hash")? });
    rows.iter().map(|row| Ok((key(row)?, row.get("payer")?))).collect()
}

pub(super) async fn planned_by(
    connection: &mut Connection,
    ids: &[AttemptId],
) -> Result<HashMap<AttemptId, Vec<PlannedPayment>>, StorageError> {
    let mut planned: HashMap<_, Vec<_>> = HashMap::new();
    for row in connection.query_per_dialect(PLANNED_BY).bind(keys(ids)).all().await? {
        let one = PlannedPayment { invoice_id: row.get("invoice_id")?, amount: row.get("amount")? };
        planned.entry(row.get("attempt_id")?).or_default().push(one);
    }
    Ok(planned)
}

pub(super) async fn in_flight(connection: &mut Connection, invoices: &[InvoiceId]) -> Result<Vec<InvoiceId>, StorageError> {
    let rows = connection.query_per_dialect(IN_FLIGHT).bind(keys(invoices)).all().await?;
    rows.iter().map(|row| row.get("invoice_id")).collect()
}
