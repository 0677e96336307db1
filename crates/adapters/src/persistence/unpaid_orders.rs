//! Orders that were submitted and never paid, and everything that was written for them.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, mandates, stakes};
use souk_domain::shared::{Amount, StorageError, Timestamp};

/// An order that a visitor started from a link and submitted, that expired unpaid, and that has not changed since `$1`. No money moved or
/// can still move for it, no stock is taken, and no document has a number. A settled attempt counts as money unless it only set up a
/// mandate. A declined one does if an owner ended a hold on its money.
macro_rules! is_deletable {
    () => {
        "status = 'expired' AND link_id IS NOT NULL AND intent_id IS NOT NULL AND created_at < $1 AND updated_at < $1
          AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.session_id = checkout_sessions.id
                              AND a.status <> 'declined' AND NOT (a.status = 'settled' AND a.purpose = 'mandate'))
          AND NOT EXISTS (SELECT 1 FROM attempts a JOIN payment_intents h ON h.held_attempt_id = a.id
                          WHERE a.session_id = checkout_sessions.id AND h.held_attempt_id IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM payment_intents i WHERE i.session_id = checkout_sessions.id
                              AND (i.status = 'succeeded' OR i.reference <> ''))
          AND NOT EXISTS (SELECT 1 FROM invoices v WHERE v.session_id = checkout_sessions.id
                              AND (v.status <> 'void' OR v.number IS NOT NULL))
          AND NOT EXISTS (SELECT 1 FROM stakes k WHERE k.id = checkout_sessions.stake_id AND k.status <> 'final')
          AND NOT EXISTS (SELECT 1 FROM stock_reservations r WHERE r.session_id = checkout_sessions.id AND r.state <> 'released')"
    };
}

/// A search for deletable orders. Without statistics, SQLite would choose the index of the links, which has every session ever started.
macro_rules! deletable_orders {
    ($before:literal, $after:literal) => {
        Sql {
            sqlite: concat!($before, " FROM checkout_sessions INDEXED BY checkout_sessions_unpaid WHERE ", is_deletable!(), $after),
            postgres: concat!($before, " FROM checkout_sessions WHERE ", is_deletable!(), $after),
        }
    };
}

