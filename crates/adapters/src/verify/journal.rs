//! Invariant 5: the journal balances, and says what the networks, the attempts and the invoices say.

use super::check::{Check, Checks};
use crate::persistence::Row;
use souk_domain::ledger::{Account, Side};
use souk_domain::payment::{RefundStatus, RefundType};
use souk_domain::shared::{Amount, CurrencyId, StorageError};
use std::collections::{BTreeMap, BTreeSet};

const POSTINGS: &str = "SELECT e.id, p.account, p.side, p.amount, p.currency_id
    FROM (SELECT id FROM journal_entries WHERE id > $1 ORDER BY id LIMIT $2) e LEFT JOIN journal_postings p ON p.entry_id = e.id
    ORDER BY e.id, p.position";
const SETTLED: &str = "SELECT id, purpose, method_id, currency_id, amount FROM attempts
    WHERE id > $1 AND status = 'settled' ORDER BY id LIMIT $2";
// A taken deposit is income, and told by an invoice of its own; a deposit given or returned is not, nor are funds that were added to
// a customer's own account.
const PAID: &str = "SELECT id, currency_id, amount_paid FROM invoices
    WHERE id > $1 AND status = 'paid' AND reason NOT IN ('stake', 'return_stake', 'subscription_recover', 'recharge')
    ORDER BY id LIMIT $2";
const CREDITS: &str = "SELECT customer_id || ' ' || currency_id AS id, currency_id, amount FROM credits
    WHERE customer_id || ' ' || currency_id > $1 ORDER BY customer_id || ' ' || currency_id LIMIT $2";
const REFUNDS: &str = "SELECT id, kind, status, currency_id, amount FROM refunds WHERE id > $1 ORDER BY id LIMIT $2";

/// What was added and what was taken away.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    more: Amount,
    less: Amount,
}

impl Sum {
    fn add(&mut self, amount: Amount) -> Result<(), StorageError> {
        self.more = plus(self.more, amount)?;
        Ok(())
    }

    fn take(&mut self, amount: Amount) -> Result<(), StorageError> {
        self.less = plus(self.less, amount)?;
        Ok(())
    }

    fn equals(&self, other: &Self) -> Result<bool, StorageError> {
        Ok(plus(self.more, other.less)? == plus(other.more, self.less)?)
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.more.minus(self.less) {
            Ok(sum) => write!(f, "{sum}"),
            Err(_) => write!(f, "{} - {}", self.more, self.less),
        }
    }
}

fn plus(sum: Amount, amount: Amount) -> Result<Amount, StorageError> {
    sum.plus(amount).map_err(|error| StorageError::Driver(Box::new(error)))
}

/// By account and currency.
type Sums = BTreeMap<(Account, CurrencyId), Sum>;

pub(super) async fn check(checks: &mut Checks<'_>) -> Result<(), StorageError> {
    let journal = entries(checks).await?;
    accounts(checks, &journal).await?;
    income(checks, &journal).await?;
    credits(checks, &journal).await
}

/// Each entry sums to zero in each currency. Answers what stands on each account: debits less credits.
async fn entries(checks: &mut Checks<'_>) -> Result<Sums, StorageError> {
    let mut check = Check::of("journal entries balance in each currency");
    let mut sums = Sums::new();
    let mut entry = (String::new(), BTreeMap::<CurrencyId, Sum>::new());
    let close = |(id, sums): &(String, BTreeMap<CurrencyId, Sum>), check: &mut Check| -> Result<(), StorageError> {
        check.of += u64::from(!id.is_empty());
        for (currency, sum) in sums {
            if !sum.equals(&Sum::default())? {
                check.breaches.push(format!("{id} debits {} and credits {} of {currency}", sum.more, sum.less));
            }
        }
        if !id.is_empty() && sums.is_empty() {
            check.breaches.push(format!("{id} has no postings"));
        }
        Ok(())
    };
    let read = |row: &Row| -> Result<(), StorageError> {
        let id: String = row.get("id")?;
        if id != entry.0 {
            close(&entry, &mut check)?;
            entry = (id, BTreeMap::new());
        }
        let Some(account) = row.get::<Option<Account>>("account")? else { return Ok(()) };
        let (side, amount, currency): (Side, Amount, CurrencyId) = (row.get("side")?, row.get("amount")?, row.get("currency_id")?);
        for sum in [entry.1.entry(currency.clone()).or_default(), sums.entry((account, currency)).or_default()] {
            match side {
                Side::Debit => sum.add(amount)?,
                Side::Credit => sum.take(amount)?,
            }
        }
        Ok(())
    };
    checks.walk(POSTINGS, "id", read).await?;
    close(&entry, &mut check)?;
    checks.told(check);
    Ok(sums)
}

