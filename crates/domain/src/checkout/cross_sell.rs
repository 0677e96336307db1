//! What is offered beside the items of a session.

use super::amend::{AmendError, amendable};
use super::{LineItem, Session};
use crate::context::Context;
use crate::pricing::{Price, Product};
use crate::shared::{CurrencyId, PriceId, ProductId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// The price that is offered beside a session's items: the default of the product that one of theirs sells along, else its first
/// that can be paid in the currency.
pub(super) async fn offered_beside(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    currency: &CurrencyId,
) -> Result<Option<(Price, Product)>, StorageError> {
    let ids: Vec<_> = session.items.iter().filter(|item| !item.cross_sell).map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&ids).await?;
    let own: Vec<ProductId> = prices.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&own).await?;
    let in_order = own.iter().filter_map(|id| products.iter().find(|product| product.id == *id));
    let Some(target) = in_order.filter_map(|product| product.cross_sells_to.clone()).find(|target| !own.contains(target)) else {
        return Ok(None);
    };
    let Some(product) = unit.products().find(&target).await?.filter(|product| product.active && product.mode == session.mode) else {
        return Ok(None);
    };
    let mut offers = unit.prices().of_products(&[target]).await?;
    offers.retain(|price| price.active && price.mode == session.mode && !price.is_custom() && price.rate_in(currency).is_some());
    let default = offers.iter().position(|price| Some(&price.id) == product.default_price_id.as_ref());
    let chosen = default.or(if offers.is_empty() { None } else { Some(0) });
    Ok(chosen.map(|place| (offers.swap_remove(place), product)))
}

/// The same for whoever asks. `None`: nothing is offered.
pub async fn offered_cross_sell(ctx: &Context, id: &SessionId) -> Result<Option<(Price, Product)>, AmendError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(AmendError::NotFound)?;
    Ok(offered_beside(unit.as_mut(), &session, &session.currency_id).await?)
}

/// Takes what is offered.
pub async fn add_cross_sell(ctx: &Context, id: &SessionId, to: &PriceId) -> Result<(), AmendError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = amendable(ctx, unit.as_mut(), id).await?;
        let (offer, _) = offered_beside(unit.as_mut(), &session, &session.currency_id).await?.ok_or(AmendError::NotOffered)?;
        if offer.id != *to {
            return Err(AmendError::NotOffered);
        }
        session.items.retain(|item| !item.cross_sell);
        session.items.push(LineItem { cross_sell: true, ..LineItem::new(offer.id, 1) });
        if super::amend::write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}

/// Leaves out what was taken.
pub async fn remove_cross_sell(ctx: &Context, id: &SessionId) -> Result<(), AmendError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = amendable(ctx, unit.as_mut(), id).await?;
        session.items.retain(|item| !item.cross_sell);
        if super::amend::write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}
