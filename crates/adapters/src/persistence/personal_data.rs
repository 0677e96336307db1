//! Personal data of a user: what stands in the way of its erasure, the erasure, and the export.

use super::listing::sql_per_dialect;
use super::payees::SqlPayees;
use super::personal_data_tables::{EXPORTED, Exported, of_payer};
use super::{Connection, Database, Kind, Row, Sql, unused_users};
use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde_json::{Map, Value};
use souk_domain::access::Did;
use souk_domain::billing::Payees;
use souk_domain::mail::MailAddress;
use souk_domain::payment::SavedCard;
use souk_domain::privacy::{ErasedProviderCustomer, ExaminedUsers, ExportPieces, Obstacle, PersonalData, PersonalDataExports};
use souk_domain::shared::{Amount, Mode, StorageError, Timestamp};

/// The customers of a user in a statement whose `$1` is the DID.
macro_rules! of_user {
    ($before:literal) => {
        concat!($before, " (SELECT id FROM customers WHERE did = $1)")
    };
}

/// A statement that finds a row if the obstacle exists. The first that does is shown first. Earnings are found by sums instead, and last.
pub(super) const OBSTACLES: [(Obstacle, &str); 8] = [
    (Obstacle::Role, "SELECT id FROM passports WHERE holder = $1 AND revoked_at IS NULL LIMIT 1"),
    (
        Obstacle::ActiveSubscription,
        "SELECT id FROM subscriptions WHERE ended_at IS NULL AND customer_id IN (SELECT id FROM customers WHERE did = $1) LIMIT 1",
    ),
    (
        Obstacle::UnpaidInvoice,
        "SELECT id FROM invoices WHERE status IN ('open', 'uncollectible') AND customer_id IN (SELECT id FROM customers WHERE did = $1)
         LIMIT 1",
    ),
    (
        Obstacle::MoneyInFlight,
        "SELECT id FROM (
             SELECT id FROM payment_intents WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
             UNION ALL SELECT id FROM mandates WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
             UNION ALL SELECT id FROM stakes WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
             UNION ALL SELECT id FROM refunds WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)) AS objects
         WHERE EXISTS (SELECT 1 FROM attempts WHERE subject = objects.id AND status IN ('open', 'unknown')) LIMIT 1",
    ),
    (
        Obstacle::MoneyInFlight,
        "SELECT id FROM refunds WHERE (status = 'pending' OR status = 'failed' AND kind = 'refund')
             AND customer_id IN (SELECT id FROM customers WHERE did = $1) LIMIT 1",
    ),
    (
        Obstacle::OpenDispute,
        "SELECT id FROM disputes WHERE status IN ('inquiry', 'inquiry_under_review', 'needs_response', 'under_review')
             AND customer_id IN (SELECT id FROM customers WHERE did = $1) LIMIT 1",
    ),
    (
        Obstacle::Deposit,
        "SELECT id FROM stakes WHERE status <> 'final' AND customer_id IN (SELECT id FROM customers WHERE did = $1) LIMIT 1",
    ),
    (
        Obstacle::Balance,
        "SELECT customer_id FROM customer_balances WHERE amount > $2 AND customer_id IN (SELECT id FROM customers WHERE did = $1) LIMIT 1",
    ),
];

/// Removes the holders and the saved cards from the ended attempts of a user. The provider's ids of payments and of refunded
/// payments stay: refunds, disputes and reversals are found by them. `$2` is an empty saved card.
pub(super) const ERASE_CARDS: Sql = sql_per_dialect!(
    "UPDATE attempts SET client_secret = NULL, card = CASE kind
         WHEN 'card_refund' THEN card
         WHEN 'off_session' THEN $2
         WHEN 'card_setup' THEN "
    (either "json_set(card, '$.name', '', '$.email', '')" "card || jsonb_build_object('name', '', 'email', '')")
    " END
     WHERE (card IS NOT NULL OR client_secret IS NOT NULL) AND status NOT IN ('open', 'unknown') AND subject IN (
         SELECT id FROM payment_intents WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
         UNION ALL SELECT id FROM mandates WHERE customer_id IN (SELECT id FROM customers WHERE did = $1)
         UNION ALL SELECT id FROM refunds WHERE customer_id IN (SELECT id FROM customers WHERE did = $1))"
);
/// Removes what the user has written about a cancellation.
pub(super) const ERASE_COMMENTS: Sql = sql_per_dialect!(
    "UPDATE subscriptions SET cancellation = "
    (either "json_set(cancellation, '$.comment', '')" "cancellation || jsonb_build_object('comment', '')")
    " WHERE cancellation IS NOT NULL AND customer_id IN (SELECT id FROM customers WHERE did = $1)"
);
/// Marks the customers at providers that are not marked yet.
pub(super) const ERASE_PROVIDER_CUSTOMERS: &str = "UPDATE provider_customers SET erased = $2
     WHERE erased <> $2 AND customer_id IN (SELECT id FROM customers WHERE did = $1) RETURNING method_id, provider_id";

