//! Puts the terms of an app into force: in the payment kit they are a product, a price with its shares, and a link.

use super::super::review::{ReviewError, ReviewedApp};
use super::read::{is_paid_once, sellable_currencies};
use super::records::AppSale;
use super::terms::{OneTimeTerms, SellingTerms, TermsError, check_terms};
use crate::checkout::{LineItem, LinkFields, PaymentLink, Replacement, new_link, replace_in};
use crate::context::Context;
use crate::pricing::{Price, PriceFields, PriceShare, PricingFields, Product, ProductFields, new_price, new_product};
use crate::shared::{Currency, PaymentLinkId, StorageError, Timestamp};
use crate::storage::{MANAGEMENT, UnitOfWork};
use crate::store::App;
use semver::Version;

/// Puts into force what the developer of an app has proposed, in the unit of work that publishes a version. A pre-release leaves the
/// proposal to the next stable version: what new users install until then is sold as before.
///
/// # Errors
/// [`ReviewError::Terms`] if the rules of the store have changed, so that it does not sell on these terms any more.
pub(in super::super) async fn release_prices(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    app: &ReviewedApp,
    version: &Version,
) -> Result<(), ReviewError> {
    if !version.pre.is_empty() {
        return Ok(());
    }
    let proposed: Vec<_> = unit.app_sales().of_app(&app.did).await?.into_iter().filter(|sale| sale.proposed.is_some()).collect();
    if proposed.is_empty() {
        return Ok(());
    }
    let Some(shown) = unit.apps().find(&app.did).await? else { return Ok(()) };
    let preferences = unit.preferences().find().await?.preferences;
    for sale in proposed {
        let Some(terms) = sale.proposed.clone() else { continue };
        check_terms(&preferences, &sellable_currencies(unit, sale.mode).await?, &terms)?;
        if revives_archived(unit, &sale, &terms).await? {
            return Err(TermsError::Archived.into());
        }
        let released = put_in_force(ctx, unit, &shown, &sale, &terms).await?;
        unit.app_sales().put(&released).await?;
    }
    Ok(())
}

/// Makes the store sell an app of the catalogue on these terms. Returns the sale without a proposal; the caller stores it.
///
/// A price is never changed, since orders refer to it: another one replaces it. Sessions that are open keep the price that they show.
pub(super) async fn put_in_force(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    app: &App,
    sale: &AppSale,
    terms: &SellingTerms,
) -> Result<AppSale, StorageError> {
    // Prices and links change under it.
    unit.lock(MANAGEMENT).await?;
    let mut released = AppSale { proposed: None, updated_at: ctx.now(), ..sale.clone() };
    let link = match &sale.link_id {
        Some(link) => unit.links().find(link).await?,
        None => None,
    };
    let sold = sold_by(unit, link.as_ref()).await?;
    match terms {
        SellingTerms::Free => {
            stop_selling(ctx, unit, link, sold).await?;
            unit.apps().set_link(&app.did, sale.mode, None).await?;
        }
        SellingTerms::OneTime(terms) => {
            let product = product_of(ctx, unit, app, sale).await?;
            let link = sell(ctx, unit, &product, link, sold, terms).await?;
            unit.apps().set_link(&app.did, sale.mode, Some(&link)).await?;
            released.product_id = Some(product.id);
            released.link_id = Some(link);
        }
    }
    Ok(released)
}

/// Whether these terms would sell a product again that an administrator has archived.
pub(super) async fn revives_archived(unit: &mut dyn UnitOfWork, sale: &AppSale, terms: &SellingTerms) -> Result<bool, StorageError> {
    let (SellingTerms::OneTime(_), Some(product)) = (terms, &sale.product_id) else { return Ok(false) };
    Ok(unit.products().find(product).await?.is_some_and(|product| !product.active))
}

/// Gives the products of an app its new title and description. A text that an administrator has changed stays. `before`: the app as the
/// catalogue has shown it.
///
/// # Errors
/// The storage fails.
pub(in super::super) async fn follow_app(unit: &mut dyn UnitOfWork, before: &App, app: &App, now: Timestamp) -> Result<(), StorageError> {
    if (&before.title.en, &before.description.en) == (&app.title.en, &app.description.en) {
        return Ok(());
    }
    let sales = unit.app_sales().of_app(&app.did).await?;
    for sale in sales {
        let Some(product) = &sale.product_id else { continue };
        unit.lock(MANAGEMENT).await?;
        let Some(product) = unit.products().find(product).await? else { continue };
        let follow = |own: &str, before: &str, after: &str| (if own == before { after } else { own }).to_owned();
        let name = follow(&product.name, &before.title.en, &app.title.en);
        let description = follow(&product.description, &before.description.en, &app.description.en);
        unit.products().update(&Product { name, description, updated_at: now, ..product }).await?;
    }
    Ok(())
}

