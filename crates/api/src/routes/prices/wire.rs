//! The wire format of products and prices (payment-kit.md 2). All amounts are strings in base units.

use poem_openapi::Object;
use souk_domain::pricing::{CurrencyOption, CustomAmount, Price, Product, Recurring, Tier, Usage};
use souk_domain::shared::Amount;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Recurring", skip_serializing_if_is_none)]
pub struct RecurringModel {
    /// hour, day, week, month or year.
    pub interval: String,
    pub interval_count: u32,
    /// licensed or metered.
    pub usage_type: String,
    /// `sum`, `last_during_period` or `max`, for a metered price.
    pub aggregate_usage: Option<String>,
    /// The length of months and years: `fixed` (30 and 365 days) or `calendar`.
    pub anchoring: String,
}

impl From<Recurring> for RecurringModel {
    fn from(recurring: Recurring) -> Self {
        let aggregate = match recurring.usage {
            Usage::Licensed => None,
            Usage::Metered(aggregate) => Some(aggregate.name().to_owned()),
        };
        Self {
            interval: recurring.cycle.interval.name().to_owned(),
            interval_count: recurring.cycle.count,
            usage_type: if aggregate.is_some() { "metered" } else { "licensed" }.to_owned(),
            aggregate_usage: aggregate,
            anchoring: recurring.cycle.anchoring.name().to_owned(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Tier", skip_serializing_if_is_none)]
pub struct TierModel {
    /// The last unit of the tier; absent in the last tier, which is unlimited.
    pub up_to: Option<u64>,
    pub unit_amount: String,
    pub flat_amount: String,
}

fn tier_models(tiers: &[Tier]) -> Option<Vec<TierModel>> {
    let tier =
        |tier: &Tier| TierModel { up_to: tier.up_to, unit_amount: tier.unit_amount.to_string(), flat_amount: tier.flat_amount.to_string() };
    (!tiers.is_empty()).then(|| tiers.iter().map(tier).collect())
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomUnitAmount", skip_serializing_if_is_none)]
pub struct CustomAmountModel {
    pub preset: Option<String>,
    pub presets: Vec<String>,
    pub minimum: Option<String>,
    pub maximum: Option<String>,
}

impl From<&CustomAmount> for CustomAmountModel {
    fn from(custom: &CustomAmount) -> Self {
        let text = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        Self {
            preset: text(custom.preset),
            presets: custom.presets.iter().map(ToString::to_string).collect(),
            minimum: text(custom.minimum),
            maximum: text(custom.maximum),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CurrencyOption", skip_serializing_if_is_none)]
pub struct CurrencyOptionModel {
    pub currency_id: String,
    /// Base units.
    pub unit_amount: String,
    pub tiers: Option<Vec<TierModel>>,
    pub custom_unit_amount: Option<CustomAmountModel>,
}

impl From<&CurrencyOption> for CurrencyOptionModel {
    fn from(option: &CurrencyOption) -> Self {
        Self {
            currency_id: option.currency_id.to_string(),
            unit_amount: option.unit_amount.to_string(),
            tiers: tier_models(&option.tiers),
            custom_unit_amount: option.custom.as_ref().map(CustomAmountModel::from),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Upsell", skip_serializing_if_is_none)]
pub struct UpsellModel {
    /// An empty string in an update clears it.
    pub upsells_to_id: String,
    #[oai(read_only)]
    pub upsells_to: Option<Box<PriceModel>>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CrossSell")]
pub struct CrossSellModel {
    /// An empty string in an update clears it.
    pub cross_sells_to_id: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ProductFeature")]
pub struct FeatureModel {
    pub name: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Product", skip_serializing_if_is_none)]
pub struct ProductModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub active: bool,
    #[oai(rename = "type")]
    pub kind: String,
    pub name: String,
    /// Absent: `name` is used in every language. This also applies to `description_zh` and `unit_label_zh`.
    pub name_zh: Option<String>,
    pub description: String,
    pub description_zh: Option<String>,
    pub images: Vec<String>,
    pub features: Vec<FeatureModel>,
    pub unit_label: Option<String>,
    pub unit_label_zh: Option<String>,
    pub statement_descriptor: Option<String>,
    pub default_price_id: Option<String>,
    /// The app that a purchase grants access to.
    pub app_did: Option<String>,
    pub cross_sell: Option<CrossSellModel>,
    pub metadata: BTreeMap<String, String>,
    pub prices: Option<Vec<PriceModel>>,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Product> for ProductModel {
    fn from(product: &Product) -> Self {
        Self {
            id: product.id.to_string(),
            object: "product".to_owned(),
            livemode: product.mode.is_live(),
            active: product.active,
            kind: "good".to_owned(),
            name: product.name.clone(),
            name_zh: product.name_zh.clone(),
            description: product.description.clone(),
            description_zh: product.description_zh.clone(),
            images: product.images.clone(),
            features: product.features.iter().map(|name| FeatureModel { name: name.clone() }).collect(),
            unit_label: product.unit_label.clone(),
            unit_label_zh: product.unit_label_zh.clone(),
            statement_descriptor: product.statement_descriptor.clone(),
            default_price_id: product.default_price_id.as_ref().map(ToString::to_string),
            app_did: product.app.as_ref().map(ToString::to_string),
            cross_sell: product.cross_sells_to.as_ref().map(|id| CrossSellModel { cross_sells_to_id: id.to_string() }),
            metadata: product.metadata.clone(),
            prices: None,
            created_at: product.created_at.to_iso(),
            updated_at: product.updated_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Price", skip_serializing_if_is_none)]
pub struct PriceModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub active: bool,
    /// Whether something has referred to the price, so that its amounts are fixed. A locked price can be replaced.
    pub locked: bool,
    /// The price that replaced it. Sessions that were open then still sell this one.
    pub replaced_by: Option<String>,
    #[oai(rename = "type")]
    pub kind: String,
    pub billing_scheme: String,
    pub product_id: String,
    pub nickname: String,
    pub lookup_key: Option<String>,
    pub currency_id: String,
    /// Base units.
    pub unit_amount: String,
    pub currency_options: Vec<CurrencyOptionModel>,
    pub recurring: Option<RecurringModel>,
    /// `graduated` or `volume`; with tiers.
    pub tiers_mode: Option<String>,
    pub tiers: Option<Vec<TierModel>>,
    pub custom_unit_amount: Option<CustomAmountModel>,
    pub upsell: Option<UpsellModel>,
    /// Of the stock, which the prices that replaced each other share.
    pub quantity_available: u64,
    /// Of the stock, like `quantity_available`.
    pub quantity_sold: u64,
    pub quantity_limit_per_checkout: u64,
    pub metadata: BTreeMap<String, String>,
    pub product: Option<Box<ProductModel>>,
    pub created_at: String,
    pub updated_at: String,
}

impl From<&Price> for PriceModel {
    fn from(price: &Price) -> Self {
        Self {
            id: price.id.to_string(),
            object: "price".to_owned(),
            livemode: price.mode.is_live(),
            active: price.active,
            locked: price.locked,
            replaced_by: price.replaced_by.as_ref().map(ToString::to_string),
            kind: if price.is_recurring() { "recurring" } else { "one_time" }.to_owned(),
            billing_scheme: if price.tiers_mode.is_some() { "tiered" } else { "per_unit" }.to_owned(),
            product_id: price.product_id.to_string(),
            nickname: price.nickname.clone(),
            lookup_key: price.lookup_key.clone(),
            currency_id: price.currency_id.to_string(),
            unit_amount: price.unit_amount.to_string(),
            currency_options: price.currency_options.iter().map(CurrencyOptionModel::from).collect(),
            recurring: price.recurring.map(RecurringModel::from),
            tiers_mode: price.tiers_mode.map(|mode| mode.name().to_owned()),
            tiers: tier_models(&price.tiers),
            custom_unit_amount: price.custom.as_ref().map(CustomAmountModel::from),
            upsell: price.upsells_to.as_ref().map(|id| UpsellModel { upsells_to_id: id.to_string(), upsells_to: None }),
            quantity_available: price.quantity_available,
            quantity_sold: price.quantity_sold,
            quantity_limit_per_checkout: price.quantity_limit_per_checkout,
            metadata: price.metadata.clone(),
            product: None,
            created_at: price.created_at.to_iso(),
            updated_at: price.updated_at.to_iso(),
        }
    }
}

impl PriceModel {
    #[must_use]
    pub fn with_product(self, product: Option<&Product>) -> Self {
        Self { product: product.map(|product| Box::new(ProductModel::from(product))), ..self }
    }

    /// Adds the upsell price if `target` is the price that this one upsells to.
    #[must_use]
    pub fn with_upsell(mut self, target: Option<Self>) -> Self {
        if let Some(upsell) = &mut self.upsell {
            upsell.upsells_to = target.filter(|target| target.id == upsell.upsells_to_id).map(Box::new);
        }
        self
    }
}