/// The statements of the erasure. `$1` is the DID.
pub(super) const ERASE: [&str; 8] = [
    concat!("UPDATE checkout_sessions SET contact = NULL, browser = NULL, visitor = '' WHERE ", of_payer!()),
    of_user!("UPDATE mandates SET status = 'ended', details = NULL WHERE customer_id IN"),
    "DELETE FROM browser_sessions WHERE user_did = $1",
    "DELETE FROM devices WHERE user_did = $1",
    "DELETE FROM connect_sessions WHERE wallet_did = $1",
    // Their passports are revoked, so they are of no use any more.
    "DELETE FROM request_nonces WHERE token_id IN (SELECT id FROM access_tokens WHERE user_did = $1)",
    "DELETE FROM access_tokens WHERE user_did = $1",
    "DELETE FROM trusted_publishers WHERE owner = $1",
];

/// `$1` is the DID, `$2` the time.
pub(super) const ERASE_PROFILES: [&str; 2] = [
    "UPDATE users SET full_name = '', email = '', phone = '', address = NULL, picture = NULL, picture_format = NULL,
         picture_updated_at = NULL, updated_at = $2 WHERE did = $1",
    "UPDATE customers SET name = '', email = '', phone = '', address = NULL, updated_at = $2, links_revoked_at = $2 WHERE did = $1",
];
pub(super) const OF_ADDRESSES: &str = "SELECT email FROM users WHERE did = $1 UNION SELECT email FROM customers WHERE did = $1";

pub struct SqlPersonalData<'s>(pub &'s mut Connection);

#[async_trait]
impl PersonalData for SqlPersonalData<'_> {
    async fn lock(&mut self, did: &Did) -> Result<bool, StorageError> {
        // On both databases a write locks the row. An order writes its customer: it is either seen by the obstacles or waits.
        self.0.query("UPDATE customers SET updated_at = updated_at WHERE did = $1").bind(did).execute().await?;
        let update = "UPDATE users SET updated_at = updated_at WHERE did = $1";
        Ok(self.0.query(update).bind(did).execute().await? == 1)
    }

    async fn obstacles(&mut self, did: &Did) -> Result<Vec<Obstacle>, StorageError> {
        let mut found = Vec::new();
        for (obstacle, statement) in OBSTACLES {
            let query = self.0.query(statement).bind(did);
            let query = if obstacle == Obstacle::Balance { query.bind(Amount::ZERO) } else { query };
            if query.optional().await?.is_some() && !found.contains(&obstacle) {
                found.push(obstacle);
            }
        }
        if self.has_earnings(did).await? {
            found.push(Obstacle::Earnings);
        }
        Ok(found)
    }

    async fn erase(&mut self, did: &Did, now: Timestamp) -> Result<Vec<ErasedProviderCustomer>, StorageError> {
        self.forget_addresses(did).await?;
        // Attempts are locked before sessions.
        let text = String::new;
        let no_card = SavedCard { customer: text(), card: text(), brand: text(), last4: text(), expiry: None };
        self.0.query_per_dialect(ERASE_CARDS).bind(did).bind(&no_card).execute().await?;
        for statement in ERASE_PROFILES {
            self.0.query(statement).bind(did).bind(now).execute().await?;
        }
        for statement in ERASE {
            self.0.query(statement).bind(did).execute().await?;
        }
        self.0.query_per_dialect(ERASE_COMMENTS).bind(did).execute().await?;
        let rows = self.0.query(ERASE_PROVIDER_CUSTOMERS).bind(did).bind(true).all().await?;
        let customer = |row: &Row| Ok(ErasedProviderCustomer { method_id: row.get("method_id")?, provider_id: row.get("provider_id")? });
        rows.iter().map(customer).collect()
    }

    async fn delete_unused_users(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<ExaminedUsers, StorageError> {
        unused_users::delete(self.0, before, now, limit).await
    }
}

