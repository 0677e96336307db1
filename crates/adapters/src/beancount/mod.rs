//! Exports the journal in the format of beancount, which other plain-text accounting tools can read too.
//!
//! Each mode has its own accounts (`Assets:Test:Cash:Pm-1`). A currency is a commodity named by its symbol; if several share a symbol,
//! the later ones get a number. Debits are positive, as in beancount.

use crate::persistence::{Connection, Database, Row};
use souk_domain::ledger::{Account, EntryType, Side};
use souk_domain::shared::{Amount, CurrencyId, Mode, StorageError, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// The number of entries read and held in memory at once.
const PAGE: u32 = 1_000;
/// The opening date of all accounts and commodities: before any entry.
const FIRST_DAY: &str = "1970-01-01";

const CURRENCIES: &str = "SELECT id, symbol, name, decimals FROM currencies ORDER BY id";
const ACCOUNTS: &str = "SELECT DISTINCT e.livemode, p.account FROM journal_postings p JOIN journal_entries e ON e.id = p.entry_id";
const ENTRIES: &str = "SELECT e.id, e.livemode, e.subject, e.type, e.posted_at, p.account, p.side, p.amount, p.currency_id
    FROM (SELECT * FROM journal_entries WHERE id > $1 ORDER BY id LIMIT $2) e JOIN journal_postings p ON p.entry_id = e.id
    ORDER BY e.id, p.position";

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the text cannot be written: {0}")]
    Output(#[from] io::Error),
    #[error("an entry is in {0}, which is no currency of the store")]
    UnknownCurrency(CurrencyId),
}

struct Commodity {
    name: String,
    decimals: u32,
}

/// Writes one consistent snapshot of the whole journal to `out`.
pub async fn export(database: &Database, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let mut connection = database.snapshot().await?;
    writeln!(out, "option \"title\" \"Souk\"\n")?;
    let commodities = commodities(&mut connection, out).await?;
    for row in connection.query(ACCOUNTS).all().await? {
        writeln!(out, "{FIRST_DAY} open {}", account_name(row.get("livemode")?, &row.get("account")?))?;
    }
    let mut after = String::new();
    let mut current = String::new();
    loop {
        let rows = connection.query(ENTRIES).bind(&after).bind(PAGE).all().await?;
        let Some(last) = rows.last() else { return Ok(()) };
        for row in &rows {
            let id: String = row.get("id")?;
            if id != current {
                head(row, &id, out)?;
                current = id;
            }
            posting(row, &commodities, out)?;
        }
        after = last.get("id")?;
    }
}

async fn commodities(connection: &mut Connection, out: &mut (dyn Write + Send)) -> Result<HashMap<CurrencyId, Commodity>, ExportError> {
    let mut commodities = HashMap::new();
    let mut used_symbols: BTreeMap<String, u32> = BTreeMap::new();
    for row in connection.query(CURRENCIES).all().await? {
        let (id, symbol): (CurrencyId, String) = (row.get("id")?, row.get("symbol")?);
        let symbol = commodity_name(&symbol);
        let number = used_symbols.entry(symbol.clone()).or_default();
        *number += 1;
        let name = if *number == 1 { symbol } else { format!("{symbol}-{number}") };
        writeln!(out, "{FIRST_DAY} commodity {name}\n  id: \"{id}\"\n  name: {}", quoted(&row.get::<String>("name")?))?;
        commodities.insert(id, Commodity { name, decimals: row.get("decimals")? });
    }
    writeln!(out)?;
    Ok(commodities)
}

fn head(row: &Row, id: &str, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let (at, kind, subject): (Timestamp, EntryType, String) = (row.get("posted_at")?, row.get("type")?, row.get("subject")?);
    let at = at.to_iso();
    let day = at.get(..10).unwrap_or(FIRST_DAY);
    writeln!(out, "\n{day} * \"{}\" {}\n  id: \"{id}\"\n  at: \"{at}\"", kind.name(), quoted(&subject))?;
    Ok(())
}

fn posting(row: &Row, commodities: &HashMap<CurrencyId, Commodity>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    let (currency, amount, side): (CurrencyId, Amount, Side) = (row.get("currency_id")?, row.get("amount")?, row.get("side")?);
    let Some(commodity) = commodities.get(&currency) else { return Err(ExportError::UnknownCurrency(currency)) };
    let sign = if side == Side::Credit && !amount.is_zero() { "-" } else { "" };
    let account = account_name(row.get("livemode")?, &row.get("account")?);
    writeln!(out, "  {account}  {sign}{} {}", amount.to_decimal(commodity.decimals), commodity.name)?;
    Ok(())
}

/// Builds a beancount account name: a predefined first part, then parts of letters, digits and dashes that begin with a capital letter or
/// a digit.
fn account_name(mode: Mode, account: &Account) -> String {
    let mode = if mode.is_live() { "Live" } else { "Test" };
    let part = |id: &str| {
        let mut letters = id.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    match account {
        Account::Cash(method) => format!("Assets:{mode}:Cash:{}", part(method)),
        Account::Receivable => format!("Assets:{mode}:Receivable"),
        Account::StakesHeld(method) => format!("Assets:{mode}:StakesHeld:{}", part(method)),
        Account::Disputes => format!("Assets:{mode}:Disputes"),
        Account::StakesPayable => format!("Liabilities:{mode}:StakesPayable"),
        Account::CustomerBalance => format!("Liabilities:{mode}:CustomerBalance"),
        Account::RefundsPayable => format!("Liabilities:{mode}:RefundsPayable"),
        Account::Payable(beneficiary) => format!("Liabilities:{mode}:Payable:{}", part(beneficiary)),
        Account::Suspense => format!("Liabilities:{mode}:Suspense"),
        Account::Revenue => format!("Income:{mode}:Revenue"),
        Account::Fees => format!("Expenses:{mode}:Fees"),
    }
}

/// Builds a commodity name of capital letters and digits that begins with a letter. A symbol without any letters or digits becomes `X`.
fn commodity_name(symbol: &str) -> String {
    let letters: String = symbol.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_uppercase()).take(16).collect();
    match letters.chars().next() {
        Some(first) if first.is_ascii_uppercase() && letters.len() > 1 => letters,
        _ => format!("X{letters}X"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ones_that_beancount_takes() {
        let cash = Account::Cash("pm_sandbox_1_wallet".to_owned());
        assert_eq!(account_name(Mode::Test, &cash), "Assets:Test:Cash:Pm-sandbox-1-wallet");
        assert_eq!(account_name(Mode::Live, &Account::StakesPayable), "Liabilities:Live:StakesPayable");
        assert_eq!(account_name(Mode::Live, &Account::payable("z1abC")), "Liabilities:Live:Payable:Z1abC");
        for (symbol, name) in [("USD", "USD"), ("usd.e", "USDE"), ("$", "XX"), ("1INCH", "X1INCHX"), ("T", "XTX")] {
            assert_eq!(commodity_name(symbol), name);
        }
    }
}
