//! A session with everything its page shows.

use super::{PaymentLink, Session};
use crate::billing::Invoice;
use crate::customer::Customer;
use crate::payment::{Attempt, Currency, Intent, Method};
use crate::pricing::{Price, Product};
use crate::shared::{SessionId, StorageError};
use crate::storage::UnitOfWork;
use crate::store::{App, Entitlement};

#[derive(Debug, Clone)]
pub struct Expanded {
    pub session: Session,
    pub link: Option<PaymentLink>,
    /// One for each item, in the order of the items; a price that is gone is left out.
    pub items: Vec<(Price, Product)>,
    pub methods: Vec<Method>,
    pub currencies: Vec<Currency>,
    pub intent: Option<Intent>,
    pub attempt: Option<Attempt>,
    pub invoice: Option<Invoice>,
    pub customer: Option<Customer>,
    pub entitlements: Vec<(Entitlement, App)>,
}

/// Reads a session and what it refers to. `None`: no such session.
pub async fn expand(unit: &mut dyn UnitOfWork, id: &SessionId) -> Result<Option<Expanded>, StorageError> {
    let Some(session) = unit.sessions().find(id).await? else { return Ok(None) };
    let link = match &session.link_id {
        Some(link) => unit.links().find(link).await?,
        None => None,
    };
    let price_ids: Vec<_> = session.items.iter().map(|item| item.price_id.clone()).collect();
    let prices = unit.prices().find_all(&price_ids).await?;
    let product_ids: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
    let products = unit.products().find_all(&product_ids).await?;
    let items = session
        .items
        .iter()
        .filter_map(|item| {
            let price = prices.iter().find(|price| price.id == item.price_id)?;
            let product = products.iter().find(|product| product.id == price.product_id)?;
            Some((price.clone(), product.clone()))
        })
        .collect();
    let methods = unit.methods().list(session.mode).await?;
    let currencies = unit.methods().currencies(session.mode).await?;
    let (mut intent, mut attempt) = (None, None);
    if let Some(intent_id) = &session.intent_id {
        intent = unit.intents().find(intent_id).await?;
        attempt = unit.attempts().open_of_intent(intent_id).await?;
    }
    let invoice = match &session.invoice_id {
        Some(invoice) => unit.invoices().find(invoice).await?,
        None => None,
    };
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
    Ok(Some(Expanded { session, link, items, methods, currencies, intent, attempt, invoice, customer, entitlements }))
}
