//! The input of payment currencies.

use crate::problem::Problem;
use poem_openapi::Object;
use souk_domain::payment::{CurrencyFields, NewCurrency};
use souk_domain::shared::MethodId;

/// Fields of a currency. In an update an absent field keeps its value; method, decimals and contract cannot be changed.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PaymentCurrencyInput")]
pub struct CurrencyInputModel {
    /// Required for a new currency.
    pub payment_method_id: Option<String>,
    /// Decimal places; default of a new currency: 18 for tokens, 2 for cards.
    pub decimal: Option<u32>,
    /// The token's address on its chain, or the ISO 4217 code; required for a new currency.
    pub contract: Option<String>,
    pub active: Option<bool>,
    pub name: Option<String>,
    pub symbol: Option<String>,
    pub logo: Option<String>,
    /// Maximum number of decimal places in an entered amount.
    pub maximum_precision: Option<u32>,
    pub is_base_currency: Option<bool>,
}

impl CurrencyInputModel {
    /// The immutable fields of a new currency.
    pub fn identity(&self) -> Result<NewCurrency, Problem> {
        let method = self.payment_method_id.as_deref().and_then(|id| MethodId::parse(id).ok());
        Ok(NewCurrency {
            method_id: method
                .ok_or_else(|| Problem::invalid_value("payment_method_id", "payment_method_id is not the id of a payment method"))?,
            decimals: self.decimal,
            contract: self.contract.clone().ok_or_else(|| Problem::required("contract"))?,
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
