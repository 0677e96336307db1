//! The subscription plans of an app.

use super::model::{AppPlanModel, AppPriceModel};
use souk_domain::access::Did;
use souk_domain::checkout;
use souk_domain::pricing::CatalogueFilter;
use souk_domain::shared::{Mode, Page, StorageError};
use souk_domain::storage::UnitOfWork;

/// A payment link whose metadata holds an app's DID under this key is a plan of that app.
const APP_KEY: &str = "app";
/// Maximum number of plans that the page of an app shows.
const PLANS_MAX: u32 = 20;

/// The plans of an app, oldest first, each with the price of its first item and the caller's subscription to it.
pub async fn plans_of(unit: &mut dyn UnitOfWork, mode: Mode, app: &Did, caller: Option<&Did>) -> Result<Vec<AppPlanModel>, StorageError> {
    let filter =
        CatalogueFilter { active: Some(true), metadata: [(APP_KEY.to_owned(), app.to_string())].into(), ..CatalogueFilter::default() };
    let links = unit.links().list(mode, &filter, &Page::new(None, Some(PLANS_MAX))).await?.list;
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = links.iter().filter_map(|link| link.items.first()).map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let ids: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&ids).await?;
    let held = match caller {
        Some(caller) => checkout::subscribed(unit, mode, caller, &ids).await?,
        None => Vec::new(),
    };
    let tried = match caller {
        Some(caller) => checkout::tried(unit, mode, caller, &ids).await?,
        None => Vec::new(),
    };
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let plans = links.iter().rev().filter_map(|link| {
        let price = prices.iter().find(|price| link.items.first().is_some_and(|item| item.price_id == price.id) && price.active)?;
        let product = products.iter().find(|product| product.id == price.product_id && product.active)?;
        let amounts = currencies.iter().filter(|currency| currency.active).filter_map(|currency| {
            let method = methods.iter().find(|method| method.id == currency.method_id && method.active)?;
            Some(AppPriceModel::new(price.unit_amount_in(&currency.id)?, currency, method))
        });
        let subscription = held.iter().find(|held| held.product_id == product.id).map(|held| &held.subscription_id);
        let trial_days = if tried.contains(&product.id) { 0 } else { link.terms.trial.days };
        Some(AppPlanModel::new(link, product, price.recurring?, amounts.collect(), trial_days, subscription))
    });
    Ok(plans.collect())
}
