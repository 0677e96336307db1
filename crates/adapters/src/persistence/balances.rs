//! Customer balances and their transactions.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{Balance, BalanceTransaction, Balances};
use souk_domain::shared::{Amount, CurrencyId, CustomerId, Listed, Mode, Page, StorageError};

const OF_ALL: Sql = sql_per_dialect!(
    "SELECT * FROM customer_balances WHERE customer_id " (among "$1") " AND amount > $2 ORDER BY customer_id, currency_id"
);
/// Locks balances of zero too, so that no other transaction can increase them meanwhile.
const LOCK_ALL: Sql = sql_per_dialect!(
    "SELECT * FROM customer_balances WHERE customer_id " (among "$1") " ORDER BY customer_id, currency_id" (either "" " FOR UPDATE")
);
/// Amounts are stored as text on SQLite. The new amount is therefore computed in Rust, and the update requires the old one.
const LOCK: Sql = sql_per_dialect!(
    "SELECT amount, sequence FROM customer_balances WHERE customer_id = $1 AND currency_id = $2" (either "" " FOR UPDATE")
);

/// The statements that count balance transactions and read one page. Within a currency, transactions are ordered by their sequence.
struct Transactions {
    count: &'static str,
    page: &'static str,
}
const IN_CURRENCY: Transactions = Transactions {
    count: "SELECT count(*) AS n FROM balance_transactions WHERE customer_id = $1 AND livemode = $2 AND currency_id = $3",
    page: "SELECT * FROM balance_transactions WHERE customer_id = $1 AND livemode = $2 AND currency_id = $3
               AND ($4 IS NULL OR sequence < (SELECT sequence FROM balance_transactions WHERE id = $4))
           ORDER BY sequence DESC LIMIT $5 OFFSET $6",
};
const IN_ALL: Transactions = Transactions {
    count: "SELECT count(*) AS n FROM balance_transactions WHERE customer_id = $1 AND livemode = $2 AND $3 IS NULL",
    page: "SELECT * FROM balance_transactions WHERE customer_id = $1 AND livemode = $2 AND $3 IS NULL
               AND ($4 IS NULL OR (created_at, sequence, id) < (SELECT created_at, sequence, id FROM balance_transactions WHERE id = $4))
           ORDER BY created_at DESC, sequence DESC, id DESC LIMIT $5 OFFSET $6",
};

pub struct SqlBalances<'s>(pub &'s mut Connection);

#[async_trait]
impl Balances for SqlBalances<'_> {
    async fn of_all(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError> {
        let rows = self.0.query_per_dialect(OF_ALL).bind(keys(customers)).bind(Amount::ZERO).all().await?;
        rows.iter().map(balance).collect()
    }

    async fn lock(&mut self, customers: &[CustomerId]) -> Result<Vec<Balance>, StorageError> {
        let rows = self.0.query_per_dialect(LOCK_ALL).bind(keys(customers)).all().await?;
        let balances = rows.iter().map(balance).collect::<Result<Vec<_>, _>>()?;
        Ok(balances.into_iter().filter(|balance| !balance.amount.is_zero()).collect())
    }

    async fn record(&mut self, transaction: &BalanceTransaction) -> Result<Option<BalanceTransaction>, StorageError> {
        let (customer, currency) = (&transaction.customer_id, &transaction.currency_id);
        let is_increase = transaction.kind.is_increase();
        let mut row = self.0.query_per_dialect(LOCK).bind(customer).bind(currency).optional().await?;
        if row.is_none() && is_increase {
            let insert = "INSERT INTO customer_balances (customer_id, currency_id, amount, sequence) VALUES ($1, $2, $3, 0)
                          ON CONFLICT DO NOTHING";
            self.0.query(insert).bind(customer).bind(currency).bind(Amount::ZERO).execute().await?;
            row = self.0.query_per_dialect(LOCK).bind(customer).bind(currency).optional().await?;
        }
        let Some(row) = row else { return Ok(None) };
        let (before, sequence): (Amount, u64) = (row.get("amount")?, row.get("sequence")?);
        let after = match is_increase {
            true => before.plus(transaction.amount).map_err(|error| StorageError::Driver(Box::new(error)))?,
            false => match before.minus(transaction.amount) {
                Ok(after) => after,
                Err(_) => return Ok(None),
            },
        };
        let update = "UPDATE customer_balances SET amount = $3, sequence = $4 WHERE customer_id = $1 AND currency_id = $2 AND amount = $5";
        let query = self.0.query(update).bind(customer).bind(currency).bind(after).bind(sequence + 1).bind(before);
        if query.execute().await? == 0 {
            return Err(StorageError::Conflict);
        }
        let recorded = BalanceTransaction { balance_after: after, ..transaction.clone() };
        let into =
            "INSERT INTO balance_transactions (id, livemode, customer_id, currency_id, sequence, type, amount, balance_after, source,
                        created_at)";
        let values = Values::default().bind(&recorded.id).bind(recorded.mode).bind(customer).bind(currency).bind(sequence + 1);
        let values = values.bind(recorded.kind).bind(recorded.amount).bind(after).bind(&recorded.source).bind(recorded.created_at);
        self.0.insert(into, vec![values], "").await?;
        Ok(Some(recorded))
    }

    async fn transactions(
        &mut self,
        mode: Mode,
        customer: &CustomerId,
        currency: Option<&CurrencyId>,
        page: &Page,
    ) -> Result<Listed<BalanceTransaction>, StorageError> {
        let statements = if currency.is_some() { IN_CURRENCY } else { IN_ALL };
        let count = self.0.query(statements.count).bind(customer).bind(mode).bind(currency).one().await?.get("n")?;
        let offset = if page.starting_after.is_some() { 0 } else { page.offset() };
        let query = self.0.query(statements.page).bind(customer).bind(mode).bind(currency).bind(&page.starting_after);
        let rows = query.bind(page.size).bind(offset).all().await?;
        Ok(Listed { count, list: rows.iter().map(transaction).collect::<Result<_, _>>()? })
    }
}

fn balance(row: &Row) -> Result<Balance, StorageError> {
    Ok(Balance { customer_id: row.get("customer_id")?, currency_id: row.get("currency_id")?, amount: row.get("amount")? })
}

fn transaction(row: &Row) -> Result<BalanceTransaction, StorageError> {
    Ok(BalanceTransaction {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        customer_id: row.get("customer_id")?,
        currency_id: row.get("currency_id")?,
        kind: row.get("type")?,
        amount: row.get("amount")?,
        balance_after: row.get("balance_after")?,
        source: row.get("source")?,
        created_at: row.get("created_at")?,
    })
}
