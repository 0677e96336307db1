//! Users who have nothing in the store.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Sql, mandates, stakes};
use souk_domain::mail::MailAddress;
use souk_domain::privacy::{ErasedProviderCustomer, ExaminedUsers};
use souk_domain::shared::{Amount, StorageError, Timestamp};

/// A user whose row is locked is in use, and is examined by the next run.
pub(super) const DUE: Sql = sql_per_dialect!(
    "SELECT did FROM users WHERE examined_at < $1 ORDER BY examined_at, did LIMIT $2" (either "" " FOR UPDATE SKIP LOCKED")
);

/// A statement about those of the users `$1` who have not changed since `$2`, are not blocked, and have no passport, login, signed-in
/// computer, access token, trusted publisher, entitlement, app or share of a sale. An agreement to the developer terms keeps nobody: any
/// visitor can give it.
macro_rules! unattached {
    ($before:literal $($after:tt)*) => {
        sql_per_dialect!(
            $before " FROM users WHERE did " (among "$1") " AND updated_at < $2 AND blocked_at IS NULL
                 AND NOT EXISTS (SELECT 1 FROM passports o WHERE o.holder = users.did)
                 AND NOT EXISTS (SELECT 1 FROM browser_sessions o WHERE o.user_did = users.did)
                 AND NOT EXISTS (SELECT 1 FROM devices o WHERE o.user_did = users.did)
                 AND NOT EXISTS (SELECT 1 FROM access_tokens o WHERE o.user_did = users.did)
                 AND NOT EXISTS (SELECT 1 FROM trusted_publishers o WHERE o.owner = users.did)
                 AND NOT EXISTS (SELECT 1 FROM entitlements o WHERE o.holder = users.did)
                 AND NOT EXISTS (SELECT 1 FROM uploaded_apps o WHERE o.owner = users.did)
                 AND NOT EXISTS (SELECT 1 FROM sale_shares o WHERE o.beneficiary = users.did)
                 AND did NOT IN (SELECT developer_did FROM apps)" $($after)*
        )
    };
}
pub(super) const UNATTACHED: Sql = unattached!("SELECT did");
/// Rows that refer to a locked customer cannot be inserted, so that a customer found to be empty stays so. A customer whose row is locked
/// is in use, and keeps its user until the next examination.
pub(super) const LOCK_CUSTOMERS: Sql =
    sql_per_dialect!("SELECT id FROM customers WHERE did " (among "$1") " ORDER BY id" (either "" " FOR UPDATE SKIP LOCKED"));
/// The authorizations and stakes that were never used, of customers without an order: an order names them.
pub(super) const INACTIVE_MANDATES: Sql = sql_per_dialect!(
    "SELECT id FROM mandates WHERE customer_id " (among "$1") " AND status <> 'active'
         AND NOT EXISTS (SELECT 1 FROM checkout_sessions o WHERE o.customer_id = mandates.customer_id)"
);
pub(super) const FINAL_STAKES: Sql = sql_per_dialect!(
    "SELECT id FROM stakes WHERE customer_id " (among "$1") " AND status = 'final'
         AND NOT EXISTS (SELECT 1 FROM checkout_sessions o WHERE o.customer_id = stakes.customer_id)"
);
/// The users of whom every customer is locked (`$3`) and empty. Every table that names a customer is listed, except the ids at card
/// processors.
pub(super) const DELETABLE: Sql = unattached!(
    "SELECT did" " AND NOT EXISTS
         (SELECT 1 FROM customers c WHERE c.did = users.did AND (c.updated_at >= $2 OR NOT (c.id " (among "$3") ")
              OR EXISTS (SELECT 1 FROM checkout_sessions o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM payment_intents o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM invoices o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM mandates o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM test_clocks o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM subscriptions o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM charge_counts o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM stakes o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM trials o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM credit_notes o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM customer_balances o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM balance_transactions o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM refunds o WHERE o.customer_id = c.id)
              OR EXISTS (SELECT 1 FROM disputes o WHERE o.customer_id = c.id)))"
);
pub(super) const DELETE_PROVIDER_CUSTOMERS: Sql = sql_per_dialect!(
    "DELETE FROM provider_customers WHERE customer_id IN (SELECT id FROM customers WHERE did " (among "$1") " AND id " (among "$2") ")
     RETURNING method_id, provider_id, erased"
);
pub(super) const ADDRESSES: Sql = sql_per_dialect!(
    "SELECT email FROM users WHERE did " (among "$1") " UNION SELECT email FROM customers WHERE did " (among "$1")
);
/// Another user of an address confirms it again.
pub(super) const FORGET_ADDRESSES: Sql = sql_per_dialect!("DELETE FROM mail_addresses WHERE address " (among "$1"));
pub(super) const DELETE_CUSTOMERS: Sql = sql_per_dialect!("DELETE FROM customers WHERE did " (among "$1") " AND id " (among "$2"));
/// Repeats the conditions: not every table that names a user is guarded by the lock on the user's row.
pub(super) const DELETE_USERS: Sql = unattached!("DELETE" " AND NOT EXISTS (SELECT 1 FROM customers o WHERE o.did = users.did)");
/// Of the users whom [`DELETE_USERS`] deletes.
pub(super) const DELETE_AGREEMENTS: Sql = unattached!(
    "DELETE FROM developer_agreements WHERE user_did IN (SELECT did"
        " AND NOT EXISTS (SELECT 1 FROM customers o WHERE o.did = users.did))"
);
const EXAMINED: Sql = sql_per_dialect!("UPDATE users SET examined_at = $2 WHERE did " (among "$1"));

