//! Applies entered fields to a price.

use super::unit_pricing::check_rates;
use super::{CurrencyOption, LIST_MAX, Metadata, Price, PriceAmountsError, PricingFields, Product, Recurring, STOCK_MAX, TiersMode};
use crate::context::Context;
use crate::shared::{Amount, CurrencyId, InputError, NAME_MAX, PriceId, StorageError, check_count, check_metadata, check_text};
use crate::storage::UnitOfWork;

/// Why the fields of a price are rejected, whether it is new or changed.
#[derive(Debug, thiserror::Error)]
pub enum PriceFieldsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("lookup_key may not look like the id of a price")]
    LookupKeyIsId,
    #[error("lookup_key belongs to another price")]
    LookupKeyTaken,
    #[error(transparent)]
    Amounts(#[from] PriceAmountsError),
    #[error("upsells_to_id must name a recurring price of this product with a longer interval")]
    NoSuchUpsell,
    #[error(transparent)]
    Storage(StorageError),
}

/// The lookup key is the only unique column that an owner enters.
impl From<StorageError> for PriceFieldsError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Duplicate(_) => Self::LookupKeyTaken,
            other => Self::Storage(other),
        }
    }
}

/// Fields of a price. Absent ones keep their value, or are empty in a new price. An empty text clears a field. Amounts are decimal text (`"0.01"`), parsed by their currency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceFields {
    pub active: Option<bool>,
    pub nickname: Option<String>,
    pub lookup_key: Option<String>,
    /// Absent in a new price: the store's base currency.
    pub currency_id: Option<CurrencyId>,
    /// In a change, each present part replaces the old one; an empty list of tiers removes the tiers.
    pub pricing: PricingFields,
    pub currency_options: Option<Vec<(CurrencyId, PricingFields)>>,
    /// Cannot be changed later. Absent in a new price: a one-time price.
    pub recurring: Option<Recurring>,
    pub tiers_mode: Option<TiersMode>,
    /// `Some(None)` clears the field.
    pub upsells_to: Option<Option<PriceId>>,
    pub quantity_available: Option<u64>,
    pub quantity_limit_per_checkout: Option<u64>,
    pub metadata: Option<Metadata>,
}

/// Creates a price of a product, in a unit of work that holds the management lock.
pub async fn new_price(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    product: &Product,
    fields: PriceFields,
) -> Result<Price, PriceFieldsError> {
    let now = ctx.now();
    if fields.pricing.is_empty() {
        return Err(InputError::Required("unit_amount").into());
    }
    let currencies = unit.methods().currencies(product.mode).await?;
    let base = currencies.iter().find(|currency| currency.is_base).or(currencies.first());
    let currency_id =
        fields.currency_id.clone().or_else(|| base.map(|currency| currency.id.clone())).ok_or(PriceAmountsError::NoSuchCurrency)?;
    let blank = Price {
        id: PriceId::new(now, ctx.random.as_ref()),
        mode: product.mode,
        product_id: product.id.clone(),
        active: true,
        locked: false,
        replaced_by: None,
        nickname: String::new(),
        lookup_key: None,
        currency_id,
        unit_amount: Amount::ZERO,
        currency_options: Vec::new(),
        recurring: fields.recurring,
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: 0,
        quantity_sold: 0,
        quantity_limit_per_checkout: 0,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    let price = with_price_fields(unit, blank, fields).await?;
    unit.prices().insert(&price).await?;
    Ok(price)
}

/// Applies fields to a price, except `recurring`. The stock of an existing price is set separately.
pub(super) async fn with_price_fields(unit: &mut dyn UnitOfWork, mut price: Price, fields: PriceFields) -> Result<Price, PriceFieldsError> {
    let currencies = unit.methods().currencies(price.mode).await?;
    price.active = fields.active.unwrap_or(price.active);
    if price.active {
        price.replaced_by = None;
    }
    if let Some(nickname) = fields.nickname {
        price.nickname = check_text("nickname", &nickname, NAME_MAX)?;
    }
    if let Some(key) = fields.lookup_key {
        let key = check_text("lookup_key", &key, NAME_MAX)?;
        if PriceId::parse(&key).is_ok() {
            return Err(PriceFieldsError::LookupKeyIsId);
        }
        price.lookup_key = Some(key).filter(|key| !key.is_empty());
    }
    if let Some(currency_id) = fields.currency_id {
        // A new currency requires new amounts.
        if currency_id != price.currency_id && fields.pricing.is_empty() {
            return Err(InputError::Required("unit_amount").into());
        }
        price.currency_id = currency_id;
    }
    let PricingFields { unit_amount, tiers, custom } = &fields.pricing;
    let (has_unit, has_tiers, has_custom) = (unit_amount.is_some(), tiers.is_some(), custom.is_some());
    let pricing = fields.pricing.read(&currencies, price.currency_id.clone())?;
    if has_unit {
        price.unit_amount = pricing.unit_amount;
    }
    if has_tiers {
        price.tiers = pricing.tiers;
    }
    if has_custom {
        price.custom = pricing.custom;
    }
    price.tiers_mode = if price.tiers.is_empty() && has_tiers { None } else { fields.tiers_mode.or(price.tiers_mode) };
    if let Some(options) = fields.currency_options {
        check_count("currency_options", options.len() as u64, LIST_MAX as u64)?;
        let mut parsed: Vec<CurrencyOption> = Vec::with_capacity(options.len());
        for (currency_id, pricing) in options {
            if parsed.iter().any(|option| option.currency_id == currency_id) {
                return Err(PriceAmountsError::CurrencyTwice.into());
            }
            if pricing.is_empty() {
                return Err(InputError::Required("unit_amount").into());
            }
            parsed.push(pricing.read(&currencies, currency_id)?);
        }
        price.currency_options = parsed;
    }
    check_rates(&price)?;
    if let Some(target) = fields.upsells_to {
        price.upsells_to = match target {
            Some(target) => Some(find_upsell(unit, &price, &target).await?),
            None => None,
        };
    }
    if let Some(available) = fields.quantity_available {
        price.quantity_available = check_count("quantity_available", available, STOCK_MAX)?;
    }
    if let Some(limit) = fields.quantity_limit_per_checkout {
        price.quantity_limit_per_checkout = check_count("quantity_limit_per_checkout", limit, STOCK_MAX)?;
    }
    if let Some(metadata) = fields.metadata {
        check_metadata(&metadata)?;
        price.metadata = metadata;
    }
    Ok(price)
}

/// Finds the target of an upsell: a price of the same product with a longer cycle.
async fn find_upsell(unit: &mut dyn UnitOfWork, price: &Price, target: &PriceId) -> Result<PriceId, PriceFieldsError> {
    let found = unit.prices().find(target).await?.filter(|target| target.product_id == price.product_id);
    let target = found.ok_or(PriceFieldsError::NoSuchUpsell)?;
    match (price.recurring, target.recurring) {
        (Some(current), Some(longer)) if longer.cycle.seconds() > current.cycle.seconds() => Ok(target.id),
        _ => Err(PriceFieldsError::NoSuchUpsell),
    }
}
