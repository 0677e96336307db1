//! How the store sells uploaded apps.

use super::columns::{read_json, to_json};
use super::{Connection, Row};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use souk_domain::access::Did;
use souk_domain::pricing::PriceShare;
use souk_domain::publishing::selling::{AppSale, AppSales, OneTimeTerms, SellingTerms};
use souk_domain::shared::{Amount, CurrencyId, Mode, StorageError};

const PUT: &str = "INSERT INTO app_sales (app, livemode, product_id, link_id, proposed, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (app, livemode) DO UPDATE SET product_id = excluded.product_id, link_id = excluded.link_id, proposed = excluded.proposed,
        updated_at = excluded.updated_at";

/// Terms; without a currency they are free.
#[derive(Serialize, Deserialize, Default)]
struct StoredTerms {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shares: Vec<StoredShare>,
}

#[derive(Serialize, Deserialize)]
struct StoredShare {
    beneficiary: String,
    millionths: u32,
}

impl StoredTerms {
    fn of(terms: &SellingTerms) -> Self {
        let SellingTerms::OneTime(OneTimeTerms { currency_id, amount, shares }) = terms else { return Self::default() };
        let share = |share: &PriceShare| StoredShare { beneficiary: share.beneficiary.to_string(), millionths: share.millionths };
        Self { currency_id: Some(currency_id.to_string()), amount: Some(amount.to_string()), shares: shares.iter().map(share).collect() }
    }

    /// `None`: the currency or the amount is not valid.
    fn read(self) -> Option<SellingTerms> {
        let Some(currency_id) = self.currency_id else { return Some(SellingTerms::Free) };
        let share = |stored: StoredShare| PriceShare { beneficiary: Did::from_verified(stored.beneficiary), millionths: stored.millionths };
        Some(SellingTerms::OneTime(OneTimeTerms {
            currency_id: CurrencyId::parse(&currency_id).ok()?,
            amount: Amount::parse_base_units(&self.amount?).ok()?,
            shares: self.shares.into_iter().map(share).collect(),
        }))
    }
}

pub struct SqlAppSales<'s>(pub &'s mut Connection);

#[async_trait]
impl AppSales for SqlAppSales<'_> {
    async fn find(&mut self, app: &Did, mode: Mode) -> Result<Option<AppSale>, StorageError> {
        let query = self.0.query("SELECT * FROM app_sales WHERE app = $1 AND livemode = $2").bind(app).bind(mode);
        query.optional().await?.as_ref().map(read).transpose()
    }

    async fn of_app(&mut self, app: &Did) -> Result<Vec<AppSale>, StorageError> {
        let query = self.0.query("SELECT * FROM app_sales WHERE app = $1 ORDER BY livemode").bind(app);
        query.all().await?.iter().map(read).collect()
    }

    async fn put(&mut self, sale: &AppSale) -> Result<(), StorageError> {
        let proposed = sale.proposed.as_ref().map(|terms| to_json(&StoredTerms::of(terms))).transpose()?;
        let query = self.0.query(PUT).bind(&sale.app).bind(sale.mode).bind(sale.product_id.as_ref()).bind(sale.link_id.as_ref());
        query.bind(proposed).bind(sale.updated_at).execute().await.map(drop)
    }
}

fn read(row: &Row) -> Result<AppSale, StorageError> {
    let proposed: Option<serde_json::Value> = row.get("proposed")?;
    let proposed = match proposed {
        Some(_) => {
            let stored: StoredTerms = read_json(row, "app_sales", "proposed")?;
            let corrupt = || StorageError::Corrupt { table: "app_sales", column: "proposed", value: String::new() };
            Some(stored.read().ok_or_else(corrupt)?)
        }
        None => None,
    };
    Ok(AppSale {
        app: row.get("app")?,
        mode: row.get("livemode")?,
        product_id: row.get("product_id")?,
        link_id: row.get("link_id")?,
        proposed,
        updated_at: row.get("updated_at")?,
    })
}