/// The price that a link sells.
async fn sold_by(unit: &mut dyn UnitOfWork, link: Option<&PaymentLink>) -> Result<Option<Price>, StorageError> {
    match link.and_then(|link| link.items.first()) {
        Some(item) => unit.prices().find(&item.price_id).await,
        None => Ok(None),
    }
}

/// Archives the link and its price: who has ordered, or has a session open, does not pay for what is free now.
async fn stop_selling(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    link: Option<PaymentLink>,
    sold: Option<Price>,
) -> Result<(), StorageError> {
    let now = ctx.now();
    if let Some(link) = link {
        unit.links().update(&PaymentLink { active: false, updated_at: now, ..link }).await?;
    }
    if let Some(price) = sold {
        unit.prices().update(&Price { active: false, replaced_by: None, updated_at: now, ..price }).await?;
    }
    Ok(())
}

async fn product_of(ctx: &Context, unit: &mut dyn UnitOfWork, app: &App, sale: &AppSale) -> Result<Product, StorageError> {
    if let Some(product) = &sale.product_id
        && let Some(known) = unit.products().find(product).await?
    {
        return Ok(known);
    }
    let fields = ProductFields {
        name: Some(app.title.en.clone()),
        name_zh: Some(app.title.zh.clone()),
        description: Some(app.description.en.clone()),
        description_zh: Some(app.description.zh.clone()),
        app: Some(app.did.clone()),
        ..ProductFields::default()
    };
    new_product(ctx, unit, sale.mode, fields, Vec::new()).await.map_err(refused)
}

/// Sells the product by the link for a price with these terms, and returns the link.
async fn sell(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    product: &Product,
    link: Option<PaymentLink>,
    sold: Option<Price>,
    terms: &OneTimeTerms,
) -> Result<PaymentLinkId, StorageError> {
    let currency = unit.methods().find_currency(&terms.currency_id).await?.ok_or_else(|| refused("the currency is gone"))?;
    let fields = fields_of(&currency, terms);
    // A replacement would keep intervals, tiers and custom amounts that an administrator has made the link sell.
    let price = match sold.filter(|price| price.active && price.product_id == product.id && is_paid_once(price)) {
        Some(old) => {
            let replacement = Replacement { fields, shares: Some(&terms.shares) };
            replace_in(ctx, unit, old, &replacement).await.map_err(refused)?
        }
        None => create_price(ctx, unit, product, fields, &terms.shares).await?,
    };
    if product.default_price_id.as_ref() != Some(&price.id) {
        unit.products().update(&Product { default_price_id: Some(price.id.clone()), ..product.clone() }).await?;
    }
    let items = vec![LineItem::new(price.id.clone(), 1)];
    let Some(link) = link else {
        let fields = LinkFields { items: Some(items), currency_id: Some(currency.id), ..LinkFields::default() };
        return new_link(ctx, unit, product.mode, fields).await.map_err(refused);
    };
    let link = PaymentLink { items, currency_id: currency.id, active: true, updated_at: ctx.now(), ..link };
    unit.prices().lock(std::slice::from_ref(&price.id)).await?;
    unit.links().update(&link).await?;
    Ok(link.id)
}

async fn create_price(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    product: &Product,
    fields: PriceFields,
    shares: &[PriceShare],
) -> Result<Price, StorageError> {
    let price = new_price(ctx, unit, product, fields).await.map_err(refused)?;
    unit.prices().insert_shares(&price.id, shares).await?;
    Ok(price)
}

/// The fields of a price in one currency only.
fn fields_of(currency: &Currency, terms: &OneTimeTerms) -> PriceFields {
    PriceFields {
        currency_id: Some(currency.id.clone()),
        pricing: PricingFields::per_unit(terms.amount.to_decimal(currency.decimals)),
        currency_options: Some(Vec::new()),
        ..PriceFields::default()
    }
}

/// The terms were checked, so what the payment kit refuses is no fault of the developer.
fn refused(reason: impl std::fmt::Display) -> StorageError {
    StorageError::Driver(format!("the payment kit refuses a price: {reason}").into())
}
