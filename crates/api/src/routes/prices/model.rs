//! The input of prices.

use crate::lossless_json::Decimal;
use crate::problem::Problem;
use crate::routes::input::{clearable_id, read_metadata};
use crate::routes::prices::{PriceModel, UpsellModel};
use poem_openapi::{Enum, Object};
use souk_domain::pricing::{
    Aggregate, Anchoring, CustomFields, PriceFields, PricingFields, Recurring, RecurringInterval, TierFields, TiersMode, Usage,
};
use souk_domain::shared::CurrencyId;

#[derive(Debug, Clone, Object)]
#[oai(rename = "TierInput")]
pub struct TierInputModel {
    /// The last unit of the tier; absent in the last tier.
    pub up_to: Option<u64>,
    /// A human decimal; absent: 0.
    pub unit_amount: Option<Decimal>,
    /// A human decimal, due once when the tier is reached; absent: 0.
    pub flat_amount: Option<Decimal>,
}

/// A custom amount that the buyer chooses. All values are human decimals.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomUnitAmountInput")]
pub struct CustomAmountInputModel {
    pub preset: Option<Decimal>,
    #[oai(default)]
    pub presets: Vec<Decimal>,
    pub minimum: Option<Decimal>,
    pub maximum: Option<Decimal>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CurrencyOptionInput")]
pub struct OptionInputModel {
    pub currency_id: String,
    /// A human decimal; absent with tiers or a custom amount.
    pub unit_amount: Option<Decimal>,
    pub tiers: Option<Vec<TierInputModel>>,
    pub custom_unit_amount: Option<CustomAmountInputModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "RecurringInput")]
pub struct RecurringInputModel {
    /// hour, day, week, month or year.
    pub interval: String,
    /// Absent: 1.
    pub interval_count: Option<u32>,
    /// licensed (the default) or metered.
    pub usage_type: Option<String>,
    /// Of a metered price: sum (the default), last_during_period or max.
    pub aggregate_usage: Option<String>,
    /// The length of months and years: `fixed` (30 and 365 days, the default) or `calendar`.
    pub anchoring: Option<String>,
}

impl RecurringInputModel {
    fn read(&self) -> Result<Recurring, Problem> {
        let anchoring = Anchoring::from_name(self.anchoring.as_deref().unwrap_or("fixed"));
        let anchoring = anchoring.ok_or_else(|| Problem::invalid_value("anchoring", "anchoring must be fixed or calendar"))?;
        let cycle = RecurringInterval::named(&self.interval, self.interval_count.unwrap_or(1), anchoring)?;
        let usage = match (self.usage_type.as_deref().unwrap_or("licensed"), self.aggregate_usage.as_deref().unwrap_or("sum")) {
            ("licensed", _) => Usage::Licensed,
            ("metered", name) => {
                let invalid = || Problem::invalid_value("aggregate_usage", "aggregate_usage must be sum, last_during_period or max");
                Usage::Metered(Aggregate::from_name(name).ok_or_else(invalid)?)
            }
            _ => return Err(Problem::invalid_value("usage_type", "usage_type must be licensed or metered")),
        };
        Ok(Recurring { cycle, usage })
    }
}

/// Fields of a price. In an update an absent field keeps its value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PriceInput")]
pub struct PriceInputModel {
    pub product_id: Option<String>,
    pub active: Option<bool>,
    pub nickname: Option<String>,
    pub lookup_key: Option<String>,
    /// `one_time` or `recurring`; derived from `recurring`.
    #[oai(rename = "type")]
    pub kind: Option<String>,
    /// Cannot be changed after creation. Absent in a new price: a one-time price.
    pub recurring: Option<RecurringInputModel>,
    /// `per_unit` or `tiered`; derived from `tiers`.
    pub billing_scheme: Option<String>,
    /// `graduated` or `volume`; with tiers.
    pub tiers_mode: Option<String>,
    /// An empty list in an update makes the price `per_unit` again.
    pub tiers: Option<Vec<TierInputModel>>,
    /// The buyer chooses the amount.
    pub custom_unit_amount: Option<CustomAmountInputModel>,
    pub upsell: Option<UpsellModel>,
    /// Default of a new price: the base currency.
    pub currency_id: Option<String>,
    /// A human decimal with at most as many decimal places as the currency's maximum precision.
    pub unit_amount: Option<Decimal>,
    pub currency_options: Option<Vec<OptionInputModel>>,
    /// 0: no limit.
    pub quantity_available: Option<u64>,
    /// 0: no limit.
    pub quantity_limit_per_checkout: Option<u64>,
    pub metadata: Option<serde_json::Value>,
}

