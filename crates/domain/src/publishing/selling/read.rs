//! The terms of an app: those in force, and those that its developer has proposed.

use super::super::review::{ReviewError, actor_of};
use super::records::AppSale;
use super::terms::{OneTimeTerms, SellableCurrency, SellingTerms, commission};
use crate::access::{Caller, Did};
use crate::checkout::{LineItem, PaymentLink};
use crate::context::Context;
use crate::pricing::Price;
use crate::shared::{Mode, PaymentLinkId, StorageError};
use crate::storage::UnitOfWork;
use crate::store::App;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The terms of an app in one mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppTerms {
    pub mode: Mode,
    /// `None`: the store sells it in a way of its own, such as for a subscription or with other items.
    pub in_force: Option<SellingTerms>,
    /// `None`: they do not change.
    pub proposed: Option<SellingTerms>,
}

/// What a developer sees before they set a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPricing {
    pub app: Did,
    pub terms: AppTerms,
    /// The store's part of each sale, in millionths.
    pub commission: u32,
    pub paid_apps_allowed: bool,
    /// In human units of the currency.
    pub price_min: Decimal,
    pub price_max: Decimal,
    /// Those in which buyers can pay at the moment.
    pub currencies: Vec<SellableCurrency>,
    /// A version is under review, so the terms do not change.
    pub is_under_review: bool,
    /// New terms wait for the next version.
    pub waits_for_version: bool,
}

/// Reads the terms of an app, for its developer and for reviewers.
///
/// # Errors
/// The app does not exist, or not for the caller: [`ReviewError::NotFound`].
pub async fn find_pricing(ctx: &Context, caller: &Caller, app: &Did, mode: Mode) -> Result<AppPricing, ReviewError> {
    let mut unit = ctx.store.read().await?;
    let found = unit.reviews().find_app(app).await?.filter(|found| actor_of(caller, found).is_some());
    let found = found.ok_or(ReviewError::NotFound)?;
    Ok(read_pricing(unit.as_mut(), &found.did, mode).await?)
}

pub(super) async fn read_pricing(unit: &mut dyn UnitOfWork, app: &Did, mode: Mode) -> Result<AppPricing, StorageError> {
    let preferences = unit.preferences().find().await?.preferences;
    let sale = unit.app_sales().find(app, mode).await?;
    let terms = read_terms_of(unit, app, mode, sale.as_ref()).await?;
    let is_under_review = unit.reviews().find_open(app).await?.is_some();
    let waits_for_version = preferences.review_required || unit.apps().find(app).await?.is_none();
    Ok(AppPricing {
        app: app.clone(),
        terms,
        commission: commission(&preferences),
        paid_apps_allowed: preferences.paid_apps_allowed,
        price_min: preferences.price_min,
        price_max: preferences.price_max,
        currencies: sellable_currencies(unit, mode).await?,
        is_under_review,
        waits_for_version,
    })
}

pub(super) async fn sellable_currencies(unit: &mut dyn UnitOfWork, mode: Mode) -> Result<Vec<SellableCurrency>, StorageError> {
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    Ok(SellableCurrency::among(currencies, &methods))
}

/// The terms of an app in each mode, for the reviewer of its next version.
pub async fn terms_of(unit: &mut dyn UnitOfWork, app: &Did) -> Result<Vec<AppTerms>, StorageError> {
    let sales = unit.app_sales().of_app(app).await?;
    let mut terms = Vec::with_capacity(sales.len());
    for sale in &sales {
        terms.push(read_terms_of(unit, app, sale.mode, Some(sale)).await?);
    }
    Ok(terms)
}

async fn read_terms_of(unit: &mut dyn UnitOfWork, app: &Did, mode: Mode, sale: Option<&AppSale>) -> Result<AppTerms, StorageError> {
    let in_force = terms_in_force(unit, app, mode).await?;
    Ok(AppTerms { mode, in_force, proposed: sale.and_then(|sale| sale.proposed.clone()) })
}

/// Whether the bundles of an app are for those who have bought it. `shown` is the app in the catalogue. One that is not there yet, because
/// only pre-releases of it were published, is not given away if its developer has proposed a price.
///
/// # Errors
/// The storage fails.
pub async fn is_sold(unit: &mut dyn UnitOfWork, app: &Did, shown: Option<&App>) -> Result<bool, StorageError> {
    if let Some(shown) = shown {
        return Ok(!shown.is_free());
    }
    let sales = unit.app_sales().of_app(app).await?;
    Ok(sales.iter().any(|sale| matches!(sale.proposed, Some(SellingTerms::OneTime(_)))))
}

/// What buyers pay now: the catalogue's link says it, whoever has changed it. `None`: the store sells the app in a way of its own.
pub(super) async fn terms_in_force(unit: &mut dyn UnitOfWork, app: &Did, mode: Mode) -> Result<Option<SellingTerms>, StorageError> {
    Ok(terms_of_apps(unit, std::slice::from_ref(app), mode).await?.remove(app).unwrap_or(Some(SellingTerms::Free)))
}

/// What buyers of each of these apps pay now, as [`AppTerms::in_force`]. Apps that are free or not in the catalogue are left out.
///
/// # Errors
/// The storage fails.
pub async fn terms_of_apps(
    unit: &mut dyn UnitOfWork,
    apps: &[Did],
    mode: Mode,
) -> Result<BTreeMap<Did, Option<SellingTerms>>, StorageError> {
    let found = unit.apps().find_all(apps).await?;
    let links: Vec<PaymentLinkId> = found.iter().filter_map(|app| app.link(mode).cloned()).collect();
    if links.is_empty() {
        return Ok(BTreeMap::new());
    }
    let links: BTreeMap<_, _> = unit.links().find_all(&links).await?.into_iter().map(|link| (link.id.clone(), link)).collect();
    let ids: Vec<_> = links.values().filter_map(only_item).map(|item| item.price_id.clone()).collect();
    let prices: BTreeMap<_, _> = unit.prices().find_all(&ids).await?.into_iter().map(|price| (price.id.clone(), price)).collect();
    let shares = unit.prices().shares_of(&ids).await?;
    let terms_of = |link: &PaymentLink| {
        let price = prices.get(&only_item(link)?.price_id).filter(|price| is_paid_once(price))?;
        let amount = price.unit_amount_in(&link.currency_id).unwrap_or_default();
        let shares = shares.get(&price.id).cloned().unwrap_or_default();
        Some(SellingTerms::OneTime(OneTimeTerms { currency_id: link.currency_id.clone(), amount, shares }))
    };
    let sold = found.iter().filter_map(|app| Some((app.did.clone(), terms_of(links.get(app.link(mode)?)?))));
    Ok(sold.collect())
}

/// The item of a link that sells one price as it is.
fn only_item(link: &PaymentLink) -> Option<&LineItem> {
    match link.items.as_slice() {
        [item] if item.quantity == 1 && item.adjustable.is_none() => Some(item),
        _ => None,
    }
}

/// Whether a price has one amount, as those of apps do. Intervals, tiers and custom amounts are made by administrators.
pub(super) fn is_paid_once(price: &Price) -> bool {
    !price.is_recurring() && !price.is_custom() && price.tiers_mode.is_none()
}