/// Examines users who were last examined before `before`, at most `limit`, and deletes those who have nothing.
pub(super) async fn delete(
    connection: &mut Connection,
    before: Timestamp,
    now: Timestamp,
    limit: u32,
) -> Result<ExaminedUsers, StorageError> {
    let due = texts(connection.query_per_dialect(DUE).bind(before).bind(limit).all().await?, "did")?;
    let mut examined = ExaminedUsers { users: due.len() as u64, at_providers: Vec::new() };
    if due.is_empty() {
        return Ok(examined);
    }
    let unattached = texts(connection.query_per_dialect(UNATTACHED).bind(keys(&due)).bind(before).all().await?, "did")?;
    if !unattached.is_empty() {
        examined.at_providers = delete_unattached(connection, &unattached, before).await?;
    }
    connection.query_per_dialect(EXAMINED).bind(keys(&due)).bind(now).execute().await?;
    Ok(examined)
}

/// Deletes those of these users who have nothing, with their customers. Returns the customers that card processors still have.
async fn delete_unattached(
    connection: &mut Connection,
    users: &[String],
    before: Timestamp,
) -> Result<Vec<ErasedProviderCustomer>, StorageError> {
    let customers = keys(&texts(connection.query_per_dialect(LOCK_CUSTOMERS).bind(keys(users)).all().await?, "id")?);
    let inactive = texts(connection.query_per_dialect(INACTIVE_MANDATES).bind(customers.clone()).all().await?, "id")?;
    connection.query_per_dialect(mandates::DELETE_UNUSED).bind(keys(&inactive)).execute().await?;
    let ended = texts(connection.query_per_dialect(FINAL_STAKES).bind(customers.clone()).all().await?, "id")?;
    connection.query_per_dialect(stakes::DELETE_UNUSED).bind(keys(&ended)).bind(Amount::ZERO).execute().await?;
    let deletable = connection.query_per_dialect(DELETABLE).bind(keys(users)).bind(before).bind(customers.clone()).all().await?;
    let deletable = keys(&texts(deletable, "did")?);
    let emails = texts(connection.query_per_dialect(ADDRESSES).bind(deletable.clone()).all().await?, "email")?;
    let addresses: Vec<_> = emails.iter().filter_map(|email| MailAddress::of(email)).map(|address| address.as_str().to_owned()).collect();
    connection.query_per_dialect(FORGET_ADDRESSES).bind(keys(&addresses)).execute().await?;
    let query = connection.query_per_dialect(DELETE_PROVIDER_CUSTOMERS).bind(deletable.clone()).bind(customers.clone());
    let mut at_providers = Vec::new();
    for row in query.all().await? {
        // The deletion of an erased one is ordered already.
        if !row.get::<bool>("erased")? {
            at_providers.push(ErasedProviderCustomer { method_id: row.get("method_id")?, provider_id: row.get("provider_id")? });
        }
    }
    connection.query_per_dialect(DELETE_CUSTOMERS).bind(deletable.clone()).bind(customers).execute().await?;
    for delete in [DELETE_AGREEMENTS, DELETE_USERS] {
        connection.query_per_dialect(delete).bind(deletable.clone()).bind(before).execute().await?;
    }
    Ok(at_providers)
}

fn texts(rows: Vec<super::Row>, name: &'static str) -> Result<Vec<String>, StorageError> {
    rows.iter().map(|row| row.get(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_both;
    use crate::testing::TestDatabase;

    /// The tables whose column `named` refers to `target`, by its name or by a foreign key.
    async fn tables_naming(db: &TestDatabase, named: &'static str, target: &'static str) -> Vec<String> {
        let select = Sql {
            sqlite:
                "SELECT DISTINCT t.name AS name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND (c.name = $1
                         OR c.name IN (SELECT k.\"from\" FROM pragma_foreign_key_list(t.name) k WHERE k.\"table\" = $2))",
            postgres: "SELECT DISTINCT t.relname::text AS name FROM pg_class t
                           JOIN pg_attribute c ON c.attrelid = t.oid AND NOT c.attisdropped
                       WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace AND (c.attname = $1 OR EXISTS
                           (SELECT 1 FROM pg_constraint k WHERE k.contype = 'f' AND k.confrelid = to_regclass($2)
                                AND k.conrelid = t.oid AND c.attnum = ANY (k.conkey)))",
        };
        let rows = db.read().await.expect("reads").query_per_dialect(select).bind(named).bind(target).all().await.expect("lists");
        let mut names = texts(rows, "name").expect("names");
        names.sort();
        names
    }

    on_both! {
        async fn every_table_that_names_a_customer_keeps_its_user(db: &TestDatabase) {
            let mut named = tables_naming(db, "customer_id", "customers").await;
            named.retain(|table| table != "provider_customers");
            let text = DELETABLE.sqlite;
            let listed = |table: &String| text.contains(&format!(" FROM {table} o WHERE o.customer_id = c.id)"));
            assert_eq!(named.iter().filter(|table| !listed(table)).collect::<Vec<_>>(), Vec::<&String>::new());
            assert_eq!(text.matches("o.customer_id = c.id").count(), named.len(), "{named:?}");
        }

        async fn every_table_that_refers_to_users_keeps_them(db: &TestDatabase) {
            let mut named = tables_naming(db, "user_did", "users").await;
            named.retain(|table| table != "developer_agreements");
            let text = UNATTACHED.sqlite;
            assert!(named.contains(&"browser_sessions".to_owned()), "{named:?}");
            let unlisted: Vec<_> = named.iter().filter(|table| !text.contains(&format!(" FROM {table} o "))).collect();
            assert_eq!(unlisted, Vec::<&String>::new());
        }
    }
}
