//! Manages the catalogue: creates, changes, archives and deletes products and prices.

use super::unit_pricing::check_rates;
use super::{CurrencyOption, Metadata, Price, PricingFields, Product, Recurring, TiersError, TiersMode};
use crate::access::Did;
use crate::context::Context;
use crate::shared::{
    Amount, AmountError, CurrencyId, DESCRIPTION_MAX, InputError, Mode, NAME_MAX, PriceId, ProductId, StorageError, check_address,
    check_count, check_list, check_metadata, check_name, check_text,
};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The most images or features of a product, prices created with it, and currency options of a price.
pub const LIST_MAX: usize = 20;
/// The highest stock or limit.
pub const STOCK_MAX: u64 = 1_000_000_000;
/// The maximum length of a unit label in characters.
const UNIT_LABEL_MAX: usize = 12;
/// The maximum length of a card statement descriptor in characters.
const STATEMENT_DESCRIPTOR_MAX: usize = 22;

#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("product_id does not name a product of this mode")]
    NoSuchProduct,
    #[error("currency_id does not name a currency of this mode")]
    NoSuchCurrency,
    #[error("currency_options name a currency twice")]
    CurrencyTwice,
    #[error("unit_amount is not valid: {0}")]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Tiers(TiersError),
    #[error("tiers are for recurring prices without custom_unit_amount")]
    TiersMisplaced,
    #[error("custom_unit_amount is for prices that are paid once")]
    CustomRecurring,
    #[error("custom_unit_amount must propose amounts between its minimum and its maximum")]
    CustomRange,
    #[error("recurring can't be changed; create another price")]
    RecurringFixed,
    /// The field of a price that something refers to.
    #[error("{0} can't be changed because the price is in use; replace the price instead")]
    Locked(&'static str),
    #[error("upsells_to_id must name a recurring price of this product with a longer interval")]
    NoSuchUpsell,
    #[error("cross_sells_to_id must name another product of this mode")]
    NoSuchCrossSell,
    #[error("app_did does not name an app")]
    NoSuchApp,
    #[error("default_price_id does not name a price of this product")]
    NoSuchPrice,
    #[error("lookup_key belongs to another price")]
    LookupKeyTaken,
    #[error("lookup_key may not look like the id of a price")]
    LookupKeyIsId,
    #[error("quantity_available must be above 0 and at least the sold quantity")]
    Stock,
    #[error("It is in use and can only be archived")]
    InUse,
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for CatalogueError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Duplicate(_) => Self::LookupKeyTaken,
            other => Self::Storage(other),
        }
    }
}

/// Fields of a product. Absent ones keep their value, or are empty in a new product. An empty text clears a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProductFields {
    pub active: Option<bool>,
    pub name: Option<String>,
    pub name_zh: Option<String>,
    pub description: Option<String>,
    pub description_zh: Option<String>,
    pub images: Option<Vec<String>>,
    pub features: Option<Vec<String>>,
    pub unit_label: Option<String>,
    pub unit_label_zh: Option<String>,
    pub statement_descriptor: Option<String>,
    pub default_price_id: Option<PriceId>,
    pub app: Option<Did>,
    /// `Some(None)` clears the field.
    pub cross_sells_to: Option<Option<ProductId>>,
    pub metadata: Option<Metadata>,
}

/// Fields of a price, likewise. Amounts are decimal text (`"0.01"`), parsed by their currency.
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

/// Creates a product with prices. The first price becomes its default.
#[tracing::instrument(skip_all)]
pub async fn create_product(
    ctx: &Context,
    mode: Mode,
    fields: ProductFields,
    prices: Vec<PriceFields>,
) -> Result<ProductId, CatalogueError> {
    check_count("prices", prices.len() as u64, LIST_MAX as u64)?;
    if fields.name.is_none() {
        return Err(InputError::Required("name").into());
    }
    let now = ctx.now();
    let blank = Product {
        id: ProductId::new(now, ctx.random.as_ref()),
        mode,
        active: true,
        name: String::new(),
        name_zh: None,
        description: String::new(),
        description_zh: None,
        images: Vec::new(),
        features: Vec::new(),
        unit_label: None,
        unit_label_zh: None,
        statement_descriptor: None,
        default_price_id: None,
        app: None,
        cross_sells_to: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let mut product = with_product_fields(unit.as_mut(), blank, ProductFields { default_price_id: None, ..fields }).await?;
    unit.products().insert(&product).await?;
    for fields in prices {
        let price = new_price(ctx, unit.as_mut(), &product, fields).await?;
        product.default_price_id.get_or_insert(price.id);
    }
    if product.default_price_id.is_some() {
        unit.products().update(&product).await?;
    }
    unit.commit().await?;
    Ok(product.id)
}

#[tracing::instrument(skip_all, fields(product = %id))]
pub async fn change_product(ctx: &Context, mode: Mode, id: &ProductId, fields: ProductFields) -> Result<(), CatalogueError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = find_product(unit.as_mut(), mode, id).await?;
    let product = with_product_fields(unit.as_mut(), Product { updated_at: ctx.now(), ..product }, fields).await?;
    unit.products().update(&product).await?;
    unit.commit().await?;
    Ok(())
}

