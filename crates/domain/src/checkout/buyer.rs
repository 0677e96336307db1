//! What the viewer of a session owns already.

use super::{Session, SessionMode};
use crate::access::Did;
use crate::billing::Subscription;
use crate::context::Context;
use crate::pricing::CatalogueItem;
use crate::shared::{CustomerId, Mode, ProductId, StorageError, SubscriptionId};
use crate::storage::UnitOfWork;

/// A product that a customer is subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscribedProduct {
    pub product_id: ProductId,
    pub subscription_id: SubscriptionId,
}

/// What the checkout page shows about the viewer before payment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buyer {
    /// Whether they have used a free trial of one of the session's subscription products, so that the session grants none.
    pub trial_used: bool,
    /// Their live subscriptions to the session's products.
    pub subscriptions: Vec<SubscribedProduct>,
    /// The apps of the session's one-time products that they already own.
    pub owned_apps: Vec<Did>,
}

/// Reads what the viewer of an open session owns. `sold`: the session's prices and products.
pub async fn buyer_of(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    sold: &[CatalogueItem],
    did: &Did,
) -> Result<Buyer, StorageError> {
    let once = sold.iter().filter(|item| !item.price.is_recurring());
    let apps: Vec<_> = once.filter_map(|item| item.product.app.clone()).collect();
    let owned_apps = if apps.is_empty() { Vec::new() } else { unit.entitlements().held(session.mode, did, &apps, ctx.now()).await? };
    let products = recurring_products(sold);
    let customer = if products.is_empty() { None } else { unit.customers().find_by_did(session.mode, did).await? };
    let Some(customer) = customer else { return Ok(Buyer { owned_apps, ..Buyer::default() }) };
    Ok(Buyer {
        trial_used: has_used_trial(unit, session, &products, &customer.id).await?,
        subscriptions: subscriptions_to(unit, &customer.id, &products).await?,
        owned_apps,
    })
}

/// The live subscriptions of a user to these products, oldest first.
pub async fn subscribed(
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    did: &Did,
    products: &[ProductId],
) -> Result<Vec<SubscribedProduct>, StorageError> {
    let customer = unit.customers().find_by_did(mode, did).await?;
    match customer {
        Some(customer) => subscriptions_to(unit, &customer.id, products).await,
        None => Ok(Vec::new()),
    }
}

/// The products among these whose free trial a user has used.
pub async fn tried(unit: &mut dyn UnitOfWork, mode: Mode, did: &Did, products: &[ProductId]) -> Result<Vec<ProductId>, StorageError> {
    let customer = unit.customers().find_by_did(mode, did).await?;
    match customer {
        Some(customer) => unit.trials().used(&customer.id, products).await,
        None => Ok(Vec::new()),
    }
}

/// Whether the customer has used a trial of one of the session's subscription products, so that the session grants none.
pub(super) async fn has_used_trial(
    unit: &mut dyn UnitOfWork,
    session: &Session,
    products: &[ProductId],
    customer: &CustomerId,
) -> Result<bool, StorageError> {
    if session.kind == SessionMode::Payment || !session.terms.has_trial() || products.is_empty() {
        return Ok(false);
    }
    Ok(!unit.trials().used(customer, products).await?.is_empty())
}

/// The distinct products with a recurring price.
pub(super) fn recurring_products(sold: &[CatalogueItem]) -> Vec<ProductId> {
    let mut products: Vec<_> = sold.iter().filter(|item| item.price.is_recurring()).map(|item| item.product.id.clone()).collect();
    products.sort();
    products.dedup();
    products
}

async fn subscriptions_to(
    unit: &mut dyn UnitOfWork,
    customer: &CustomerId,
    products: &[ProductId],
) -> Result<Vec<SubscribedProduct>, StorageError> {
    let live = unit.subscriptions().live_of(customer).await?;
    let ids: Vec<_> = live.iter().flat_map(|one: &Subscription| &one.items).map(|item| item.price_id.clone()).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let prices = unit.prices().find_all(&ids).await?;
    let product_of = |id| prices.iter().find(|price| price.id == id).map(|price| &price.product_id);
    let mut found: Vec<SubscribedProduct> = Vec::new();
    for subscription in &live {
        for item in &subscription.items {
            let product = product_of(item.price_id.clone()).filter(|product| products.contains(product));
            if let Some(product) = product
                && !found.iter().any(|known| known.product_id == *product)
            {
                found.push(SubscribedProduct { product_id: product.clone(), subscription_id: subscription.id.clone() });
            }
        }
    }
    Ok(found)
}
