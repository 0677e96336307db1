//! Customers: one per user and mode.

use super::columns::{containing, keys};
use super::listing::{Listing, list, listing, or_by_id, sql_per_dialect};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::customer::{Customer, Customers, ProviderCustomer};
use souk_domain::shared::{CustomerId, Listed, MethodId, Mode, Page, StorageError, Timestamp};

const FIND_ALL: Sql = sql_per_dialect!("SELECT * FROM customers WHERE id " (among "$1") " ORDER BY id");

const LIST: Listing = listing!("customers", "livemode = $4");
const SEARCH: Listing = listing!(
    "customers",
    "livemode = $4 AND " (newest "customers") " AND (id = $5 OR did = $5 OR LOWER(name) LIKE $6 ESCAPE '\\' OR LOWER(email) LIKE $6 ESCAPE '\\'
                        OR LOWER(phone) LIKE $6 ESCAPE '\\')"
);

pub struct SqlCustomers<'s>(pub &'s mut Connection);

#[async_trait]
impl Customers for SqlCustomers<'_> {
    async fn find(&mut self, id: &CustomerId) -> Result<Option<Customer>, StorageError> {
        let row = self.0.query("SELECT * FROM customers WHERE id = $1").bind(id).optional().await?;
        row.as_ref().map(customer).transpose()
    }

    async fn find_all(&mut self, ids: &[CustomerId]) -> Result<Vec<Customer>, StorageError> {
        let rows = self.0.query_per_dialect(FIND_ALL).bind(keys(ids)).all().await?;
        rows.iter().map(customer).collect()
    }

    async fn find_by_did(&mut self, mode: Mode, did: &Did) -> Result<Option<Customer>, StorageError> {
        let row = self.0.query("SELECT * FROM customers WHERE did = $1 AND livemode = $2").bind(did).bind(mode).optional().await?;
        row.as_ref().map(customer).transpose()
    }

    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Customer>, StorageError> {
        list(self.0, &LIST, page, |query| query.bind(mode), customer).await
    }

    async fn search(&mut self, mode: Mode, words: &str, page: &Page) -> Result<Listed<Customer>, StorageError> {
        let pattern = containing(words);
        let listed = list(self.0, &SEARCH, page, |query| query.bind(mode).bind(words).bind(pattern.as_str()), customer).await?;
        let by_id = "SELECT * FROM customers WHERE (id = $1 OR did = $1) AND livemode = $2";
        or_by_id(self.0, listed, by_id, words, mode, customer).await
    }

    async fn revoke_links(&mut self, did: &Did, now: Timestamp) -> Result<(), StorageError> {
        let update = "UPDATE customers SET links_revoked_at = $2 WHERE did = $1";
        self.0.query(update).bind(did).bind(now).execute().await.map(drop)
    }

    async fn links_revoked_at(&mut self, subject: &str) -> Result<Option<Timestamp>, StorageError> {
        let select = "SELECT links_revoked_at FROM customers WHERE id IN
                          (SELECT customer_id FROM invoices WHERE id = $1 UNION SELECT customer_id FROM subscriptions WHERE id = $1)";
        let row = self.0.query(select).bind(subject).optional().await?;
        Ok(row.map(|row| row.get::<Option<Timestamp>>("links_revoked_at")).transpose()?.flatten())
    }

    async fn upsert(&mut self, new: &Customer) -> Result<Customer, StorageError> {
        let upsert = "INSERT INTO customers (id, livemode, did, name, email, phone, address, language, created_at, updated_at)
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                      ON CONFLICT (did, livemode) DO UPDATE SET
                          name = excluded.name, email = excluded.email, phone = excluded.phone, address = excluded.address,
                          language = excluded.language, updated_at = excluded.updated_at
                      RETURNING *";
        let query = self.0.query(upsert).bind(&new.id).bind(new.mode).bind(&new.did).bind(&new.name).bind(&new.email).bind(&new.phone);
        let query = query.bind(&new.address).bind(new.language).bind(new.created_at).bind(new.updated_at);
        customer(&query.one().await?)
    }

    async fn provider_customer(&mut self, customer: &CustomerId, method: &MethodId) -> Result<Option<ProviderCustomer>, StorageError> {
        let select = "SELECT provider_id, erased FROM provider_customers WHERE customer_id = $1 AND method_id = $2";
        let row = self.0.query(select).bind(customer).bind(method).optional().await?;
        row.map(|row| Ok(ProviderCustomer { provider_id: row.get("provider_id")?, is_erased: row.get("erased")? })).transpose()
    }

    async fn set_provider_customer(&mut self, customer: &CustomerId, method: &MethodId, provider_id: &str) -> Result<(), StorageError> {
        let upsert = "INSERT INTO provider_customers (customer_id, method_id, provider_id, erased) VALUES ($1, $2, $3, $4)
                      ON CONFLICT (customer_id, method_id) DO UPDATE SET provider_id = excluded.provider_id, erased = excluded.erased";
        self.0.query(upsert).bind(customer).bind(method).bind(provider_id).bind(false).execute().await.map(drop)
    }
}

pub(super) fn customer(row: &Row) -> Result<Customer, StorageError> {
    Ok(Customer {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        did: row.get("did")?,
        name: row.get("name")?,
        email: row.get("email")?,
        phone: row.get("phone")?,
        address: row.get("address")?,
        language: row.get("language")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
