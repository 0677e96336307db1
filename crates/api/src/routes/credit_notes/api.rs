use super::model::{CreditNoteInputModel, CreditNoteListModel, CreditNoteModel, CreditNotePreviewModel, credit_note, credit_notes};
use crate::auth::{LinkHolder, Reader, Reads, RequestContext, Writes, resources};
use crate::lossless_json::LosslessJson;
use crate::problem::Problem;
use crate::routes::customers::list_owner;
use crate::routes::input::{id_filter, page};
use crate::routes::pdf::{PdfResponse, pdf};
use crate::state::App;
use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use poem_openapi::payload::Json;
use souk_domain::billing::{
    self, CreditNoteFilter, CreditNoteOrder, CreditNoteReason, CreditTo, Invoice, NoteError, OrderedItem, expand_credit_note,
};
use souk_domain::shared::{Amount, CreditNoteId, InvoiceId, InvoiceItemId, Mode, SubscriptionId, check_count};
use std::sync::Arc;

/// Maximum number of items in one request.
const ITEMS_MAX: u64 = 500;

pub struct CreditNotesApi;

#[OpenApi(prefix_path = "/api/credit-notes")]
impl CreditNotesApi {
    /// Credit notes, newest first: the caller's own, or all of the store; optionally of one invoice or subscription.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of the address")]
    #[oai(path = "/", method = "get")]
    async fn list(
        &self,
        app: Data<&Arc<App>>,
        reader: Reader<resources::CreditNotes>,
        customer_id: Query<Option<String>>,
        invoice_id: Query<Option<String>>,
        subscription_id: Query<Option<String>>,
        #[oai(name = "page")] number: Query<Option<u32>>,
        #[oai(name = "pageSize")] page_size: Query<Option<u32>>,
        limit: Query<Option<u32>>,
        starting_after: Query<Option<String>>,
    ) -> Result<Json<CreditNoteListModel>, Problem> {
        let page = page::<CreditNoteId>(number.0, page_size.0.or(limit.0), starting_after.0)?;
        let nothing = || Ok(Json(CreditNoteListModel { count: 0, list: Vec::new() }));
        let mut unit = app.ctx.store.read().await?;
        let Some(customer_id) = list_owner(&app, unit.as_mut(), &reader, customer_id.0).await?.filter() else { return nothing() };
        // An invalid id matches nothing, so that a typing error does not widen the list.
        let (Ok(invoice_id), Ok(subscription_id)) = (id_filter::<InvoiceId>(invoice_id.0), id_filter::<SubscriptionId>(subscription_id.0))
        else {
            return nothing();
        };
        let filter = CreditNoteFilter { customer_id, invoice_id, subscription_id };
        let found = unit.credit_notes().list(reader.mode(), &filter, &page).await?;
        let list = credit_notes(&app, unit.as_mut(), reader.mode(), &found.list).await?;
        Ok(Json(CreditNoteListModel { count: found.count, list }))
    }

    /// Read a credit note with its items and refunds.
    #[oai(path = "/:id", method = "get")]
    async fn retrieve(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::CreditNotes>,
        id: Path<String>,
    ) -> Result<Json<CreditNoteModel>, Problem> {
        let id = authorize_note(&app, &visitor, &id).await?;
        let mut unit = app.ctx.store.read().await?;
        Ok(Json(credit_note(&app, unit.as_mut(), &id).await?))
    }

    /// The credit note as PDF, in the language of `locale`.
    #[oai(path = "/:id/pdf", method = "get")]
    async fn pdf(
        &self,
        app: Data<&Arc<App>>,
        visitor: LinkHolder<resources::CreditNotes>,
        context: RequestContext,
        id: Path<String>,
    ) -> Result<PdfResponse, Problem> {
        let id = authorize_note(&app, &visitor, &id).await?;
        let note = expand_credit_note(app.ctx.store.read().await?.as_mut(), &id).await?.ok_or_else(Problem::not_found)?;
        let (name, language) = (note.note.number_text(), context.language);
        pdf(&app, &name, move |printer| printer.print_credit_note(&note, language)).await
    }

