use super::api::{authorize_invoice, detail};
use super::model::InvoiceModel;
use crate::auth::{LinkHolder, Writes, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::payments::CustomerModel;
use crate::state::App;
use poem::Request;
use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use poem_openapi::{Object, OpenApi};
use souk_domain::billing::{self, expand_invoice, overdue_of};
use souk_domain::payment::MethodSettings;
use souk_domain::shared::{CurrencyId, InvoiceId, SubscriptionId, check_count};
use std::sync::Arc;

/// The unpaid invoices to pay by card: the named ones, or all overdue ones of a subscription or customer in the currency.
#[derive(Debug, Clone, Object)]
#[oai(rename = "OverdueCardPayment")]
pub struct OverdueCardPaymentModel {
    pub invoice_ids: Option<Vec<String>>,
    pub subscription_id: Option<String>,
    /// A customer's id or DID.
    pub customer_id: Option<String>,
    pub currency_id: String,
}

/// The parameters of the card form. Once the card is saved (a `setup_intent`), it is charged for the invoices; each paid invoice
/// emits `invoice.paid`.
#[derive(Debug, Clone, Object)]
#[oai(rename = "OverdueCardForm")]
pub struct OverdueCardFormModel {
    pub client_secret: String,
    pub publishable_key: String,
    /// The base URL of the card processor; empty: the default of its client library.
    pub api_host: String,
    pub customer: CustomerModel,
}

/// Maximum number of named invoices. More can be paid together by naming their subscription or customer.
const NAMED_MAX: u64 = 100;
const OWNER_REQUIRED: &str = "Either subscriptionId or customerId must be provided";

pub struct OverdueApi;

#[OpenApi(prefix_path = "/api/invoices")]
impl OverdueApi {
    /// Open a card form for unpaid invoices, including those of ended subscriptions.
    #[oai(path = "/pay-stripe", method = "post")]
    async fn pay_stripe(
        &self,
        app: Data<&Arc<App>>,
        request: &Request,
        visitor: LinkHolder<resources::Invoices>,
        payment: Json<OverdueCardPaymentModel>,
    ) -> Result<Json<OverdueCardFormModel>, Problem> {
        if visitor.is_key() {
            return Err(Problem::forbidden());
        }
        let invoices = authorize_overdue(&app, &visitor, &payment).await?;
        let network = app.limits.visitor_network(request, &app.tokens);
        let card = billing::pay_by_card(&app.ctx, &invoices, &CurrencyId::parse(&payment.currency_id)?, &network).await?;
        let (publishable_key, api_host) = match &card.method.settings {
            MethodSettings::Stripe { publishable_key, api_host, .. } => (publishable_key.clone(), app.site.host(api_host)),
            _ => Default::default(),
        };
        let customer = CustomerModel::from(&card.customer);
        Ok(Json(OverdueCardFormModel { client_secret: card.client_secret, publishable_key, api_host, customer }))
    }

    /// Void an unpaid invoice by a credit note over its total. Payments from the customer's balance return to the balance.
    #[oai(path = "/:id/void", method = "post")]
    async fn void(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::Invoices>,
        id: Path<String>,
    ) -> Result<Json<InvoiceModel>, Problem> {
        let id = InvoiceId::parse(&id)?;
        let found = app.ctx.store.read().await?.invoices().find(&id).await?;
        found.filter(|invoice| invoice.mode == writes.mode).ok_or_else(Problem::not_found)?;
        billing::void_invoice(&app.ctx, &id).await?;
        let invoice = expand_invoice(app.ctx.store.read().await?.as_mut(), &id).await?.ok_or_else(Problem::not_found)?;
        Ok(Json(detail(&app, &invoice, true).await?))
    }
}

/// The requested invoices, after checking that the visitor may read each of them.
async fn authorize_overdue(
    app: &App,
    visitor: &LinkHolder<resources::Invoices>,
    payment: &OverdueCardPaymentModel,
) -> Result<Vec<InvoiceId>, Problem> {
    if let Some(ids) = payment.invoice_ids.as_ref().filter(|ids| !ids.is_empty()) {
        check_count("invoice_ids", ids.len() as u64, NAMED_MAX)?;
        let mut invoices = Vec::with_capacity(ids.len());
        for id in ids {
            invoices.push(authorize_invoice(app, visitor, id).await?.invoice.id);
        }
        return Ok(invoices);
    }
    let mut unit = app.ctx.store.read().await?;
    let subscription = payment.subscription_id.as_deref().map(SubscriptionId::parse).transpose()?;
    let customer = match (&subscription, payment.customer_id.as_deref()) {
        (Some(id), _) => {
            let found = unit.subscriptions().find(id).await?.ok_or_else(Problem::not_found)?;
            unit.customers().find(&found.customer_id).await?
        }
        (None, Some(named)) => {
            let currency = unit.methods().find_currency(&CurrencyId::parse(&payment.currency_id)?).await?.ok_or_else(Problem::not_found)?;
            named_customer(app, unit.as_mut(), currency.mode, named).await?
        }
        (None, None) => return Err(Problem::bad(OWNER_REQUIRED).code("OWNER_REQUIRED")),
    };
    let customer = customer.ok_or_else(Problem::not_found)?;
    let links: Vec<_> = subscription.iter().map(SubscriptionId::as_str).collect();
    if !visitor.may_open(&links, &customer.did, customer.mode) {
        return Err(Problem::not_found());
    }
    let overdue = overdue_of(unit.as_mut(), &customer.id, subscription.as_ref()).await?;
    Ok(overdue.invoices.into_iter().map(|invoice| invoice.id).collect())
}
