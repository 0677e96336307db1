//! Records of the free trials that customers have used.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Sql};
use async_trait::async_trait;
use souk_domain::billing::Trials;
use souk_domain::shared::{CustomerId, ProductId, StorageError, SubscriptionId, Timestamp};

const USED: Sql =
    sql_per_dialect!("SELECT product_id FROM trials WHERE customer_id = $1 AND product_id " (among "$2") " ORDER BY product_id");

pub struct SqlTrials<'s>(pub &'s mut Connection);

#[async_trait]
impl Trials for SqlTrials<'_> {
    async fn start(
        &mut self,
        customer: &CustomerId,
        product: &ProductId,
        subscription: &SubscriptionId,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let insert = "INSERT INTO trials (customer_id, product_id, subscription_id, started_at) VALUES ($1, $2, $3, $4)
                      ON CONFLICT (customer_id, product_id) DO NOTHING";
        Ok(self.0.query(insert).bind(customer).bind(product).bind(subscription).bind(now).execute().await? == 1)
    }

    async fn used(&mut self, customer: &CustomerId, products: &[ProductId]) -> Result<Vec<ProductId>, StorageError> {
        let rows = self.0.query_per_dialect(USED).bind(customer).bind(keys(products)).all().await?;
        rows.iter().map(|row| row.get("product_id")).collect()
    }
}
