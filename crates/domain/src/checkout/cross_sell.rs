//! Cross-sells: a product that is offered with the items of a session.

use super::update_items::{EditItemsError, convert_storage_errors, load_editable, write};
use super::{LineItem, Session, SessionMode};
use crate::context::Context;
use crate::pricing::{CatalogueItem, Price, Product, lock_prices};
use crate::shared::{CurrencyId, FindError, PriceId, ProductId, SessionId, StorageError};
use crate::storage::UnitOfWork;

#[derive(Debug, thiserror::Error)]
pub enum AddCrossSellError {
    #[error("This item isn't available with your order")]
    NotOffered,
    #[error(transparent)]
    Edit(#[from] EditItemsError),
}

convert_storage_errors!(AddCrossSellError);

/// The cross-sell price of a session: the default price of the first cross-sell product, else its first price, among prices that are
/// offered in the currency and fit the session's mode.
pub(super) async fn cross_sell_price(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    currency: &CurrencyId,
) -> Result<Option<CatalogueItem>, StorageError> {
    let Some(Offers { product, prices, .. }) = find_cross_sell(unit, session).await? else { return Ok(None) };
    Ok(chosen(&product, &prices, currency).map(|price| CatalogueItem { price, product }))
}

/// A cross-sell with its prices in all currencies.
struct Offers {
    product: Product,
    prices: Vec<Price>,
    /// The prices of the session's items.
    items: Vec<Price>,
}

async fn find_cross_sell(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Option<Offers>, StorageError> {
    let ids: Vec<_> = session.items.iter().filter(|item| !item.cross_sell).map(|item| item.price_id.clone()).collect();
    let items = unit.prices().find_all(&ids).await?;
    let product_ids: Vec<ProductId> = items.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&product_ids).await?;
    let in_order = product_ids.iter().filter_map(|id| products.iter().find(|product| product.id == *id));
    let Some(target) = in_order.filter_map(|product| product.cross_sells_to.clone()).find(|target| !product_ids.contains(target)) else {
        return Ok(None);
    };
    let Some(product) = unit.products().find(&target).await?.filter(|product| product.active && product.mode == session.mode) else {
        return Ok(None);
    };
    let mut prices = unit.prices().of_products(&[target]).await?;
    prices.retain(|price| price.active && price.mode == session.mode && !price.is_custom() && fits(session.kind, price));
    Ok(Some(Offers { product, prices, items }))
}

/// Whether adding the price keeps the session's mode: a one-time payment gets no recurring item, and a set-up gets no one-time item.
fn fits(kind: SessionMode, price: &Price) -> bool {
    match kind {
        SessionMode::Payment => !price.is_recurring(),
        SessionMode::Setup => price.is_recurring(),
        SessionMode::Subscription => true,
    }
}

fn chosen(product: &Product, prices: &[Price], currency: &CurrencyId) -> Option<Price> {
    let payable = || prices.iter().filter(|price| price.pricing_in(currency).is_some());
    payable().find(|price| Some(&price.id) == product.default_price_id.as_ref()).or_else(|| payable().next()).cloned()
}

/// A cross-sell in the currency of its offer.
struct Offer {
    item: CatalogueItem,
    currency_id: CurrencyId,
}

/// The cross-sell and its currency: the passed currency. Without one, the session's currency, else the first one in which all items are
/// offered, since submit requires the cross-sell in whichever currency is chosen then.
async fn offer_in(unit: &mut dyn UnitOfWork, session: &Session, currency: Option<&CurrencyId>) -> Result<Option<Offer>, StorageError> {
    let Some(Offers { product, prices, items }) = find_cross_sell(unit, session).await? else { return Ok(None) };
    let mut currencies = vec![currency.unwrap_or(&session.currency_id).clone()];
    if currency.is_none() {
        let all = unit.methods().currencies(session.mode).await?.into_iter().filter(|currency| currency.active);
        let payable = all.filter(|currency| items.iter().all(|price| price.pricing_in(&currency.id).is_some()));
        currencies.extend(payable.map(|currency| currency.id));
    }
    let offered = |currency_id: CurrencyId| {
        let price = chosen(&product, &prices, &currency_id)?;
        Some(Offer { item: CatalogueItem { price, product: product.clone() }, currency_id })
    };
    Ok(currencies.into_iter().find_map(offered))
}

/// Reads the cross-sell of a session, in the currency of the page. `None`: nothing is offered. The first offer of a price locks it, so that
/// the page sells what it shows.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn offered_cross_sell(ctx: &Context, id: &SessionId, currency: Option<&CurrencyId>) -> Result<Option<CatalogueItem>, FindError> {
    loop {
        let mut unit = ctx.store.read().await?;
        let session = unit.sessions().find(id).await?.ok_or(FindError::NotFound)?;
        let offer = offer_in(unit.as_mut(), &session, currency).await?;
        drop(unit);
        match offer {
            Some(Offer { item: CatalogueItem { price, .. }, .. }) if !price.locked => {
                let mut unit = ctx.store.begin().await?;
                lock_prices(unit.as_mut(), &[price]).await?;
                unit.commit().await?;
            }
            offer => return Ok(offer.map(|offer| offer.item)),
        }
    }
}

/// Adds the offered cross-sell. The session changes to the currency of the offer.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn add_cross_sell(ctx: &Context, id: &SessionId, to: &PriceId, currency: Option<&CurrencyId>) -> Result<(), AddCrossSellError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        let Offer { item, currency_id } = offer_in(unit.as_mut(), &session, currency).await?.ok_or(AddCrossSellError::NotOffered)?;
        if item.price.id != *to {
            return Err(AddCrossSellError::NotOffered);
        }
        lock_prices(unit.as_mut(), std::slice::from_ref(&item.price)).await?;
        session.items.retain(|item| !item.cross_sell);
        session.items.push(LineItem { cross_sell: true, ..LineItem::new(item.price.id, 1) });
        session.currency_id = currency_id;
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}

/// Removes the cross-sell. An order without one stays as it is.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn remove_cross_sell(ctx: &Context, id: &SessionId) -> Result<(), EditItemsError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = load_editable(ctx, unit.as_mut(), id).await?;
        if !session.items.iter().any(|item| item.cross_sell) {
            return Ok(());
        }
        session.items.retain(|item| !item.cross_sell);
        if write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}
