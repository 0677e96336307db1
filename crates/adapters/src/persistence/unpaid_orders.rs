//! Orders that were submitted and never paid, and everything that was written for them.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql};
use souk_domain::shared::{Amount, StorageError, Timestamp};

/// Sessions that a visitor started from a link and submitted, and that have expired.
macro_rules! submitted_and_expired {
    () => {
        "status = 'expired' AND link_id IS NOT NULL AND intent_id IS NOT NULL"
    };
}

/// No money moved or can still move, no stock is taken, and no document has a number. A declined attempt is no obstacle, unless its money is
/// in suspense.
macro_rules! without_money {
    () => {
        " AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.session_id = checkout_sessions.id AND a.status <> 'declined')
          AND NOT EXISTS (SELECT 1 FROM attempts a JOIN payment_intents h ON h.held_attempt_id = a.id
                          WHERE a.session_id = checkout_sessions.id AND h.held_attempt_id IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM payment_intents i WHERE i.session_id = checkout_sessions.id
                              AND (i.status = 'succeeded' OR i.reference <> ''))
          AND NOT EXISTS (SELECT 1 FROM invoices v WHERE v.customer_id = checkout_sessions.customer_id
                              AND v.session_id = checkout_sessions.id AND (v.status <> 'void' OR v.number IS NOT NULL))
          AND NOT EXISTS (SELECT 1 FROM stakes k WHERE k.id = checkout_sessions.stake_id AND k.status <> 'final')
          AND NOT EXISTS (SELECT 1 FROM stock_reservations r WHERE r.session_id = checkout_sessions.id AND r.state <> 'released')"
    };
}

pub(super) use {submitted_and_expired, without_money};

const OLD: &str = concat!(
    "SELECT id FROM checkout_sessions WHERE ",
    submitted_and_expired!(),
    " AND created_at < $1",
    without_money!(),
    " ORDER BY created_at, id LIMIT $2"
);

// The attempts are locked first (the order of the billing model): one that is settled meanwhile is seen by the next statement.
const LOCK_ATTEMPTS: Sql = sql_per_dialect!("SELECT id FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL ORDER BY id" (either "" " FOR UPDATE"));
const LOCK: Sql = Sql {
    sqlite: concat!(
        "SELECT id, customer_id, mandate_id, stake_id FROM checkout_sessions WHERE id IN (SELECT value FROM json_each($1)) AND ",
        submitted_and_expired!(),
        without_money!(),
        " ORDER BY id"
    ),
    postgres: concat!(
        "SELECT id, customer_id, mandate_id, stake_id FROM checkout_sessions WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($1))) AND ",
        submitted_and_expired!(),
        without_money!(),
        " ORDER BY id FOR UPDATE"
    ),
};
const INVOICES: Sql =
    sql_per_dialect!("SELECT id FROM invoices WHERE customer_id " (among "$2") " AND session_id " (among "$1") " ORDER BY id");

/// What is deleted for invoices (`$1`), and then for sessions (`$1`).
const DELETE_INVOICES: [Sql; 2] = [
    sql_per_dialect!("DELETE FROM invoice_items WHERE invoice_id " (among "$1")),
    sql_per_dialect!("DELETE FROM invoices WHERE id " (among "$1")),
];
const DELETE: [Sql; 5] = [
    sql_per_dialect!("DELETE FROM attempt_invoices WHERE attempt_id IN
        (SELECT id FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL)"),
    sql_per_dialect!("DELETE FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL"),
    sql_per_dialect!("DELETE FROM payment_intents WHERE session_id " (among "$1") " AND session_id IS NOT NULL"),
    sql_per_dialect!("DELETE FROM stock_reservations WHERE session_id " (among "$1")),
    sql_per_dialect!("DELETE FROM checkout_sessions WHERE id " (among "$1")),
];
/// A stake that nothing was ever paid into.
const DELETE_STAKES: Sql = sql_per_dialect!("DELETE FROM stakes WHERE id " (among "$1") " AND status = 'final' AND amount = $2");
/// An authorization that was never given.
const DELETE_MANDATES: Sql = sql_per_dialect!(
    "DELETE FROM mandates WHERE id " (among "$1") " AND status = 'pending' AND details IS NULL
         AND NOT EXISTS (SELECT 1 FROM mandate_subscriptions s WHERE s.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM mandate_invoices i WHERE i.mandate_id = mandates.id)
         AND NOT EXISTS (SELECT 1 FROM pending_plan_changes p WHERE p.mandate_id = mandates.id)"
);

/// Deletes orders that were started before `before`, oldest first. Returns their number.
pub(super) async fn prune(connection: &mut Connection, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let old = connection.query(OLD).bind(before).bind(limit).all().await?;
    delete(connection, &column(&old, "id")?).await
}

/// Deletes those of these orders to which no money refers, with everything that was written for them. Returns their number.
pub(super) async fn delete(connection: &mut Connection, sessions: &[String]) -> Result<u64, StorageError> {
    if sessions.is_empty() {
        return Ok(0);
    }
    connection.query_per_dialect(LOCK_ATTEMPTS).bind(keys(sessions)).all().await?;
    let locked = connection.query_per_dialect(LOCK).bind(keys(sessions)).all().await?;
    let (ids, customers) = (column(&locked, "id")?, column(&locked, "customer_id")?);
    if ids.is_empty() {
        return Ok(0);
    }
    let invoices = connection.query_per_dialect(INVOICES).bind(keys(&ids)).bind(keys(&customers)).all().await?;
    let invoices = column(&invoices, "id")?;
    for statement in DELETE_INVOICES {
        connection.query_per_dialect(statement).bind(keys(&invoices)).execute().await?;
    }
    for statement in DELETE {
        connection.query_per_dialect(statement).bind(keys(&ids)).execute().await?;
    }
    let stakes = column(&locked, "stake_id")?;
    connection.query_per_dialect(DELETE_STAKES).bind(keys(&stakes)).bind(Amount::ZERO).execute().await?;
    connection.query_per_dialect(DELETE_MANDATES).bind(keys(&column(&locked, "mandate_id")?)).execute().await?;
    Ok(ids.len() as u64)
}

/// The values of a column that may be absent.
fn column(rows: &[Row], name: &'static str) -> Result<Vec<String>, StorageError> {
    let values = rows.iter().map(|row| row.get::<Option<String>>(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(values.into_iter().flatten().collect())
}
