//! What is typed into a price.

use crate::exact::Decimal;
use crate::problem::Problem;
use crate::routes::checkout_sessions::PriceModel;
use crate::routes::input::read_metadata;
use poem_openapi::{Enum, Object};
use souk_domain::pricing::PriceFields;
use souk_domain::shared::CurrencyId;

#[derive(Debug, Clone, Object)]
#[oai(rename = "CurrencyOptionInput")]
pub struct OptionInputModel {
    pub currency_id: String,
    /// A human decimal.
    pub unit_amount: Decimal,
}

/// Fields of a price. In an update an absent field keeps its value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PriceInput")]
pub struct PriceInputModel {
    pub product_id: Option<String>,
    pub active: Option<bool>,
    pub nickname: Option<String>,
    pub lookup_key: Option<String>,
    /// `one_time`.
    #[oai(rename = "type")]
    pub kind: Option<String>,
    pub recurring: Option<serde_json::Value>,
    /// `per_unit`.
    pub billing_scheme: Option<String>,
    /// Absent in a new price: the base currency.
    pub currency_id: Option<String>,
    /// A human decimal, with at most as many digits after the point as the currency's maximum precision.
    pub unit_amount: Option<Decimal>,
    pub currency_options: Option<Vec<OptionInputModel>>,
    /// 0: without limit.
    pub quantity_available: Option<u64>,
    /// 0: without limit.
    pub quantity_limit_per_checkout: Option<u64>,
    pub metadata: Option<serde_json::Value>,
}

impl PriceInputModel {
    pub fn read(self) -> Result<PriceFields, Problem> {
        let recurs = self.recurring.is_some_and(|recurring| !recurring.is_null());
        if recurs || self.kind.is_some_and(|kind| kind != "one_time") {
            return Err(Problem::bad("Unsupported recurring interval"));
        }
        if self.billing_scheme.is_some_and(|scheme| scheme != "per_unit") {
            return Err(Problem::bad("billing_scheme must be per_unit"));
        }
        let option = |option: OptionInputModel| Ok((currency(&option.currency_id)?, option.unit_amount.0));
        let options = self.currency_options.map(|options| options.into_iter().map(option).collect::<Result<_, Problem>>());
        Ok(PriceFields {
            active: self.active,
            nickname: self.nickname,
            lookup_key: self.lookup_key,
            currency_id: self.currency_id.as_deref().map(currency).transpose()?,
            unit_amount: self.unit_amount.map(|amount| amount.0),
            currency_options: options.transpose()?,
            quantity_available: self.quantity_available,
            quantity_limit_per_checkout: self.quantity_limit_per_checkout,
            metadata: self.metadata.map(read_metadata).transpose()?.map(|(metadata, _)| metadata),
        })
    }
}

fn currency(text: &str) -> Result<CurrencyId, Problem> {
    CurrencyId::parse(text).map_err(|_| Problem::bad("currency_id is not the id of a currency"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "InventoryAction", rename_all = "snake_case")]
pub enum InventoryAction {
    Increment,
    Decrement,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Inventory")]
pub struct InventoryModel {
    pub quantity: u64,
    pub action: InventoryAction,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PriceList")]
pub struct PriceListModel {
    pub count: u64,
    pub list: Vec<PriceModel>,
}