impl PriceInputModel {
    /// `is_new`: the price is being created, so that an absent field cannot keep a stored value.
    pub fn read(self, is_new: bool) -> Result<PriceFields, Problem> {
        let recurs = self.recurring.is_some();
        match self.kind.as_deref() {
            Some("recurring") if recurs || !is_new => {}
            Some("recurring") => return Err(Problem::required("recurring")),
            Some("one_time") if recurs => return Err(Problem::invalid_value("recurring", "recurring is not for prices of type one_time")),
            None | Some("one_time") => {}
            Some(_) => return Err(Problem::invalid_value("type", "type must be one_time or recurring")),
        }
        let tiered = self.tiers.as_ref().is_some_and(|tiers| !tiers.is_empty());
        match self.billing_scheme.as_deref() {
            Some("tiered") if tiered || !is_new => {}
            Some("tiered") => return Err(Problem::bad("tiers are required").code("REQUIRED").param("field", "tiers")),
            Some("per_unit") if tiered => return Err(Problem::invalid_value("billing_scheme", "billing_scheme must be tiered")),
            None | Some("per_unit") => {}
            Some(_) => return Err(Problem::invalid_value("billing_scheme", "billing_scheme must be per_unit or tiered")),
        }
        let mode = |name: String| {
            TiersMode::from_name(&name).ok_or_else(|| Problem::invalid_value("tiers_mode", "tiers_mode must be graduated or volume"))
        };
        let option = |option: OptionInputModel| {
            Ok((currency(&option.currency_id)?, pricing(option.unit_amount, option.tiers, option.custom_unit_amount)))
        };
        let options = self.currency_options.map(|options| options.into_iter().map(option).collect::<Result<_, Problem>>());
        let upsell = self.upsell.map(|upsell| clearable_id(&upsell.upsells_to_id)).transpose();
        Ok(PriceFields {
            active: self.active,
            nickname: self.nickname,
            lookup_key: self.lookup_key,
            currency_id: self.currency_id.as_deref().map(currency).transpose()?,
            pricing: pricing(self.unit_amount, self.tiers, self.custom_unit_amount),
            currency_options: options.transpose()?,
            recurring: self.recurring.map(|recurring| recurring.read()).transpose()?,
            tiers_mode: self.tiers_mode.map(mode).transpose()?,
            upsells_to: upsell.map_err(|_| Problem::invalid_value("upsells_to_id", "upsells_to_id is not the id of a price"))?,
            quantity_available: self.quantity_available,
            quantity_limit_per_checkout: self.quantity_limit_per_checkout,
            metadata: self.metadata.map(read_metadata).transpose()?.map(|input| input.metadata),
        })
    }
}

fn pricing(unit_amount: Option<Decimal>, tiers: Option<Vec<TierInputModel>>, custom: Option<CustomAmountInputModel>) -> PricingFields {
    let text = |decimal: Option<Decimal>| decimal.map(|decimal| decimal.0);
    let tier =
        |tier: TierInputModel| TierFields { up_to: tier.up_to, unit_amount: text(tier.unit_amount), flat_amount: text(tier.flat_amount) };
    let custom = custom.map(|custom| CustomFields {
        preset: text(custom.preset),
        presets: custom.presets.into_iter().map(|preset| preset.0).collect(),
        minimum: text(custom.minimum),
        maximum: text(custom.maximum),
    });
    PricingFields { unit_amount: text(unit_amount), tiers: tiers.map(|tiers| tiers.into_iter().map(tier).collect()), custom }
}

fn currency(text: &str) -> Result<CurrencyId, Problem> {
    CurrencyId::parse(text).map_err(|_| Problem::invalid_value("currency_id", "currency_id is not the id of a currency"))
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
