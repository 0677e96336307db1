//! Beneficiaries of sales, and the payouts to them.

use super::columns::keys;
use super::listing::{Listing, list, listing, sql_per_dialect};
use super::{Connection, Row, Sql};
use async_trait::async_trait;
use souk_domain::access::Did;
use souk_domain::billing::{AppEarning, Payee, Payees, SharePayout};
use souk_domain::shared::{Amount, AmountError, CurrencyId, Listed, Mode, Page, SharePayoutId, StorageError};
use std::collections::{HashMap, HashSet};

/// Sums of the amounts in four columns of ten digits each, because SQLite stores amounts as text and cannot add them. Each column adds up
/// exactly for 900 million rows.
macro_rules! parts {
    (sqlite) => {
        "SUM(CAST(substr(amount, 1, 9) AS INTEGER)) AS part1, SUM(CAST(substr(amount, 10, 10) AS INTEGER)) AS part2,
         SUM(CAST(substr(amount, 20, 10) AS INTEGER)) AS part3, SUM(CAST(substr(amount, 30, 10) AS INTEGER)) AS part4"
    };
    (postgres) => {
        "CAST(SUM(div(amount, 1e30)) AS BIGINT) AS part1, CAST(SUM(mod(div(amount, 1e20), 1e10)) AS BIGINT) AS part2,
         CAST(SUM(mod(div(amount, 1e10), 1e10)) AS BIGINT) AS part3, CAST(SUM(mod(amount, 1e10)) AS BIGINT) AS part4"
    };
}

/// The value of one step from a column of [`parts`] to the next.
const STEP: u64 = 10_000_000_000;

macro_rules! of_apps {
    ($engine:ident) => {
        concat!(
            "SELECT app, currency_id, count(*) AS sales, ",
            parts!($engine),
            " FROM sale_shares WHERE beneficiary = $1 AND livemode = $2 GROUP BY currency_id, app
              ORDER BY app IS NULL, app, currency_id LIMIT $3 OFFSET $4"
        )
    };
}
pub(super) const OF_APPS: Sql = Sql { sqlite: of_apps!(sqlite), postgres: of_apps!(postgres) };
const COUNT_APPS: &str = "SELECT count(*) AS n FROM (SELECT 1 AS found FROM sale_shares WHERE beneficiary = $1 AND livemode = $2
    GROUP BY currency_id, app) AS counted";

pub(super) const EARNED: Sql = Sql {
    sqlite: concat!(
        "SELECT beneficiary, currency_id, ",
        parts!(sqlite),
        " FROM sale_shares WHERE livemode = $1 AND beneficiary IN (SELECT value FROM json_each($2)) GROUP BY beneficiary, currency_id"
    ),
    postgres: concat!(
        "SELECT beneficiary, currency_id, ",
        parts!(postgres),
        " FROM sale_shares WHERE livemode = $1 AND beneficiary = ANY (ARRAY(SELECT jsonb_array_elements_text($2)))
          GROUP BY beneficiary, currency_id"
    ),
};
const PAGE: &str = "SELECT * FROM payees WHERE livemode = $1 ORDER BY beneficiary, currency_id LIMIT $2 OFFSET $3";
pub(super) const OF_BENEFICIARY: &str = "SELECT * FROM payees WHERE livemode = $1 AND beneficiary = $2 ORDER BY currency_id";
macro_rules! one {
    ($lock:literal) => {
        concat!("SELECT * FROM payees WHERE livemode = $1 AND beneficiary = $2 AND currency_id = $3", $lock)
    };
}
const LOCK: Sql = Sql { sqlite: one!(""), postgres: one!(" FOR UPDATE") };
const PAY_OUT: &str = "UPDATE payees SET recorded = $5 WHERE livemode = $1 AND beneficiary = $2 AND currency_id = $3 AND recorded = $4";
const TAKE_BACK: &str = "UPDATE payees SET reversed = $5 WHERE livemode = $1 AND beneficiary = $2 AND currency_id = $3 AND reversed = $4";
const INSERT: &str =
    "INSERT INTO share_payouts (id, livemode, beneficiary, currency_id, method_id, amount, paid_before, reverses, reason, recorded_by,
    created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const FIND_PAYOUT: &str = "SELECT * FROM share_payouts WHERE livemode = $1 AND id = $2";