/// What the journal says of networks and deposits is the sum of what was settled there.
async fn accounts(checks: &mut Checks<'_>, journal: &Sums) -> Result<(), StorageError> {
    let mut settled = Sums::new();
    let read = |row: &Row| -> Result<(), StorageError> {
        let (method, currency, amount): (String, CurrencyId, Amount) = (row.get("method_id")?, row.get("currency_id")?, row.get("amount")?);
        let (network, staked) = ((Account::Network(method.clone()), currency.clone()), (Account::Staked(method), currency));
        match row.get::<String>("purpose")?.as_str() {
            "payment" => settled.entry(network).or_default().add(amount),
            "refund" => settled.entry(network).or_default().take(amount),
            "stake" => settled.entry(staked).or_default().add(amount),
            "return_stake" => settled.entry(staked).or_default().take(amount),
            "slash" => {
                settled.entry(network).or_default().add(amount)?;
                settled.entry(staked).or_default().take(amount)
            }
            _ => Ok(()),
        }
    };
    checks.walk(SETTLED, "id", read).await?;
    let mut check = Check::of("accounts of networks and deposits equal what was settled there");
    let booked = journal.keys().filter(|(account, _)| matches!(account, Account::Network(_) | Account::Staked(_)));
    for key in booked.chain(settled.keys()).collect::<BTreeSet<_>>() {
        check.of += 1;
        let (booked, settled) = (journal.get(key).copied().unwrap_or_default(), settled.get(key).copied().unwrap_or_default());
        if !booked.equals(&settled)? {
            check.breaches.push(format!("{} has {booked} of {}, but {settled} was settled", key.0.name(), key.1));
        }
    }
    checks.told(check);
    Ok(())
}

/// What customers have left is what the journal owes them.
async fn credits(checks: &mut Checks<'_>, journal: &Sums) -> Result<(), StorageError> {
    let mut held: BTreeMap<CurrencyId, Sum> = BTreeMap::new();
    let read = |row: &Row| held.entry(row.get("currency_id")?).or_default().add(row.get("amount")?);
    checks.walk(CREDITS, "id", read).await?;
    let mut check = Check::of("customers' credits equal the journal's");
    let booked = of_account(journal, &Account::Credits);
    for currency in booked.keys().chain(held.keys()).collect::<BTreeSet<_>>() {
        check.of += 1;
        let (booked, held) = (booked.get(currency).copied().unwrap_or_default(), held.get(currency).copied().unwrap_or_default());
        if !booked.equals(&held)? {
            check.breaches.push(format!("{currency}: customers have {held}, the journal {booked}"));
        }
    }
    checks.told(check);
    Ok(())
}

/// What stands on the credit side of an account, by currency.
fn of_account(journal: &Sums, account: &Account) -> BTreeMap<CurrencyId, Sum> {
    let own = journal.iter().filter(|((own, _), _)| own == account);
    own.map(|((_, currency), sum)| (currency.clone(), Sum { more: sum.less, less: sum.more })).collect()
}

/// What customers paid, less what they got back, is the journal's income, that among it which was given back as credit.
async fn income(checks: &mut Checks<'_>, journal: &Sums) -> Result<(), StorageError> {
    let mut paid: BTreeMap<CurrencyId, Sum> = BTreeMap::new();
    let read = |row: &Row| paid.entry(row.get("currency_id")?).or_default().add(row.get("amount_paid")?);
    checks.walk(PAID, "id", read).await?;
    let read = |row: &Row| -> Result<(), StorageError> {
        let gone = row.get::<RefundStatus>("status")? == RefundStatus::Succeeded && row.get::<RefundType>("kind")? == RefundType::Refund;
        if gone {
            paid.entry(row.get("currency_id")?).or_default().take(row.get("amount")?)?;
        }
        Ok(())
    };
    checks.walk(REFUNDS, "id", read).await?;
    let mut check = Check::of("paid invoices less refunds equal the journal's income and credit");
    let mut booked = of_account(journal, &Account::Sales);
    for (currency, credit) in of_account(journal, &Account::Credits) {
        let sum = booked.entry(currency).or_default();
        sum.add(credit.more)?;
        sum.take(credit.less)?;
    }
    for currency in booked.keys().chain(paid.keys()).collect::<BTreeSet<_>>() {
        check.of += 1;
        let sum = booked.get(currency).copied().unwrap_or_default();
        let paid = paid.get(currency).copied().unwrap_or_default();
        if !sum.equals(&paid)? {
            check.breaches.push(format!("{currency}: invoices less refunds say {paid}, the journal {sum}"));
        }
    }
    checks.told(check);
    Ok(())
}
