//! Customer balances and their transactions.

use super::columns::keys;
use super::listing::sql_per_dialect;
use super::{Connection, Row, Sql, Values};
use async_trait::async_trait;
use souk_domain::billing::{Balance, BalanceTransaction, Balances};
use souk_domain::shared::{Amount, CurrencyId, CustomerId, Listed, Mode, Page, StorageError};
use std::collections::{BTreeMap, BTreeSet};

const OF_ALL: Sql = sql_per_dialect!(
    "SELECT * FROM customer_balances WHERE customer_id " (among "$1") " AND amount > $2 ORDER BY customer_id, currency_id"
);
/// Locks balances of zero too, so that no other transaction can increase them meanwhile. Amounts are stored as text on SQLite: a new amount
/// is therefore computed in Rust, and its update requires the old one.
const LOCK_ALL: Sql = sql_per_dialect!(
    "SELECT * FROM customer_balances WHERE customer_id " (among "$1") " ORDER BY customer_id, currency_id" (either "" " FOR UPDATE")
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

/// A balance whose row is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LockedBalance {
    amount: Amount,
    /// The number of its transactions.
    sequence: u64,
}

/// The balance that a transaction changes.
fn key(transaction: &BalanceTransaction) -> (CustomerId, CurrencyId) {
    (transaction.customer_id.clone(), transaction.currency_id.clone())
}

impl SqlBalances<'_> {
    async fn lock_rows(&mut self, customers: &[CustomerId]) -> Result<BTreeMap<(CustomerId, CurrencyId), LockedBalance>, StorageError> {
        let rows = self.0.query_per_dialect(LOCK_ALL).bind(keys(customers)).all().await?;
        let locked = |row: &Row| {
            let balance = LockedBalance { amount: row.get("amount")?, sequence: row.get("sequence")? };
            Ok(((row.get("customer_id")?, row.get("currency_id")?), balance))
        };
        rows.iter().map(locked).collect()
    }
}

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

    async fn record_all(&mut self, transactions: &[BalanceTransaction]) -> Result<Option<Vec<BalanceTransaction>>, StorageError> {
        let mut customers: Vec<_> = transactions.iter().map(|one| one.customer_id.clone()).collect();
        customers.sort();
        customers.dedup();
        let mut balances = self.lock_rows(&customers).await?;
        let is_missing = |one: &&BalanceTransaction| one.kind.is_increase() && !balances.contains_key(&key(one));
        let missing: BTreeSet<_> = transactions.iter().filter(is_missing).map(key).collect();
        if !missing.is_empty() {
            let into = "INSERT INTO customer_balances (customer_id, currency_id, amount, sequence)";
            let row = |(customer, currency): &(CustomerId, CurrencyId)| {
                Values::default().bind(customer).bind(currency).bind(Amount::ZERO).bind(0_u64)
            };
            self.0.insert(into, missing.iter().map(row).collect(), "ON CONFLICT DO NOTHING").await?;
            balances = self.lock_rows(&customers).await?;
        }
        let before = balances.clone();
        let mut rows = Vec::with_capacity(transactions.len());
        let mut recorded = Vec::with_capacity(transactions.len());
        for one in transactions {
            let Some(balance) = balances.get_mut(&key(one)) else { return Ok(None) };
            balance.amount = match one.kind.is_increase() {
                true => balance.amount.plus(one.amount).map_err(|error| StorageError::Driver(Box::new(error)))?,
                false => match balance.amount.minus(one.amount) {
                    Ok(after) => after,
                    Err(_) => return Ok(None),
                },
            };
            balance.sequence += 1;
            let values = Values::default().bind(&one.id).bind(one.mode).bind(&one.customer_id).bind(&one.currency_id);
            let values = values.bind(balance.sequence).bind(one.kind).bind(one.amount).bind(balance.amount);
            rows.push(values.bind(&one.source).bind(one.created_at));
            recorded.push(BalanceTransaction { balance_after: balance.amount, ..one.clone() });
        }
        let changed = balances.iter().filter_map(|(key, after)| Some((key, before.get(key)?, after))).filter(|(_, old, new)| old != new);
        let row = |((customer, currency), before, after): (&(CustomerId, CurrencyId), &LockedBalance, &LockedBalance)| {
            Values::default().bind(customer).bind(currency).bind(before.amount).bind(after.amount).bind(after.sequence)
        };
        let changed: Vec<_> = changed.map(row).collect();
        let set = "UPDATE customer_balances SET amount = new.column4, sequence = new.column5";
        let is_as_before = "customer_balances.customer_id = new.column1 AND customer_balances.currency_id = new.column2
                            AND customer_balances.amount = new.column3";
        let count = changed.len() as u64;
        if self.0.update(set, changed, is_as_before).await? != count {
            return Err(StorageError::Conflict);
        }
        let into =
            "INSERT INTO balance_transactions (id, livemode, customer_id, currency_id, sequence, type, amount, balance_after, source,
                        created_at)";
        self.0.insert(into, rows, "").await?;
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
