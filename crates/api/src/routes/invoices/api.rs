use super::model::{InvoiceListModel, InvoiceModel, transaction_of};
use super::payments::InvoicePaymentModel;
use crate::auth::{LinkHolder, Reader, RequestContext, resources};
use crate::problem::Problem;
use crate::routes::credit_notes::credit_notes;
use crate::routes::customers::named_customer;
use crate::routes::disputes::disputes;
use crate::routes::input::{id_filter, page, words};
use crate::routes::pdf::{PdfResponse, pdf};
use crate::routes::subscriptions::SubscriptionReference;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::billing::{ExpandedInvoice, Invoice, InvoiceFilter, InvoiceStatus, Subscription, expand_invoice};
use souk_domain::payment;
use souk_domain::shared::{CurrencyId, CustomerId, InvoiceId, Mode, Page, SubscriptionId};
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct InvoicesApi;

#[OpenApi(prefix_path = "/api/invoices")]
impl InvoicesApi {
    /// Invoices, newest first: the caller's own. The store may name a customer by id or DID, or `all`.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Invoices>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        status: Query<Option<String>>,
        customer_id: Query<Option<String>>,
        currency_id: Query<Option<String>>,
        subscription_id: Query<Option<String>>,
        include_staking: Query<Option<String>>,
        include_return_staking: Query<Option<String>>,
        /// Subscriptions are recovered in place; this adds the statement of the stake that recovered one.
        include_recovered_from: Query<Option<String>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
        ignore_zero: Query<Option<String>>,
    ) -> Result<Json<InvoiceListModel>, Problem> {
        let named = status.0.as_deref().filter(|named| !named.is_empty()).unwrap_or("open,paid,uncollectible");
        let statuses: Vec<_> = named.split(',').filter_map(InvoiceStatus::from_name).collect();
        let nothing = || Ok(Json(InvoiceListModel { subscription: None, count: 0, list: Vec::new() }));
        // An empty status filter would match every status.
        if statuses.is_empty() {
            return nothing();
        }
        let Some(customer_id) = list_filter(&app, &reader, customer_id.0.as_deref()).await? else {
            return nothing();
        };
        // An invalid id matches nothing, so that a typing error does not widen the list.
        let (Ok(currency_id), Ok(subscription_id)) =
            (id_filter::<CurrencyId>(currency_id.0), id_filter::<SubscriptionId>(subscription_id.0))
        else {
            return nothing();
        };
        let filter = InvoiceFilter {
            statuses,
            customer_id: customer_id.0,
            currency_id,
            subscription_id,
            include_staking: is_true(&include_staking),
            include_return_staking: is_true(&include_return_staking),
            include_recovered_from: is_true(&include_recovered_from),
            ignore_zero: is_true(&ignore_zero),
            query: String::new(),
        };
        let page = page::<InvoiceId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        listed(&app, reader.mode(), &filter, &page).await
    }

    /// Invoices whose description contains a text, whose number begins with it, or whose id equals it: all of the store, or the customer's
    /// own. Drafts are excluded. A text that begins with a number's series, such as `SOUK-`, is compared with numbers only for the store.
    #[oai(path = "/search", method = "get")]
    async fn search(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::Invoices>,
        query: Query<Option<String>>,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
    ) -> Result<Json<InvoiceListModel>, Problem> {
        let customer_id = if reader.is_store() { Some(CustomerFilter(None)) } else { list_filter(&app, &reader, None).await? };
        let Some(customer_id) = customer_id else {
            return Ok(Json(InvoiceListModel { subscription: None, count: 0, list: Vec::new() }));
        };
        let filter = InvoiceFilter {
            statuses: InvoiceStatus::ALL.into_iter().filter(|status| *status != InvoiceStatus::Draft).collect(),
            customer_id: customer_id.0,
            include_staking: true,
            include_return_staking: true,
            include_recovered_from: true,
            query: words(query.0),
            ..InvoiceFilter::default()
        };
        listed(&app, reader.mode(), &filter, &Page::new(page.0, page_size.0)).await
    }

    /// Read an invoice with its lines, customer, payments and credit notes.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Invoices>,
        id: Path<String>,
    ) -> Result<Json<InvoiceModel>, Problem> {
        let mut invoice = authorize_invoice(&app, &visitor, &id).await?;
        // A customer who has just saved a card to pay this invoice is waiting for the payment.
        if payment::poll_for_invoice(&app.ctx, &invoice.invoice.id).await? {
            invoice = authorize_invoice(&app, &visitor, &id).await?;
        }
        Ok(Json(detail(&app, &invoice, visitor.is_store()).await?))
    }

    /// The invoice as PDF, in the language of `locale`.
    #[oai(path = "/:id/pdf", method = "get")]
    async fn pdf(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::Invoices>,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<PdfResponse, Problem> {
        let invoice = authorize_invoice(&app, &visitor, &id).await?;
        let name = invoice.invoice.number_text().unwrap_or_else(|| invoice.invoice.id.to_string());
        let language = context.language;
        pdf(&app, &name, move |printer| printer.print(&invoice, language)).await
    }
}