    /// Issue a credit note. It is final. Its refunds are sent after the response.
    #[oai(path = "/", method = "post")]
    async fn create(
        &self,
        app: Data<&Arc<App>>,
        writes: Writes<resources::CreditNotes>,
        input: LosslessJson<CreditNoteInputModel>,
    ) -> Result<Json<CreditNoteModel>, Problem> {
        let ParsedOrder { order, .. } = read_order(&app, writes.mode, input.0).await?;
        if order.to == CreditTo::Payments {
            writes.check_recent(&app)?;
        }
        let issued = billing::create_credit_note(&app.ctx, writes.mode, &order).await?;
        let mut unit = app.ctx.store.read().await?;
        Ok(Json(credit_note(&app, unit.as_mut(), &issued.note.id).await?))
    }

    /// Preview a credit note: the amounts that it would credit now, and their destination. Nothing is written.
    #[oai(path = "/preview", method = "post")]
    async fn preview(
        &self,
        app: Data<&Arc<App>>,
        reads: Reads<resources::CreditNotes>,
        input: LosslessJson<CreditNoteInputModel>,
    ) -> Result<Json<CreditNotePreviewModel>, Problem> {
        let ParsedOrder { order, invoice } = read_order(&app, reads.mode, input.0).await?;
        let preview = billing::preview_credit_note(&app.ctx, reads.mode, &order).await?;
        Ok(Json(CreditNotePreviewModel::new(&invoice, &preview)))
    }
}

/// Returns the id if the visitor may read the credit note: its customer, the store, or the holder of a link to it or to its invoice.
///
/// # Errors
/// 404 for all others.
async fn authorize_note(app: &App, visitor: &LinkHolder<resources::CreditNotes>, id: &str) -> Result<CreditNoteId, Problem> {
    let id = CreditNoteId::parse(id)?;
    let mut unit = app.ctx.store.read().await?;
    let note = unit.credit_notes().find(&id).await?.ok_or_else(Problem::not_found)?;
    let customer = unit.customers().find(&note.customer_id).await?.ok_or_else(Problem::not_found)?;
    match visitor.may_open(&[id.as_str(), note.invoice_id.as_str()], &customer.did, note.mode) {
        true => Ok(id),
        false => Err(Problem::not_found()),
    }
}

struct ParsedOrder {
    order: CreditNoteOrder,
    invoice: Invoice,
}

async fn read_order(app: &App, mode: Mode, input: CreditNoteInputModel) -> Result<ParsedOrder, Problem> {
    let invoice_id = InvoiceId::parse(&input.invoice_id)?;
    let mut unit = app.ctx.store.read().await?;
    let invoice = unit.invoices().find(&invoice_id).await?.filter(|invoice| invoice.mode == mode).ok_or_else(Problem::not_found)?;
    let currency = unit.methods().find_currency(&invoice.currency_id).await?.ok_or_else(Problem::not_found)?;
    drop(unit);
    let amount_of = |text: &str| Amount::parse_decimal(text, currency.decimals, currency.decimals);
    let inputs = input.items.unwrap_or_default();
    check_count("items", inputs.len() as u64, ITEMS_MAX)?;
    if !inputs.is_empty() && input.amount.is_some() {
        return Err(Problem::bad("Either items or an amount can be credited").code("ITEMS_OR_AMOUNT"));
    }
    let mut items = Vec::with_capacity(inputs.len());
    for item in inputs {
        items.push(OrderedItem {
            invoice_item_id: InvoiceItemId::parse(&item.invoice_item_id).map_err(|_| NoteError::BadItems)?,
            amount: amount_of(&item.amount.0)?,
            revokes: item.revokes,
        });
    }
    let reason = match input.reason.as_deref().filter(|reason| !reason.is_empty()) {
        Some(named) => CreditNoteReason::from_name(named).ok_or_else(|| Problem::invalid("reason"))?,
        None => CreditNoteReason::Other,
    };
    let order = CreditNoteOrder {
        invoice_id,
        items,
        amount: input.amount.map(|amount| amount_of(&amount.0)).transpose()?,
        reason,
        memo: input.memo.unwrap_or_default(),
        to: CreditTo::from_name(&input.to).ok_or_else(|| Problem::invalid("to"))?,
    };
    Ok(ParsedOrder { order, invoice })
}