pub(super) const OLD: Sql = deletable_orders!("SELECT id", " ORDER BY created_at, id LIMIT $2");
pub(super) const COUNT: Sql = deletable_orders!("SELECT count(*) AS n FROM (SELECT 1 AS found", " LIMIT $2) AS counted");
/// Ranks by site and network, as visitors' other rows (`stored_by_visitors.rs`). Ranks the oldest `$3` only, so that it takes bounded time.
pub(super) const FIRST: Sql = deletable_orders!(
    "SELECT id FROM (SELECT id, created_at,
             row_number() OVER (PARTITION BY substr(visitor, 1, 22) ORDER BY network_rank, created_at DESC, id DESC) AS site_rank
         FROM (SELECT id, created_at, visitor, row_number() OVER (PARTITION BY visitor ORDER BY created_at DESC, id DESC) AS network_rank
             FROM (SELECT id, created_at, visitor",
    " ORDER BY created_at, id LIMIT $3) AS oldest) AS by_network) AS by_site ORDER BY site_rank DESC, created_at, id LIMIT $2"
);

// Attempts are locked before sessions (the order of the billing model). While a session is locked, no intent can be inserted for it. The
// conditions are checked by a later statement, because one that waits for a lock does not see what was written to other tables meanwhile.
pub(super) const LOCK_ATTEMPTS: Sql = sql_per_dialect!(
    "SELECT id FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL ORDER BY id" (either "" " FOR UPDATE")
);
pub(super) const LOCK_SESSIONS: Sql =
    sql_per_dialect!("SELECT id FROM checkout_sessions WHERE id " (among "$1") " ORDER BY id" (either "" " FOR UPDATE"));
pub(super) const DELETABLE: Sql = Sql {
    sqlite: concat!(
        "SELECT id, mandate_id, stake_id FROM checkout_sessions WHERE id IN (SELECT value FROM json_each($2)) AND ",
        is_deletable!()
    ),
    // The sessions are read by their ids first. Otherwise the planner may read every unpaid order before `$1`.
    postgres: concat!(
        "WITH checkout_sessions AS MATERIALIZED
             (SELECT id, status, link_id, intent_id, mandate_id, stake_id, created_at, updated_at FROM checkout_sessions
              WHERE id = ANY (ARRAY(SELECT jsonb_array_elements_text($2))))
         SELECT id, mandate_id, stake_id FROM checkout_sessions WHERE ",
        is_deletable!()
    ),
};
/// The mandates and stakes that attempts were made for. An order names only the last of each.
pub(super) const SUBJECTS: Sql = sql_per_dialect!(
    "SELECT subject FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL AND purpose IN ('mandate', 'stake')"
);
pub(super) const INVOICES: Sql =
    sql_per_dialect!("SELECT id FROM invoices WHERE session_id " (among "$1") " AND session_id IS NOT NULL ORDER BY id");

/// The deletions for sessions (`$1`).
pub(super) const DELETE: [Sql; 5] = [
    sql_per_dialect!("DELETE FROM attempt_invoices WHERE attempt_id IN
        (SELECT id FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL)"),
    sql_per_dialect!("DELETE FROM attempts WHERE session_id " (among "$1") " AND session_id IS NOT NULL"),
    sql_per_dialect!("DELETE FROM payment_intents WHERE session_id " (among "$1") " AND session_id IS NOT NULL"),
    sql_per_dialect!("DELETE FROM stock_reservations WHERE session_id " (among "$1")),
    sql_per_dialect!("DELETE FROM checkout_sessions WHERE id " (among "$1")),
];
/// The deletions for invoices (`$1`).
pub(super) const DELETE_INVOICES: [Sql; 2] = [
    sql_per_dialect!("DELETE FROM invoice_items WHERE invoice_id " (among "$1")),
    sql_per_dialect!("DELETE FROM invoices WHERE id " (among "$1")),
];

/// Deletes orders that have not changed since `before`, oldest first. Returns their number.
pub(super) async fn prune(connection: &mut Connection, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let old = connection.query_per_dialect(OLD).bind(before).bind(limit).all().await?;
    delete(connection, &column(&old, "id")?, before).await
}

/// Deletes those of these orders that may be deleted, with everything that was written for them. Returns their number.
pub(super) async fn delete(connection: &mut Connection, sessions: &[String], before: Timestamp) -> Result<u64, StorageError> {
    if sessions.is_empty() {
        return Ok(0);
    }
    for statement in [LOCK_ATTEMPTS, LOCK_SESSIONS] {
        connection.query_per_dialect(statement).bind(keys(sessions)).all().await?;
    }
    let deletable = connection.query_per_dialect(DELETABLE).bind(before).bind(keys(sessions)).all().await?;
    let ids = column(&deletable, "id")?;
    if ids.is_empty() {
        return Ok(0);
    }
    let subjects = column(&connection.query_per_dialect(SUBJECTS).bind(keys(&ids)).all().await?, "subject")?;
    let invoices = column(&connection.query_per_dialect(INVOICES).bind(keys(&ids)).all().await?, "id")?;
    for statement in DELETE {
        connection.query_per_dialect(statement).bind(keys(&ids)).execute().await?;
    }
    let named_stakes = column(&deletable, "stake_id")?.into_iter().chain(subjects.iter().cloned()).collect::<Vec<_>>();
    connection.query_per_dialect(stakes::DELETE_UNUSED).bind(keys(&named_stakes)).bind(Amount::ZERO).execute().await?;
    let named_mandates = column(&deletable, "mandate_id")?.into_iter().chain(subjects).collect::<Vec<_>>();
    connection.query_per_dialect(mandates::DELETE_UNUSED).bind(keys(&named_mandates)).execute().await?;
    for statement in DELETE_INVOICES {
        connection.query_per_dialect(statement).bind(keys(&invoices)).execute().await?;
    }
    Ok(ids.len() as u64)
}

/// The values of a column that may be absent.
fn column(rows: &[Row], name: &'static str) -> Result<Vec<String>, StorageError> {
    let values = rows.iter().map(|row| row.get::<Option<String>>(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(values.into_iter().flatten().collect())
}