async fn listed(app: &App, mode: Mode, filter: &InvoiceFilter, page: &Page) -> Result<Json<InvoiceListModel>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let found = unit.invoices().list(mode, filter, page).await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let ids: Vec<_> = found.list.iter().filter_map(|invoice| invoice.intent_id.clone()).collect();
    let intents = unit.intents().find_all(&ids).await?;
    let ids: BTreeSet<_> = found.list.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    let ids: Vec<_> = ids.into_iter().chain(filter.subscription_id.clone()).collect();
    let subscriptions = if ids.is_empty() { Vec::new() } else { unit.subscriptions().find_all(&ids).await? };
    let ids: Vec<_> = found.list.iter().map(|invoice| invoice.id.clone()).collect();
    let payments = if ids.is_empty() { Vec::new() } else { unit.invoice_payments().of_invoices(&ids).await? };
    let refunds = if ids.is_empty() { Vec::new() } else { unit.refunds().unsettled_of(&ids).await? };
    let transactions: Vec<_> = found.list.iter().filter_map(transaction_of).collect();
    let wallets = unit.attempts().wallets_of(&transactions).await?;
    let model = |invoice: &Invoice| {
        let intent = intents.iter().find(|intent| Some(&intent.id) == invoice.intent_id.as_ref());
        let model = InvoiceModel::new(invoice, intent, &methods, &currencies, &app.site).with_wallets(invoice, &wallets, &app.site);
        model.within(&subscriptions).with_payments(&payments).with_unsettled_refunds(&refunds)
    };
    let is_requested = |candidate: &&Subscription| {
        let is_of_customer = filter.customer_id.as_ref().is_none_or(|customer| candidate.customer_id == *customer);
        filter.subscription_id.as_ref() == Some(&candidate.id) && candidate.mode == mode && is_of_customer
    };
    let subscription = subscriptions.iter().find(is_requested).map(SubscriptionReference::from);
    Ok(Json(InvoiceListModel { subscription, count: found.count, list: found.list.iter().map(model).collect() }))
}

/// The full model of an invoice. Disputes are included only for the store.
pub(super) async fn detail(app: &App, invoice: &ExpandedInvoice, for_store: bool) -> Result<InvoiceModel, Problem> {
    let mode = invoice.invoice.mode;
    let mut unit = app.ctx.store.read().await?;
    let ids: BTreeSet<_> = invoice.payments.iter().filter_map(|payment| payment.source.intent().cloned()).collect();
    let ids: Vec<_> = ids.into_iter().collect();
    let intents = if ids.is_empty() { Vec::new() } else { unit.intents().find_all(&ids).await? };
    let methods = unit.methods().list(mode).await?;
    let disputed = match for_store && !ids.is_empty() {
        true => unit.disputes().of_intents(&ids).await?,
        false => Vec::new(),
    };
    let notes = credit_notes(app, unit.as_mut(), mode, &invoice.notes).await?;
    let disputes = disputes(app, unit.as_mut(), mode, &disputed).await?;
    let transactions: Vec<_> = transaction_of(&invoice.invoice).into_iter().collect();
    let wallets = unit.attempts().wallets_of(&transactions).await?;
    let refunds = unit.refunds().unsettled_of(std::slice::from_ref(&invoice.invoice.id)).await?;
    let model = |payment| InvoicePaymentModel::new(payment, &intents, &methods, &app.site);
    let expanded = InvoiceModel::expanded(invoice, &app.site).with_wallets(&invoice.invoice, &wallets, &app.site);
    Ok(InvoiceModel {
        payments: Some(invoice.payments.iter().map(model).collect()),
        credit_notes: Some(notes),
        disputes: Some(disputes).filter(|_| for_store),
        ..expanded.with_payments(&invoice.payments).with_unsettled_refunds(&refunds)
    })
}

/// The customer whose invoices are listed; `None`: all customers of the store.
struct CustomerFilter(Option<CustomerId>);

fn is_true(value: &Query<Option<String>>) -> bool {
    value.0.as_deref() == Some("true")
}

async fn list_filter(app: &App, reader: &Reader<resources::Invoices>, named: Option<&str>) -> Result<Option<CustomerFilter>, Problem> {
    let named = named.filter(|named| !named.is_empty());
    let mut unit = app.ctx.store.read().await?;
    match (reader, named) {
        (Reader::Key(..), None) => Ok(Some(CustomerFilter(None))),
        (reader, Some("all")) if reader.is_store() => Ok(Some(CustomerFilter(None))),
        (Reader::Person(caller, mode), None) => {
            Ok(unit.customers().find_by_did(*mode, &caller.user.did).await?.map(|customer| CustomerFilter(Some(customer.id))))
        }
        (reader, Some(named)) => match named_customer(app, unit.as_mut(), reader.mode(), named).await? {
            Some(customer) if reader.may_read(&customer.did, customer.mode) => Ok(Some(CustomerFilter(Some(customer.id)))),
            // A user who has never bought anything has no invoices. For others, the response does not reveal whether they exist.
            None if reader.is_store() || is_own_did(reader, named) => Ok(None),
            _ => Err(Problem::forbidden()),
        },
    }
}

fn is_own_did(reader: &Reader<resources::Invoices>, named: &str) -> bool {
    matches!(reader, Reader::Person(caller, _) if caller.user.did.as_str() == named)
}

/// Returns the invoice to its customer, to the store, or to the holder of its own link. A link of its subscription does not grant
/// access, because the page of a subscription shows no invoice.
///
/// # Errors
/// 404 for all others.
pub(super) async fn authorize_invoice(app: &App, visitor: &LinkHolder<resources::Invoices>, id: &str) -> Result<ExpandedInvoice, Problem> {
    let id = InvoiceId::parse(id)?;
    let mut unit = app.ctx.store.read().await?;
    let invoice = expand_invoice(unit.as_mut(), &id).await?.ok_or_else(Problem::not_found)?;
    match visitor.may_open(&[id.as_str()], &invoice.customer.did, invoice.invoice.mode) {
        true => Ok(invoice),
        false => Err(Problem::not_found()),
    }
}