/// Which of these payouts were reversed.
const REVERSED: Sql = sql_per_dialect!("SELECT reverses FROM share_payouts WHERE reverses " (among "$1"));
pub(super) const PAYOUTS: Listing = listing!("share_payouts", "livemode = $4 AND $5 IS NULL");
pub(super) const PAYOUTS_TO: Listing = listing!("share_payouts", "beneficiary = $5 AND livemode = $4").exact();

pub struct SqlPayees<'s>(pub &'s mut Connection);

impl SqlPayees<'_> {
    /// Adds what payees have earned.
    async fn with_earned(&mut self, mode: Mode, rows: &[Row]) -> Result<Vec<Payee>, StorageError> {
        let found = rows.iter().map(|row| row.get("beneficiary")).collect::<Result<Vec<Did>, _>>()?;
        let mut earned: HashMap<(Did, CurrencyId), Amount> = HashMap::new();
        if !found.is_empty() {
            for row in self.0.query_per_dialect(EARNED).bind(mode).bind(keys(&found)).all().await? {
                earned.insert((row.get("beneficiary")?, row.get("currency_id")?), sum(&row)?);
            }
        }
        let payee = |row: &Row| {
            let key = (row.get("beneficiary")?, row.get("currency_id")?);
            let earned = earned.get(&key).copied().unwrap_or_default();
            let (beneficiary, currency_id) = key;
            Ok(Payee { mode, beneficiary, currency_id, earned, recorded: row.get("recorded")?, reversed: row.get("reversed")? })
        };
        rows.iter().map(payee).collect()
    }

    /// Adds which of the payouts were reversed.
    async fn with_reversals(&mut self, mut payouts: Vec<SharePayout>) -> Result<Vec<SharePayout>, StorageError> {
        let ids: Vec<_> = payouts.iter().map(|payout| payout.id.clone()).collect();
        if ids.is_empty() {
            return Ok(payouts);
        }
        let rows = self.0.query_per_dialect(REVERSED).bind(keys(&ids)).all().await?;
        let reversed = rows.iter().map(|row| row.get("reverses")).collect::<Result<HashSet<SharePayoutId>, _>>()?;
        for payout in &mut payouts {
            payout.is_reversed = reversed.contains(&payout.id);
        }
        Ok(payouts)
    }

    async fn insert(&mut self, payout: &SharePayout) -> Result<(), StorageError> {
        self.0.note(&payout.id);
        let query = self.0.query(INSERT).bind(&payout.id).bind(payout.mode).bind(&payout.beneficiary).bind(&payout.currency_id);
        let query = query.bind(&payout.method_id).bind(payout.amount).bind(payout.paid_before).bind(payout.reverses.as_ref());
        query.bind(&payout.reason).bind(&payout.recorded_by).bind(payout.created_at).execute().await.map(drop)
    }
}

/// The sum of a row with [`parts`].
fn sum(row: &Row) -> Result<Amount, StorageError> {
    let mut sum = Amount::ZERO;
    for part in ["part1", "part2", "part3", "part4"] {
        let part: u64 = row.get(part)?;
        sum = sum.times(STEP).and_then(|sum| sum.plus(Amount::new(u128::from(part)))).map_err(overflow)?;
    }
    Ok(sum)
}

fn overflow(error: AmountError) -> StorageError {
    StorageError::Driver(Box::new(error))
}