/// Archives a product and its prices, so that they are no longer sold. Existing purchases keep them.
#[tracing::instrument(skip_all, fields(product = %id))]
pub async fn archive_product(ctx: &Context, mode: Mode, id: &ProductId) -> Result<(), CatalogueError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = find_product(unit.as_mut(), mode, id).await?;
    let prices = unit.prices().of_products(std::slice::from_ref(id)).await?;
    for price in prices.into_iter().filter(|price| price.active) {
        unit.prices().update(&Price { active: false, updated_at: now, ..price }).await?;
    }
    unit.products().update(&Product { active: false, updated_at: now, ..product }).await?;
    unit.commit().await?;
    Ok(())
}

/// Deletes a product that has no prices.
#[tracing::instrument(skip_all, fields(product = %id))]
pub async fn delete_product(ctx: &Context, mode: Mode, id: &ProductId) -> Result<(), CatalogueError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    find_product(unit.as_mut(), mode, id).await?;
    if !unit.products().delete(id).await? {
        return Err(CatalogueError::InUse);
    }
    unit.commit().await?;
    Ok(())
}

#[tracing::instrument(skip_all, fields(%product))]
pub async fn create_price(ctx: &Context, mode: Mode, product: &ProductId, fields: PriceFields) -> Result<PriceId, CatalogueError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = unit.products().find(product).await?.filter(|product| product.mode == mode).ok_or(CatalogueError::NoSuchProduct)?;
    let price = new_price(ctx, unit.as_mut(), &product, fields).await?;
    unit.commit().await?;
    Ok(price.id)
}

/// Deletes a price that no purchase, reservation, link or product refers to.
#[tracing::instrument(skip_all, fields(name))]
pub async fn delete_price(ctx: &Context, mode: Mode, name: &str) -> Result<PriceId, CatalogueError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    if !unit.prices().delete(&price.id).await? {
        return Err(CatalogueError::InUse);
    }
    unit.commit().await?;
    Ok(price.id)
}

/// Adds to the stock, or removes from it if `step` is negative.
#[tracing::instrument(skip_all, fields(name))]
pub async fn restock(ctx: &Context, mode: Mode, name: &str, step: i64) -> Result<PriceId, CatalogueError> {
    check_count("quantity", step.unsigned_abs(), STOCK_MAX)?;
    let mut unit = ctx.store.begin().await?;
    let price = find_price(unit.as_mut(), mode, name).await?;
    if !unit.prices().restock(&price.id, step, ctx.now()).await? {
        return Err(CatalogueError::Stock);
    }
    unit.commit().await?;
    Ok(price.id)
}

pub async fn find_product(unit: &mut dyn UnitOfWork, mode: Mode, id: &ProductId) -> Result<Product, CatalogueError> {
    unit.products().find(id).await?.filter(|product| product.mode == mode).ok_or(CatalogueError::NotFound)
}

/// Finds a price of this mode by its id or its lookup key.
pub async fn find_price(unit: &mut dyn UnitOfWork, mode: Mode, name: &str) -> Result<Price, CatalogueError> {
    let found = match PriceId::parse(name) {
        Ok(id) => unit.prices().find(&id).await?,
        Err(_) if check_name("lookup_key", name).is_ok() => unit.prices().find_by_lookup_key(mode, name).await?,
        Err(_) => None,
    };
    found.filter(|price| price.mode == mode).ok_or(CatalogueError::NotFound)
}

