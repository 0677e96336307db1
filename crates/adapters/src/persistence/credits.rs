//! What customers have left of changes of plan, of usage that was billed and not used, and of refunds.

use super::columns::keys;
use super::listing::sql_each;
use super::{Row, Session, Sql};
use async_trait::async_trait;
use souk_domain::billing::{Credit, Credits};
use souk_domain::shared::{Amount, CustomerId, InvoiceId, StorageError};

const OF_ALL: Sql = sql_each!("SELECT * FROM credits WHERE customer_id IN " (listed "$1") " ORDER BY customer_id, currency_id");
const HOLD: Sql = sql_each!(
    "SELECT customer_id FROM credits WHERE customer_id IN " (listed "$1") " ORDER BY customer_id, currency_id" (either "" " FOR UPDATE")
);
/// SQLite has one writer; on PostgreSQL the row waits for whoever changes it.
const LOCK: Sql = Sql {
    sqlite: "SELECT amount FROM credits WHERE customer_id = $1 AND currency_id = $2",
    postgres: "SELECT amount FROM credits WHERE customer_id = $1 AND currency_id = $2 FOR UPDATE",
};
const PROMISED: Sql = sql_each!("SELECT invoice_id, amount FROM promised_credits WHERE invoice_id IN " (listed "$1"));
const REDEEM: Sql = sql_each!("DELETE FROM promised_credits WHERE invoice_id IN " (listed "$1") " RETURNING invoice_id, amount");

pub struct SqlCredits<'s>(pub &'s mut Session);

#[async_trait]
impl Credits for SqlCredits<'_> {
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Credit>, StorageError> {
        let rows = self.0.query_each(OF_ALL).bind(keys(customers)).all().await?;
        let credits = rows.iter().map(credit).collect::<Result<Vec<_>, _>>()?;
        Ok(credits.into_iter().filter(|credit| !credit.amount.is_zero()).collect())
    }

    async fn hold(&mut self, customers: &[CustomerId]) -> Result<(), StorageError> {
        self.0.query_each(HOLD).bind(keys(customers)).all().await.map(drop)
    }

    async fn give(&mut self, credit: &Credit) -> Result<(), StorageError> {
        let insert = "INSERT INTO credits (customer_id, currency_id, amount) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.0.query(insert).bind(&credit.customer_id).bind(&credit.currency_id).bind(Amount::ZERO).execute().await?;
        let before = self.amount(credit).await?;
        let after = before.plus(credit.amount).map_err(|error| StorageError::Driver(Box::new(error)))?;
        self.set(credit, after).await
    }

    async fn promise(&mut self, invoice: &InvoiceId, amount: Amount) -> Result<(), StorageError> {
        let before = self.redeem(std::slice::from_ref(invoice)).await?;
        let sum = Amount::sum(before.into_iter().map(|(_, before)| before).chain([amount]));
        let sum = sum.map_err(|error| StorageError::Driver(Box::new(error)))?;
        let insert = "INSERT INTO promised_credits (invoice_id, amount) VALUES ($1, $2)";
        self.0.query(insert).bind(invoice).bind(sum).execute().await.map(drop)
    }

    async fn promised(&mut self, invoices: &[InvoiceId]) -> Result<Vec<(InvoiceId, Amount)>, StorageError> {
        let rows = self.0.query_each(PROMISED).bind(keys(invoices)).all().await?;
        rows.iter().map(promise).collect()
    }

    async fn redeem(&mut self, invoices: &[InvoiceId]) -> Result<Vec<(InvoiceId, Amount)>, StorageError> {
        let rows = self.0.query_each(REDEEM).bind(keys(invoices)).all().await?;
        rows.iter().map(promise).collect()
    }

    async fn take(&mut self, credit: &Credit) -> Result<bool, StorageError> {
        let Ok(after) = self.amount(credit).await?.minus(credit.amount) else { return Ok(false) };
        self.set(credit, after).await?;
        Ok(true)
    }
}

impl SqlCredits<'_> {
    async fn amount(&mut self, credit: &Credit) -> Result<Amount, StorageError> {
        let row = self.0.query_each(LOCK).bind(&credit.customer_id).bind(&credit.currency_id).optional().await?;
        row.map_or(Ok(Amount::ZERO), |row| row.get("amount"))
    }

    async fn set(&mut self, credit: &Credit, amount: Amount) -> Result<(), StorageError> {
        let update = "UPDATE credits SET amount = $3 WHERE customer_id = $1 AND currency_id = $2";
        self.0.query(update).bind(&credit.customer_id).bind(&credit.currency_id).bind(amount).execute().await.map(drop)
    }
}

fn credit(row: &Row) -> Result<Credit, StorageError> {
    Ok(Credit { customer_id: row.get("customer_id")?, currency_id: row.get("currency_id")?, amount: row.get("amount")? })
}

fn promise(row: &Row) -> Result<(InvoiceId, Amount), StorageError> {
    Ok((row.get("invoice_id")?, row.get("amount")?))
}