#[async_trait]
impl Payees for SqlPayees<'_> {
    async fn earnings(&mut self, mode: Mode, beneficiary: &Did, page: &Page) -> Result<Listed<AppEarning>, StorageError> {
        let count = self.0.query(COUNT_APPS).bind(beneficiary).bind(mode).one().await?.get("n")?;
        let query = self.0.query_per_dialect(OF_APPS).bind(beneficiary).bind(mode).bind(page.size).bind(page.offset());
        let earning = |row: &Row| {
            let (app, currency_id, sales) = (row.get("app")?, row.get("currency_id")?, row.get("sales")?);
            Ok(AppEarning { app, currency_id, earned: sum(row)?, sales })
        };
        Ok(Listed { count, list: query.all().await?.iter().map(earning).collect::<Result<_, StorageError>>()? })
    }

    async fn of_beneficiary(&mut self, mode: Mode, beneficiary: &Did) -> Result<Vec<Payee>, StorageError> {
        let rows = self.0.query(OF_BENEFICIARY).bind(mode).bind(beneficiary).all().await?;
        self.with_earned(mode, &rows).await
    }

    async fn list(&mut self, mode: Mode, page: &Page) -> Result<Listed<Payee>, StorageError> {
        let count = self.0.query("SELECT count(*) AS n FROM payees WHERE livemode = $1").bind(mode).one().await?.get("n")?;
        let rows = self.0.query(PAGE).bind(mode).bind(page.size).bind(page.offset()).all().await?;
        Ok(Listed { count, list: self.with_earned(mode, &rows).await? })
    }

    async fn lock(&mut self, mode: Mode, beneficiary: &Did, currency: &CurrencyId) -> Result<Option<Payee>, StorageError> {
        let row = self.0.query_per_dialect(LOCK).bind(mode).bind(beneficiary).bind(currency).optional().await?;
        let rows: Vec<_> = row.into_iter().collect();
        Ok(self.with_earned(mode, &rows).await?.pop())
    }

    async fn record(&mut self, payout: &SharePayout) -> Result<bool, StorageError> {
        let paid_out = payout.paid_before.plus(payout.amount).map_err(overflow)?;
        let query = self.0.query(PAY_OUT).bind(payout.mode).bind(&payout.beneficiary).bind(&payout.currency_id);
        if query.bind(payout.paid_before).bind(paid_out).execute().await? != 1 {
            return Ok(false);
        }
        self.insert(payout).await?;
        Ok(true)
    }

    async fn find_payout(&mut self, mode: Mode, id: &SharePayoutId) -> Result<Option<SharePayout>, StorageError> {
        let row = self.0.query(FIND_PAYOUT).bind(mode).bind(id).optional().await?;
        let found: Vec<_> = row.as_ref().map(payout).transpose()?.into_iter().collect();
        Ok(self.with_reversals(found).await?.pop())
    }

    async fn reverse(&mut self, reversal: &SharePayout, reversed_before: Amount) -> Result<bool, StorageError> {
        let reversed = reversed_before.plus(reversal.amount).map_err(overflow)?;
        let query = self.0.query(TAKE_BACK).bind(reversal.mode).bind(&reversal.beneficiary).bind(&reversal.currency_id);
        if query.bind(reversed_before).bind(reversed).execute().await? != 1 {
            return Ok(false);
        }
        self.insert(reversal).await?;
        Ok(true)
    }

    async fn payouts(&mut self, mode: Mode, beneficiary: Option<&Did>, page: &Page) -> Result<Listed<SharePayout>, StorageError> {
        let listing = if beneficiary.is_some() { &PAYOUTS_TO } else { &PAYOUTS };
        let listed = list(self.0, listing, page, |query| query.bind(mode).bind(beneficiary), payout).await?;
        Ok(Listed { count: listed.count, list: self.with_reversals(listed.list).await? })
    }
}

fn payout(row: &Row) -> Result<SharePayout, StorageError> {
    Ok(SharePayout {
        id: row.get("id")?,
        mode: row.get("livemode")?,
        beneficiary: row.get("beneficiary")?,
        currency_id: row.get("currency_id")?,
        method_id: row.get("method_id")?,
        amount: row.get("amount")?,
        paid_before: row.get("paid_before")?,
        reverses: row.get("reverses")?,
        is_reversed: false,
        reason: row.get("reason")?,
        recorded_by: row.get("recorded_by")?,
        created_at: row.get("created_at")?,
    })
}