async fn new_price(ctx: &Context, unit: &mut dyn UnitOfWork, product: &Product, fields: PriceFields) -> Result<Price, CatalogueError> {
    let now = ctx.now();
    if fields.pricing.is_empty() {
        return Err(InputError::Required("unit_amount").into());
    }
    let currencies = unit.methods().currencies(product.mode).await?;
    let base = currencies.iter().find(|currency| currency.is_base).or(currencies.first());
    let currency_id =
        fields.currency_id.clone().or_else(|| base.map(|currency| currency.id.clone())).ok_or(CatalogueError::NoSuchCurrency)?;
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

async fn with_product_fields(unit: &mut dyn UnitOfWork, mut product: Product, fields: ProductFields) -> Result<Product, CatalogueError> {
    product.active = fields.active.unwrap_or(product.active);
    if let Some(name) = fields.name {
        product.name = check_name("name", &name)?;
    }
    if let Some(name) = fields.name_zh {
        product.name_zh = optional_text("name_zh", &name, NAME_MAX)?;
    }
    if let Some(description) = fields.description {
        product.description = check_text("description", &description, DESCRIPTION_MAX)?;
    }
    if let Some(description) = fields.description_zh {
        product.description_zh = optional_text("description_zh", &description, DESCRIPTION_MAX)?;
    }
    if let Some(images) = fields.images {
        check_count("images", images.len() as u64, LIST_MAX as u64)?;
        product.images = images.iter().map(|image| check_address("images", image)).collect::<Result<_, _>>()?;
    }
    if let Some(features) = fields.features {
        product.features = check_list("features", &features, LIST_MAX)?;
    }
    if let Some(label) = fields.unit_label {
        product.unit_label = optional_text("unit_label", &label, UNIT_LABEL_MAX)?;
    }
    if let Some(label) = fields.unit_label_zh {
        product.unit_label_zh = optional_text("unit_label_zh", &label, UNIT_LABEL_MAX)?;
    }
    if let Some(descriptor) = fields.statement_descriptor {
        product.statement_descriptor = optional_text("statement_descriptor", &descriptor, STATEMENT_DESCRIPTOR_MAX)?;
    }
    if let Some(price_id) = fields.default_price_id {
        let found = unit.prices().find(&price_id).await?.filter(|price| price.product_id == product.id);
        product.default_price_id = Some(found.ok_or(CatalogueError::NoSuchPrice)?.id);
    }
    if let Some(app) = fields.app {
        product.app = Some(unit.apps().find(&app).await?.ok_or(CatalogueError::NoSuchApp)?.did);
    }
    if let Some(target) = fields.cross_sells_to {
        product.cross_sells_to = match target {
            Some(target) => {
                let other = unit.products().find(&target).await?.filter(|it| it.mode == product.mode && it.id != product.id);
                Some(other.ok_or(CatalogueError::NoSuchCrossSell)?.id)
            }
            None => None,
        };
    }
    if let Some(metadata) = fields.metadata {
        product.metadata = checked_metadata(metadata)?;
    }
    Ok(product)
}

/// Applies fields to a price. The stock of an existing price is set separately.
pub(super) async fn with_price_fields(unit: &mut dyn UnitOfWork, mut price: Price, fields: PriceFields) -> Result<Price, CatalogueError> {
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
            return Err(CatalogueError::LookupKeyIsId);
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
    if fields.recurring.is_some() && fields.recurring != price.recurring {
        return Err(CatalogueError::RecurringFixed);
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
                return Err(CatalogueError::CurrencyTwice);
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
        price.metadata = checked_metadata(metadata)?;
    }
    Ok(price)
}

/// Finds the target of an upsell: a price of the same product with a longer cycle.
async fn find_upsell(unit: &mut dyn UnitOfWork, price: &Price, target: &PriceId) -> Result<PriceId, CatalogueError> {
    let found = unit.prices().find(target).await?.filter(|target| target.product_id == price.product_id);
    let target = found.ok_or(CatalogueError::NoSuchUpsell)?;
    match (price.recurring, target.recurring) {
        (Some(current), Some(longer)) if longer.cycle.seconds() > current.cycle.seconds() => Ok(target.id),
        _ => Err(CatalogueError::NoSuchUpsell),
    }
}

/// Checks an optional text. An empty text means `None`.
fn optional_text(field: &'static str, text: &str, max: usize) -> Result<Option<String>, InputError> {
    Ok(Some(check_text(field, text, max)?).filter(|text| !text.is_empty()))
}

fn checked_metadata(metadata: Metadata) -> Result<Metadata, InputError> {
    check_metadata(&metadata).map(|()| metadata)
}