impl SqlPersonalData<'_> {
    /// Whether something is payable to a user, in any mode and currency.
    async fn has_earnings(&mut self, did: &Did) -> Result<bool, StorageError> {
        for mode in [Mode::Live, Mode::Test] {
            let payees = SqlPayees(self.0).of_beneficiary(mode, did).await?;
            if payees.iter().any(|payee| !payee.payable().is_zero()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the confirmations of a user's email addresses. Another user of an address confirms it again.
    async fn forget_addresses(&mut self, did: &Did) -> Result<(), StorageError> {
        for row in self.0.query(OF_ADDRESSES).bind(did).all().await? {
            let Some(address) = MailAddress::of(&row.get::<String>("email")?) else { continue };
            let delete = "DELETE FROM mail_addresses WHERE address = $1";
            self.0.query(delete).bind(address.as_str()).execute().await?;
        }
        Ok(())
    }
}

/// The exports of a database.
#[derive(Clone)]
pub struct SqlPersonalDataExports(pub Database);

impl PersonalDataExports for SqlPersonalDataExports {
    fn export(&self, did: &Did, now: Timestamp) -> ExportPieces {
        let export = Export { database: self.0.clone(), did: did.clone(), now, tables: EXPORTED, after: Vec::new() };
        stream::try_unfold(export, |mut export| async move { Ok::<_, StorageError>(export.next().await?.map(|piece| (piece, export))) })
            .boxed()
    }
}

/// The rows that are read at a time.
const PAGE: u32 = 500;

/// A value of the key of the last row that was read.
#[derive(Clone)]
enum KeyPart {
    Text(String),
    Integer(i64),
}

/// An export in progress. It takes a connection for each page only, so that a reader who is slow holds none.
struct Export {
    database: Database,
    did: Did,
    now: Timestamp,
    /// Those that are not complete yet.
    tables: &'static [Exported],
    /// The key of the last row of the first of them; empty: none was read.
    after: Vec<KeyPart>,
}

impl Export {
    /// The next piece of the document; `None`: it is complete.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, StorageError> {
        let Some((table, rest)) = self.tables.split_first() else { return Ok(None) };
        let is_new = self.after.is_empty();
        let mut piece = Vec::new();
        if self.tables.len() == EXPORTED.len() && is_new {
            let (at, did) = (Value::String(self.now.to_iso()), Value::String(self.did.to_string()));
            piece.push(format!("{{\n\"exported_at\": {at},\n\"did\": {did},\n\"records\": {{"));
        }
        if is_new {
            piece.push(format!("\n\"{}\": [", table.table));
        }
        let rows = self.page(table).await?;
        for (index, row) in rows.iter().enumerate() {
            let separator = if is_new && index == 0 { "\n" } else { ",\n" };
            piece.push(format!("{separator}{}", record(table, row)?));
        }
        match rows.last().filter(|_| rows.len() == PAGE as usize) {
            Some(last) => self.after = table.key.iter().map(|name| key_part(table, name, Some(last))).collect::<Result<_, _>>()?,
            None => {
                (self.tables, self.after) = (rest, Vec::new());
                piece.push(if rest.is_empty() { "]\n}\n}\n" } else { "]," }.to_owned());
            }
        }
        Ok(Some(piece.concat().into_bytes()))
    }

    async fn page(&self, table: &'static Exported) -> Result<Vec<Row>, StorageError> {
        let mut connection = self.database.read().await?;
        let mut query = connection.query(table.page).bind(&self.did);
        for (index, name) in table.key.iter().enumerate() {
            let part = match self.after.get(index) {
                Some(part) => part.clone(),
                None => key_part(table, name, None)?,
            };
            query = match part {
                KeyPart::Text(text) => query.bind(text),
                KeyPart::Integer(number) => query.bind(number),
            };
        }
        query.bind(PAGE).all().await
    }
}

/// A value of a row's key. Without a row, one that is before all others.
fn key_part(table: &Exported, name: &'static str, row: Option<&Row>) -> Result<KeyPart, StorageError> {
    let is_number = table.fields.iter().any(|(field, kind)| *field == name && *kind == Kind::Integer);
    Ok(match (row, is_number) {
        (Some(row), false) => KeyPart::Text(row.get(name)?),
        (Some(row), true) => KeyPart::Integer(row.get(name)?),
        (None, false) => KeyPart::Text(String::new()),
        (None, true) => KeyPart::Integer(i64::MIN),
    })
}

fn record(table: &Exported, row: &Row) -> Result<Value, StorageError> {
    let mut fields = Map::new();
    for (name, kind) in table.fields {
        let value = match kind {
            Kind::Text => row.get::<Option<String>>(name)?.map(Value::String),
            Kind::Integer => row.get::<Option<i64>>(name)?.map(Value::from),
            Kind::Bool => row.get::<Option<bool>>(name)?.map(Value::Bool),
            Kind::Amount => row.get::<Option<Amount>>(name)?.map(|amount| Value::String(amount.to_string())),
            Kind::Time => row.get::<Option<Timestamp>>(name)?.map(|at| Value::String(at.to_iso())),
            Kind::Json => row.get::<Option<Value>>(name)?,
            Kind::Bytes => row.get::<Option<Vec<u8>>>(name)?.map(|bytes| Value::String(hex::encode(bytes))),
        };
        fields.insert((*name).to_owned(), value.unwrap_or_default());
    }
    Ok(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_both;
    use crate::persistence::Values;
    use crate::persistence::personal_data_tables::{NOT_EXPORTED, WITHHELD};
    use futures_util::stream::TryStreamExt;
    use std::collections::BTreeSet;

    on_both! {
        async fn an_export_of_more_than_one_page_has_each_row_once(db: &TestDatabase) {
            let mut connection = db.begin().await.expect("begins");
            let (did, now) = (Did::from_verified("z1anna".to_owned()), Timestamp::from_seconds(9));
            let users = ["z1anna", "z1bob"].map(|did| Values::default().bind(did).bind("").bind("").bind("").bind("").bind("en").bind(now).bind(now).bind(now));
            let into = "INSERT INTO users (did, public_key, full_name, email, phone, language, created_at, updated_at, examined_at)";
            connection.insert(into, users.into(), "").await.expect("inserts");
            let count = 2 * PAGE as usize + 1;
            let passport = |number: usize| {
                let holder = if number < count { "z1anna" } else { "z1bob" };
                Values::default().bind(format!("pass_{number:05}")).bind(holder).bind("admin").bind(now)
            };
            let rows = (0..count + 3).map(passport).collect();
            connection.insert("INSERT INTO passports (id, holder, role, issued_at)", rows, "").await.expect("inserts");
            connection.commit().await.expect("commits");
            let pieces: Vec<_> = SqlPersonalDataExports((**db).clone()).export(&did, now).try_collect().await.expect("exports");
            assert!(pieces.len() > EXPORTED.len(), "the table has several pages");
            let document: Value = serde_json::from_slice(&pieces.concat()).expect("is JSON");
            let passports = document["records"]["passports"].as_array().expect("a list");
            let ids: BTreeSet<_> = passports.iter().map(|passport| passport["id"].to_string()).collect();
            assert_eq!((passports.len(), ids.len()), (count, count));
            assert_eq!(document["records"].as_object().expect("records").len(), EXPORTED.len());
        }

        async fn every_column_of_the_schema_is_exported_or_named_as_an_exception(db: &TestDatabase) {
            let select = Sql {
                sqlite: r"SELECT t.name || '.' || c.name AS name FROM sqlite_schema t, pragma_table_info(t.name) c
                           WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> '_sqlx_migrations'",
                postgres: "SELECT table_name || '.' || column_name AS name FROM information_schema.columns
                           WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'",
            };
            let rows = db.read().await.expect("reads").query_per_dialect(select).all().await.expect("lists");
            let columns: BTreeSet<String> = rows.iter().map(|row| row.get("name").expect("a name")).collect();
            let of = |column: &String, tables: &[&str]| column.split_once('.').is_some_and(|(table, _)| tables.contains(&table));
            let left: Vec<_> = columns.iter().filter(|column| !of(column, &NOT_EXPORTED) && !WITHHELD.contains(&column.as_str())).collect();
            let exported: BTreeSet<_> = EXPORTED.iter().flat_map(|table| table.fields.iter().map(|(field, _)| format!("{}.{field}", table.table))).collect();
            assert_eq!(left, exported.iter().collect::<Vec<_>>());
        }
    }
}
