//! A session with everything that its page shows.

use super::stake::stake_of;
use super::submit::open_attempt;
use super::{Buyer, PaymentLink, Session, SessionStatus, buyer_of};
use crate::access::Did;
use crate::billing::{Invoice, Stake, Subscription, time_of};
use crate::context::Context;
use crate::customer::Customer;
use crate::payment::{Attempt, Currency, Intent, Method};
use crate::pricing::{CatalogueItem, Price};
use crate::shared::{PriceId, SessionId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::{App, Entitlement};

#[derive(Debug, Clone)]
pub struct Expanded {
    pub session: Session,
    pub link: Option<PaymentLink>,
    /// The price and product of each item, in the order of the items; missing prices are left out.
    pub items: Vec<CatalogueItem>,
    pub methods: Vec<Method>,
    pub currencies: Vec<Currency>,
    pub intent: Option<Intent>,
    pub attempt: Option<Attempt>,
    pub invoice: Option<Invoice>,
    /// The security stake of its subscriptions.
    pub stake: Option<Stake>,
    pub customer: Option<Customer>,
    pub entitlements: Vec<(Entitlement, App)>,
    /// The subscriptions that it started.
    pub subscriptions: Vec<Subscription>,
    /// Upsell prices that items offer or use.
    pub upsells: Vec<Price>,
    /// What the viewer owns, while the session is open.
    pub buyer: Buyer,
    /// The customer's current time.
    pub now: Timestamp,
}

impl Expanded {
    /// Removes what only the store may read: the metadata of products, prices and links, and its copies in a session that a link started.
    /// The form's settings (`page_info`) are no metadata here and remain.
    pub fn hide_store_metadata(&mut self) {
        for CatalogueItem { price, product } in &mut self.items {
            price.metadata.clear();
            product.metadata.clear();
        }
        self.upsells.iter_mut().for_each(|price| price.metadata.clear());
        if let Some(link) = &mut self.link {
            link.metadata.clear();
            link.terms.metadata.clear();
        }
        if self.session.link_id.is_some() {
            self.session.metadata.clear();
            self.session.terms.metadata.clear();
        }
    }

    /// Whether its subscriptions start, or started, with the trial of its terms.
    #[must_use]
    pub fn gives_trial(&self) -> bool {
        if self.session.is_complete() { self.session.trial_end.is_some() } else { !self.buyer.trial_used }
    }

    /// The sold prices with their products, in the order of the items. `None`: one of them is missing.
    #[must_use]
    pub fn sold(&self) -> Option<Vec<CatalogueItem>> {
        let sold = |item: &super::LineItem| {
            let found = self.items.iter().find(|found| found.price.id == item.price_id)?.clone();
            match &item.upsell {
                Some(upsell) => {
                    let price = self.upsells.iter().find(|price| price.id == *upsell)?.clone();
                    Some(CatalogueItem { price, ..found })
                }
                None => Some(found),
            }
        };
        self.session.items.iter().map(sold).collect()
    }
}

/// Reads a session and the objects it refers to, for a viewer. `None`: there is no such session.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn expand(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &SessionId,
    viewer: Option<&Did>,
) -> Result<Option<Expanded>, StorageError> {
    let Some(session) = unit.sessions().find(id).await? else { return Ok(None) };
    let link = match &session.link_id {
        Some(link) => unit.links().find(link).await?,
        None => None,
    };
    let price_ids: Vec<_> = session.items.iter().map(|item| item.price_id.clone()).collect();
    let sold = unit.prices().find_with_products(&price_ids).await?;
    let offered = sold.iter().filter_map(|sold| sold.price.upsells_to.clone());
    let mut upsell_ids: Vec<PriceId> = offered.chain(session.items.iter().filter_map(|item| item.upsell.clone())).collect();
    upsell_ids.sort();
    upsell_ids.dedup();
    let upsells = if upsell_ids.is_empty() { Vec::new() } else { unit.prices().find_all(&upsell_ids).await? };
    let items: Vec<_> = session.items.iter().filter_map(|item| sold.iter().find(|sold| sold.price.id == item.price_id).cloned()).collect();
    let buyer = match viewer {
        Some(did) if session.status == SessionStatus::Open => buyer_of(ctx, unit, &session, &items, did).await?,
        _ => Buyer::default(),
    };
    let mut methods = unit.methods().list(session.mode).await?;
    // Nobody can pay an open session by them; the amounts of other sessions are shown with their currencies.
    if session.status == SessionStatus::Open {
        methods.retain(|method| !ctx.networks.is_paused(method));
    }
    let currencies = unit.methods().currencies(session.mode).await?;
    let (mut intent, mut attempt) = (None, None);
    if let Some(intent_id) = &session.intent_id {
        intent = unit.intents().find(intent_id).await?;
        attempt = open_attempt(unit, &session).await?;
    }
    let invoice = match &session.invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?,
        None => None,
    };
    let stake = stake_of(unit, &session).await?;
    let customer = match &session.customer_id {
        Some(customer) => unit.customers().find(customer).await?,
        None => None,
    };
    let granted = unit.entitlements().of_session(id).await?;
    let dids: Vec<_> = granted.iter().map(|entitlement| entitlement.app.clone()).collect();
    let apps = if dids.is_empty() { Vec::new() } else { unit.apps().find_all(&dids).await? };
    let entitlements = granted
        .into_iter()
        .filter_map(|entitlement| {
            let app = apps.iter().find(|app| app.did == entitlement.app)?.clone();
            Some((entitlement, app))
        })
        .collect();
    let mut now = ctx.now();
    let mut subscriptions = match session.is_complete() && !session.subscription_ids.is_empty() {
        true => unit.subscriptions().find_all(&session.subscription_ids).await?,
        false => Vec::new(),
    };
    // In the order of the items. Ids of one instant are in no order.
    subscriptions.sort_by_key(|subscription| session.subscription_ids.iter().position(|id| *id == subscription.id));
    let of_viewer = match viewer {
        // A submit compares the end of the trial with the customer's time.
        Some(did) if customer.is_none() && session.terms.trial.end.is_some() => unit.customers().find_by_did(session.mode, did).await?,
        _ => None,
    };
    if let Some(customer) = of_viewer.as_ref().or(customer.as_ref().filter(|_| !session.subscription_ids.is_empty())) {
        let clock = unit.clocks().of_customer(&customer.id).await?;
        now = time_of(ctx, unit, clock.map(|clock| clock.id).as_ref()).await?;
    }
    Ok(Some(Expanded {
        session,
        link,
        items,
        methods,
        currencies,
        intent,
        attempt,
        invoice,
        stake,
        customer,
        entitlements,
        subscriptions,
        upsells,
        buyer,
        now,
    }))
}
