use super::model::{InvoiceListModel, InvoiceModel};
use crate::auth::{Call, Caller, SignedIn};
use crate::problem::Problem;
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::{Binary, Json, Response};
use souk_domain::billing::{ExpandedInvoice, InvoiceFilter, InvoiceStatus, expand_invoice};
use souk_domain::customer::Customer;
use souk_domain::shared::{CurrencyId, CustomerId, InvoiceId, Language, Mode, Page};
use std::sync::Arc;

pub struct InvoicesApi;

#[OpenApi(prefix_path = "/api/invoices")]
impl InvoicesApi {
    /// Invoices, newest first: a customer's own; those who run the store may name any customer, or none for all.
    #[oai(path = "/", method = "get")]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        call: Call,
        page: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        status: Query<Option<String>>,
        customer_id: Query<Option<String>>,
        currency_id: Query<Option<String>>,
        starting_after: Query<Option<String>>,
        ignore_zero: Query<Option<String>>,
    ) -> Result<Json<InvoiceListModel>, Problem> {
        let Some(customer_id) = whose(&app, &caller.0, call.mode, customer_id.0.as_deref()).await? else {
            return Ok(Json(InvoiceListModel { count: 0, list: Vec::new() }));
        };
        let statuses = status.0.as_deref().unwrap_or("open,paid,uncollectible").split(',');
        let filter = InvoiceFilter {
            statuses: statuses.filter_map(InvoiceStatus::from_name).collect(),
            customer_id: customer_id.0,
            currency_id: currency_id.0.as_deref().and_then(|id| CurrencyId::parse(id).ok()),
            ignore_zero: ignore_zero.0.as_deref() == Some("true"),
        };
        let page = Page { starting_after: starting_after.0, ..Page::new(page.0, page_size.0) };
        let mut unit = app.ctx.store.read().await?;
        let found = unit.invoices().list(call.mode, &filter, &page).await?;
        let methods = unit.methods().list(call.mode).await?;
        let currencies = unit.methods().currencies(call.mode).await?;
        let ids: Vec<_> = found.list.iter().filter_map(|invoice| invoice.intent_id.clone()).collect();
        let intents = unit.intents().find_all(&ids).await?;
        let model = |invoice: &souk_domain::billing::Invoice| {
            let intent = intents.iter().find(|intent| Some(&intent.id) == invoice.intent_id.as_ref());
            InvoiceModel::new(invoice, intent, &methods, &currencies, &app.site)
        };
        Ok(Json(InvoiceListModel { count: found.count, list: found.list.iter().map(model).collect() }))
    }

    /// One invoice with its lines, customer and payment.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(&self, app: Data<&Arc<App>>, caller: SignedIn, id: Path<String>) -> Result<Json<InvoiceModel>, Problem> {
        let invoice = own(&app, &caller.0, &id).await?;
        Ok(Json(InvoiceModel::expanded(&invoice, &app.site)))
    }

    /// The invoice as PDF, in the language of `locale`.
    #[oai(path = "/:id/pdf", method = "get")]
    async fn pdf(
        &self,
        app: Data<&Arc<App>>,
        caller: SignedIn,
        call: Call,
        id: Path<String>,
    ) -> Result<Response<Binary<Vec<u8>>>, Problem> {
        let invoice = own(&app, &caller.0, &id).await?;
        let name = invoice.invoice.number_text().unwrap_or_else(|| invoice.invoice.id.to_string());
        let app = Arc::clone(&app);
        let pdf = print(app, invoice, call.language).await?;
        let disposition = format!("attachment; filename=\"{name}.pdf\"");
        Ok(Response::new(Binary(pdf)).header("content-type", "application/pdf").header("content-disposition", disposition))
    }
}

/// Drawing takes milliseconds of a core: not on the threads that answer calls.
async fn print(app: Arc<App>, invoice: ExpandedInvoice, language: Language) -> Result<Vec<u8>, Problem> {
    let drawn = tokio::task::spawn_blocking(move || app.printer.print(&invoice, language)).await;
    match drawn {
        Ok(pdf) => Ok(pdf?),
        Err(_) => Err(Problem::new(poem::http::StatusCode::INTERNAL_SERVER_ERROR, crate::problem::FAILED)),
    }
}

/// Whose invoices are listed: `Some(None)` all of the store, `None` nobody's.
struct Whose(Option<CustomerId>);

async fn whose(app: &App, caller: &Caller, mode: Mode, named: Option<&str>) -> Result<Option<Whose>, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let own: Option<Customer> = unit.customers().find_by_did(mode, &caller.user.did).await?;
    match named.filter(|named| !named.is_empty()) {
        // The published client names a customer by id or by DID.
        Some(named) if named == caller.user.did.as_str() => Ok(own.map(|own| Whose(Some(own.id)))),
        Some(named) if own.as_ref().is_some_and(|own| own.id.as_str() == named) => Ok(own.map(|own| Whose(Some(own.id)))),
        Some("all") if caller.runs_the_store() => Ok(Some(Whose(None))),
        Some(named) if caller.runs_the_store() => Ok(Some(Whose(Some(CustomerId::parse(named)?)))),
        Some(_) => Err(Problem::forbidden()),
        None => Ok(own.map(|own| Whose(Some(own.id)))),
    }
}

/// The invoice, if it is the caller's or the caller runs the store. Anybody else's does not exist for them.
async fn own(app: &App, caller: &Caller, id: &str) -> Result<ExpandedInvoice, Problem> {
    let id = InvoiceId::parse(id)?;
    let mut unit = app.ctx.store.read().await?;
    let invoice = expand_invoice(unit.as_mut(), &id).await?.ok_or_else(Problem::not_found)?;
    match invoice.customer.did == caller.user.did || caller.runs_the_store() {
        true => Ok(invoice),
        false => Err(Problem::not_found()),
    }
}
