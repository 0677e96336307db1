//! What is offered beside the items of a session.

use super::update_items::{AmendError, amendable};
use super::{LineItem, Session, SessionMode};
use crate::context::Context;
use crate::pricing::{Price, Product};
use crate::shared::{CurrencyId, PriceId, ProductId, SessionId, StorageError};
use crate::storage::UnitOfWork;

/// The price that is offered beside a session's items: the default of the product that one of theirs sells along, else its first,
/// among those that can be paid in the currency and bought in a session of this kind.
pub(super) async fn offered_beside(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    currency: &CurrencyId,
) -> Result<Option<(Price, Product)>, StorageError> {
    let Some(Offers { product, prices, .. }) = offers_beside(unit, session).await? else { return Ok(None) };
    Ok(chosen(&product, &prices, currency).map(|price| (price, product)))
}

/// What could be offered, in whatever currency.
struct Offers {
    product: Product,
    prices: Vec<Price>,
    /// What is bought already.
    items: Vec<Price>,
}

async fn offers_beside(unit: &mut dyn UnitOfWork, session: &Session) -> Result<Option<Offers>, StorageError> {
    let ids: Vec<_> = session.items.iter().filter(|item| !item.cross_sell).map(|item| item.price_id.clone()).collect();
    let items = unit.prices().find_all(&ids).await?;
    let own: Vec<ProductId> = items.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&own).await?;
    let in_order = own.iter().filter_map(|id| products.iter().find(|product| product.id == *id));
    let Some(target) = in_order.filter_map(|product| product.cross_sells_to.clone()).find(|target| !own.contains(target)) else {
        return Ok(None);
    };
    let Some(product) = unit.products().find(&target).await?.filter(|product| product.active && product.mode == session.mode) else {
        return Ok(None);
    };
    let mut prices = unit.prices().of_products(&[target]).await?;
    prices.retain(|price| price.active && price.mode == session.mode && !price.is_custom() && fits(session.kind, price));
    Ok(Some(Offers { product, prices, items }))
}

/// What a session is for is not changed by what is added: where nothing recurs nothing begins to, and what is only set up is not
/// paid once.
fn fits(kind: SessionMode, price: &Price) -> bool {
    match kind {
        SessionMode::Payment => !price.is_recurring(),
        SessionMode::Setup => price.is_recurring(),
        SessionMode::Subscription => true,
    }
}

fn chosen(product: &Product, prices: &[Price], currency: &CurrencyId) -> Option<Price> {
    let payable = || prices.iter().filter(|price| price.rate_in(currency).is_some());
    payable().find(|price| Some(&price.id) == product.default_price_id.as_ref()).or_else(|| payable().next()).cloned()
}

/// What is offered, and in which currency it is: the one that the page names. Where it names none, that is the session's, else the
/// first that everything else can be paid in, since submit asks for it in whatever currency is chosen there.
async fn offer_in(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    currency: Option<&CurrencyId>,
) -> Result<Option<(Price, Product, CurrencyId)>, StorageError> {
    let Some(Offers { product, prices, items }) = offers_beside(unit, session).await? else { return Ok(None) };
    let mut currencies = vec![currency.unwrap_or(&session.currency_id).clone()];
    if currency.is_none() {
        let all = unit.methods().currencies(session.mode).await?.into_iter().filter(|currency| currency.active);
        let payable = all.filter(|currency| items.iter().all(|price| price.rate_in(&currency.id).is_some()));
        currencies.extend(payable.map(|currency| currency.id));
    }
    let found = currencies.into_iter().find_map(|currency| Some((chosen(&product, &prices, &currency)?, currency)));
    Ok(found.map(|(price, currency)| (price, product, currency)))
}

/// The same for whoever asks, in the currency of the page. `None`: nothing is offered.
pub async fn offered_cross_sell(
    ctx: &Context,
    id: &SessionId,
    currency: Option<&CurrencyId>,
) -> Result<Option<(Price, Product)>, AmendError> {
    let mut unit = ctx.store.read().await?;
    let session = unit.sessions().find(id).await?.ok_or(AmendError::NotFound)?;
    let offer = offer_in(unit.as_mut(), &session, currency).await?;
    Ok(offer.map(|(price, product, _)| (price, product)))
}

/// Takes what is offered. The session is in the currency of the offer from then on.
pub async fn add_cross_sell(ctx: &Context, id: &SessionId, to: &PriceId, currency: Option<&CurrencyId>) -> Result<(), AmendError> {
    loop {
        let mut unit = ctx.store.begin().await?;
        let mut session = amendable(ctx, unit.as_mut(), id).await?;
        let (offer, _, currency) = offer_in(unit.as_mut(), &session, currency).await?.ok_or(AmendError::NotOffered)?;
        if offer.id != *to {
            return Err(AmendError::NotOffered);
        }
        session.items.retain(|item| !item.cross_sell);
        session.items.push(LineItem { cross_sell: true, ..LineItem::new(offer.id, 1) });
        session.currency_id = currency;
        if super::update_items::write(ctx, unit, session).await? {
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
        if super::update_items::write(ctx, unit, session).await? {
            return Ok(());
        }
    }
}
