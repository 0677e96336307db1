//! Manages products: creates, changes, archives and deletes them.

use super::price_fields::new_price;
use super::{DeleteError, LIST_MAX, Metadata, Price, PriceFields, PriceFieldsError, Product};
use crate::access::Did;
use crate::context::Context;
use crate::shared::{
    DESCRIPTION_MAX, FindError, InputError, Mode, NAME_MAX, PriceId, ProductId, StorageError, check_address, check_count, check_list,
    check_metadata, check_name, check_text,
};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The maximum length of a unit label in characters.
const UNIT_LABEL_MAX: usize = 12;
/// The maximum length of a card statement descriptor in characters.
const STATEMENT_DESCRIPTOR_MAX: usize = 22;

/// Why the objects that a product refers to are rejected.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("app_did does not name an app")]
    NoSuchApp,
    #[error("cross_sells_to_id must name another product of this mode")]
    NoSuchCrossSell,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum CreateProductError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// One of the prices is rejected.
    #[error(transparent)]
    Price(#[from] PriceFieldsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeProductError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("default_price_id does not name a price of this product")]
    NoSuchPrice,
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Storage(#[from] StorageError),
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

/// Creates a product with prices. The first price becomes its default.
#[tracing::instrument(skip_all)]
pub async fn create_product(
    ctx: &Context,
    mode: Mode,
    fields: ProductFields,
    prices: Vec<PriceFields>,
) -> Result<ProductId, CreateProductError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = new_product(ctx, unit.as_mut(), mode, fields, prices).await?;
    unit.commit().await?;
    Ok(product.id)
}

/// As [`create_product`], in a unit of work that holds the management lock.
pub async fn new_product(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    fields: ProductFields,
    prices: Vec<PriceFields>,
) -> Result<Product, CreateProductError> {
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
    let product = with_references(unit, with_texts(blank, &fields)?, &fields).await?;
    let mut product = with_metadata(product, fields.metadata)?;
    unit.products().insert(&product).await?;
    for fields in prices {
        let price = new_price(ctx, unit, &product, fields).await?;
        product.default_price_id.get_or_insert(price.id);
    }
    if product.default_price_id.is_some() {
        unit.products().update(&product).await?;
    }
    Ok(product)
}

#[tracing::instrument(skip_all, fields(product = %id))]
pub async fn change_product(ctx: &Context, mode: Mode, id: &ProductId, fields: ProductFields) -> Result<(), ChangeProductError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let product = find_product(unit.as_mut(), mode, id).await?;
    let mut product = with_texts(Product { updated_at: ctx.now(), ..product }, &fields)?;
    if let Some(price_id) = &fields.default_price_id {
        let found = unit.prices().find(price_id).await?.filter(|price| price.product_id == product.id);
        product.default_price_id = Some(found.ok_or(ChangeProductError::NoSuchPrice)?.id);
    }
    let product = with_metadata(with_references(unit.as_mut(), product, &fields).await?, fields.metadata)?;
    unit.products().update(&product).await?;
    unit.commit().await?;
    Ok(())
}

/// Archives a product and its prices, so that they are no longer sold. Existing purchases keep them.
#[tracing::instrument(skip_all, fields(product = %id))]
pub async fn archive_product(ctx: &Context, mode: Mode, id: &ProductId) -> Result<(), FindError> {
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
pub async fn delete_product(ctx: &Context, mode: Mode, id: &ProductId) -> Result<(), DeleteError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    find_product(unit.as_mut(), mode, id).await?;
    if !unit.products().delete(id).await? {
        return Err(DeleteError::InUse);
    }
    unit.commit().await?;
    Ok(())
}

pub async fn find_product(unit: &mut dyn UnitOfWork, mode: Mode, id: &ProductId) -> Result<Product, FindError> {
    unit.products().find(id).await?.filter(|product| product.mode == mode).ok_or(FindError::NotFound)
}

/// Applies the fields of a product that name no other object.
fn with_texts(mut product: Product, fields: &ProductFields) -> Result<Product, InputError> {
    product.active = fields.active.unwrap_or(product.active);
    if let Some(name) = &fields.name {
        product.name = check_name("name", name)?;
    }
    if let Some(name) = &fields.name_zh {
        product.name_zh = optional_text("name_zh", name, NAME_MAX)?;
    }
    if let Some(description) = &fields.description {
        product.description = check_text("description", description, DESCRIPTION_MAX)?;
    }
    if let Some(description) = &fields.description_zh {
        product.description_zh = optional_text("description_zh", description, DESCRIPTION_MAX)?;
    }
    if let Some(images) = &fields.images {
        check_count("images", images.len() as u64, LIST_MAX as u64)?;
        product.images = images.iter().map(|image| check_address("images", image)).collect::<Result<_, _>>()?;
    }
    if let Some(features) = &fields.features {
        product.features = check_list("features", features, LIST_MAX)?;
    }
    if let Some(label) = &fields.unit_label {
        product.unit_label = optional_text("unit_label", label, UNIT_LABEL_MAX)?;
    }
    if let Some(label) = &fields.unit_label_zh {
        product.unit_label_zh = optional_text("unit_label_zh", label, UNIT_LABEL_MAX)?;
    }
    if let Some(descriptor) = &fields.statement_descriptor {
        product.statement_descriptor = optional_text("statement_descriptor", descriptor, STATEMENT_DESCRIPTOR_MAX)?;
    }
    Ok(product)
}

/// Applies the app and the cross-sell of a product.
async fn with_references(unit: &mut dyn UnitOfWork, mut product: Product, fields: &ProductFields) -> Result<Product, ReferenceError> {
    if let Some(app) = &fields.app {
        product.app = Some(unit.apps().find(app).await?.ok_or(ReferenceError::NoSuchApp)?.did);
    }
    if let Some(target) = &fields.cross_sells_to {
        product.cross_sells_to = match target {
            Some(target) => {
                let other = unit.products().find(target).await?.filter(|it| it.mode == product.mode && it.id != product.id);
                Some(other.ok_or(ReferenceError::NoSuchCrossSell)?.id)
            }
            None => None,
        };
    }
    Ok(product)
}

fn with_metadata(product: Product, metadata: Option<Metadata>) -> Result<Product, InputError> {
    let Some(metadata) = metadata else { return Ok(product) };
    check_metadata(&metadata)?;
    Ok(Product { metadata, ..product })
}

/// Checks an optional text. An empty text means `None`.
fn optional_text(field: &'static str, text: &str, max: usize) -> Result<Option<String>, InputError> {
    Ok(Some(check_text(field, text, max)?).filter(|text| !text.is_empty()))
}
