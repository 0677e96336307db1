//! What is typed into a currency.

use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::payment::{CurrencyFields, NewCurrency};
use souk_domain::shared::MethodId;

/// Fields of a currency. In an update an absent field keeps its value; method, decimals and contract stay for good.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentCurrencyInput")]
pub struct CurrencyInputModel {
    /// Needed for a new currency.
    pub payment_method_id: Option<String>,
    /// Digits after the point; absent in a new currency: 18 for tokens, 2 for cards.
    pub decimal: Option<u32>,
    /// The token's address on its chain, or the ISO 4217 code; needed for a new currency.
    pub contract: Option<String>,
    pub active: Option<bool>,
    pub name: Option<String>,
    pub symbol: Option<String>,
    pub logo: Option<String>,
    /// How many digits after the point may be typed.
    pub maximum_precision: Option<u32>,
    pub is_base_currency: Option<bool>,
}

impl CurrencyInputModel {
    /// What makes a new currency for good.
    pub fn identity(&self) -> Result<NewCurrency, Problem> {
        let method = self.payment_method_id.as_deref().and_then(|id| MethodId::parse(id).ok());
        Ok(NewCurrency {
            method_id: method.ok_or_else(|| Problem::bad("payment_method_id is not the id of a payment method"))?,
            decimals: self.decimal,
            contract: self.contract.clone().ok_or_else(|| Problem::bad("contract is required"))?,
        })
    }
}

impl From<CurrencyInputModel> for CurrencyFields {
    fn from(model: CurrencyInputModel) -> Self {
        Self {
            active: model.active,
            name: model.name,
            symbol: model.symbol,
            logo: model.logo,
            maximum_precision: model.maximum_precision,
            is_base: model.is_base_currency,
        }
    }
}
