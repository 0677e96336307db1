//! The prices and products that an order sells.

use crate::checkout::Session;
use crate::pricing::{CatalogueItem, ProductNames};
use crate::shared::StorageError;
use crate::storage::UnitOfWork;
use crate::store::{AppUnavailable, Availability};

/// Why the items of a session cannot be sold.
#[derive(Debug, thiserror::Error)]
pub(in crate::checkout) enum SoldItemsError {
    /// An item's price no longer exists, or is no longer sold.
    #[error("Seems this checkoutSession is not configured properly")]
    Misconfigured,
    /// An item grants an app that the store does not offer any more.
    #[error(transparent)]
    AppUnavailable(#[from] AppUnavailable),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The prices and products of the items, in their order; all must be active, and the apps that they grant available. A price that was replaced after the session was opened is
/// still sold by it, because the session keeps what it showed.
pub(in crate::checkout) async fn load_items(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Vec<CatalogueItem>, SoldItemsError> {
    let sold = load_sold(unit, session).await?;
    if !sold.iter().all(|item| item.price.is_payable() && item.product.active) {
        return Err(SoldItemsError::Misconfigured);
    }
    check_apps(unit, &sold).await?;
    Ok(sold)
}

/// Why apps are not sold.
#[derive(Debug, thiserror::Error)]
pub(in crate::checkout) enum CheckAppsError {
    #[error(transparent)]
    AppUnavailable(#[from] AppUnavailable),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Checks whether the store offers the apps that these items grant.
pub(in crate::checkout) async fn check_apps(unit: &mut dyn UnitOfWork, sold: &[CatalogueItem]) -> Result<(), CheckAppsError> {
    let dids: Vec<_> = sold.iter().filter_map(|item| item.product.app.clone()).collect();
    let apps = if dids.is_empty() { Vec::new() } else { unit.apps().find_all(&dids).await? };
    if apps.iter().all(|app| app.availability == Availability::Available) { Ok(()) } else { Err(AppUnavailable.into()) }
}

impl From<CheckAppsError> for SoldItemsError {
    fn from(error: CheckAppsError) -> Self {
        match error {
            CheckAppsError::AppUnavailable(error) => Self::AppUnavailable(error),
            CheckAppsError::Storage(error) => Self::Storage(error),
        }
    }
}

/// As [`load_items`], active or not.
pub(in crate::checkout) async fn load_sold(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Vec<CatalogueItem>, SoldItemsError> {
    let ids: Vec<_> = session.items.iter().map(|item| item.sold().clone()).collect();
    let mut sold = unit.prices().find_with_products(&ids).await?;
    sold.sort_by_key(|item| ids.iter().position(|id| *id == item.price.id));
    if sold.is_empty() || sold.len() != ids.len() { Err(SoldItemsError::Misconfigured) } else { Ok(sold) }
}

/// The names of the products of an order.
pub(in crate::checkout) fn names_of(items: &[CatalogueItem]) -> ProductNames {
    ProductNames::of(items.iter().map(|item| &item.product))
}

/// The names of the products at these places.
pub(in crate::checkout) fn group_names(items: &[CatalogueItem], places: &[usize]) -> ProductNames {
    ProductNames::of(places.iter().map(|place| &items[*place].product))
}
