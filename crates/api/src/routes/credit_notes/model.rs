use crate::lossless_json::Decimal;
use crate::problem::Problem;
use crate::routes::customers::{CustomerReference, ListCustomers};
use crate::routes::invoices::formula;
use crate::routes::payments::{CurrencyModel, MethodModel, description_params, description_text};
use crate::routes::refunds::{RefundModel, refund_models};
use crate::state::App;
use poem_openapi::Object;
use souk_domain::billing::{CreditNote, CreditNoteItem, CreditNotePreview, ExpandedCreditNote, Invoice, InvoiceItem, expand_credit_note};
use souk_domain::payment::{Currency, Method};
use souk_domain::shared::{CreditNoteId, Mode};
use souk_domain::storage::UnitOfWork;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNoteItem", skip_serializing_if_is_none)]
pub struct CreditNoteItemModel {
    pub invoice_item_id: String,
    /// The description of the line in English.
    pub description: String,
    /// The description as a code with parameters; see `InvoiceLine`.
    pub description_code: String,
    pub description_params: BTreeMap<String, String>,
    /// Base units.
    pub amount: String,
    /// Whether the credit revokes what the line paid for.
    pub revokes: bool,
    /// The formula (`kind`) of the amount with its inputs, if unused time was credited.
    pub formula: Option<serde_json::Value>,
}

impl CreditNoteItemModel {
    fn new(item: &CreditNoteItem, line: &InvoiceItem) -> Self {
        let description = item.description(line);
        Self {
            invoice_item_id: item.invoice_item_id.to_string(),
            description: description_text(&description),
            description_code: description.code().to_owned(),
            description_params: description_params(&description),
            amount: item.amount.to_string(),
            revokes: item.revokes,
            formula: item.pricing_formula.as_ref().map(formula),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNote", skip_serializing_if_is_none)]
pub struct CreditNoteModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub number: String,
    pub invoice_id: String,
    /// The number of the invoice.
    pub invoice_number: String,
    pub subscription_id: Option<String>,
    pub customer_id: String,
    pub customer: Option<CustomerReference>,
    pub currency_id: String,
    pub payment_method_id: String,
    /// plan_change, cancellation, usage_correction, duplicate, fraudulent, dispute or other.
    pub reason: String,
    /// A note from the store to the customer.
    pub memo: String,
    /// Base units: the sum of `due_reduced`, `to_balance` and `refunded`.
    pub total: String,
    /// The part that reduced the amount due of the invoice.
    pub due_reduced: String,
    pub to_balance: String,
    /// The part that is refunded over payment networks, including refunds in progress.
    pub refunded: String,
    /// Present when a single credit note is read.
    pub items: Option<Vec<CreditNoteItemModel>>,
    /// Present when a single credit note is read.
    pub refunds: Option<Vec<RefundModel>>,
    pub credit_note_pdf: String,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub created_at: String,
}

impl CreditNoteModel {
    fn new(note: &CreditNote, invoice_number: String, currencies: &[Currency], methods: &[Method], app: &App) -> Self {
        let currency = currencies.iter().find(|currency| currency.id == note.currency_id);
        let method = methods.iter().find(|method| method.id == note.method_id);
        Self {
            id: note.id.to_string(),
            object: "credit_note".to_owned(),
            livemode: note.mode.is_live(),
            number: note.number_text(),
            invoice_id: note.invoice_id.to_string(),
            invoice_number,
            subscription_id: note.subscription_id.as_ref().map(ToString::to_string),
            customer_id: note.customer_id.to_string(),
            customer: None,
            currency_id: note.currency_id.to_string(),
            payment_method_id: note.method_id.to_string(),
            reason: note.reason.name().to_owned(),
            memo: note.memo.clone(),
            total: note.total.to_string(),
            due_reduced: note.due_reduced.to_string(),
            to_balance: note.to_balance.to_string(),
            refunded: note.refunded.to_string(),
            items: None,
            refunds: None,
            credit_note_pdf: format!("/api/credit-notes/{}/pdf", note.id),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], &app.site)),
            created_at: note.created_at.to_iso(),
        }
    }
}

/// Credit notes of a mode without items and refunds, as in lists.
pub async fn credit_notes(app: &App, unit: &mut dyn UnitOfWork, mode: Mode, notes: &[CreditNote]) -> Result<Vec<CreditNoteModel>, Problem> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = notes.iter().map(|note| note.invoice_id.clone()).collect();
    let invoices = unit.invoices().find_all(&ids).await?;
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let number_of = |note: &CreditNote| {
        let invoice = invoices.iter().find(|invoice| invoice.id == note.invoice_id);
        invoice.and_then(Invoice::number_text).unwrap_or_default()
    };
    let customers = ListCustomers::read(unit, notes.iter().map(|note| &note.customer_id)).await?;
    let model = |note: &CreditNote| CreditNoteModel {
        customer: customers.reference(&note.customer_id),
        ..CreditNoteModel::new(note, number_of(note), &currencies, &methods, app)
    };
    Ok(notes.iter().map(model).collect())
}

/// One credit note with its items and refunds.
pub async fn credit_note(app: &App, unit: &mut dyn UnitOfWork, id: &CreditNoteId) -> Result<CreditNoteModel, Problem> {
    let expanded = expand_credit_note(unit, id).await?.ok_or_else(Problem::not_found)?;
    let ExpandedCreditNote { note, items, refunds, .. } = &expanded;
    let model = credit_notes(app, unit, note.mode, std::slice::from_ref(note)).await?.pop().ok_or_else(Problem::not_found)?;
    let refunds: Vec<_> = refunds.iter().map(|route| route.refund.clone()).collect();
    let refunds = refund_models(app, unit, &refunds).await?;
    Ok(CreditNoteModel {
        items: Some(items.iter().map(|credited| CreditNoteItemModel::new(&credited.item, &credited.line)).collect()),
        refunds: Some(refunds),
        ..model
    })
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNoteList")]
pub struct CreditNoteListModel {
    pub count: u64,
    pub list: Vec<CreditNoteModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNoteItemInput")]
pub struct CreditNoteItemInputModel {
    pub invoice_item_id: String,
    /// A human decimal.
    pub amount: Decimal,
    /// Whether the credit revokes what the line paid for. Absent: only if the line is credited in full and the reason does not keep
    /// access.
    pub revokes: Option<bool>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNoteInput")]
pub struct CreditNoteInputModel {
    pub invoice_id: String,
    /// Absent: the amount is spread over the lines in proportion to their creditable amounts.
    pub items: Option<Vec<CreditNoteItemInputModel>>,
    /// A human decimal, instead of items; both absent: everything that can still be credited.
    pub amount: Option<Decimal>,
    /// One of the reasons of `CreditNote`; absent: `other`.
    pub reason: Option<String>,
    /// A note from the store to the customer.
    pub memo: Option<String>,
    /// Destination of the part that was already paid: `balance` (the customer's balance) or `refund` (the payments of the invoice).
    pub to: String,
}

/// An item as the credit note would contain it.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNotePreviewItem")]
pub struct PreviewItemModel {
    pub invoice_item_id: String,
    /// Base units.
    pub amount: String,
    pub revokes: bool,
}

/// The amounts that a credit note would credit now, and their destination, in base units.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CreditNotePreview")]
pub struct CreditNotePreviewModel {
    pub invoice_id: String,
    pub currency_id: String,
    pub items: Vec<PreviewItemModel>,
    pub total: String,
    pub due_reduced: String,
    pub to_balance: String,
    pub refunded: String,
}

impl CreditNotePreviewModel {
    #[must_use]
    pub fn new(invoice: &Invoice, preview: &CreditNotePreview) -> Self {
        let items = preview.items.iter().map(|item| PreviewItemModel {
            invoice_item_id: item.invoice_item_id.to_string(),
            amount: item.amount.to_string(),
            revokes: item.revokes.unwrap_or_default(),
        });
        Self {
            invoice_id: invoice.id.to_string(),
            currency_id: invoice.currency_id.to_string(),
            items: items.collect(),
            total: preview.total.to_string(),
            due_reduced: preview.due_reduced.to_string(),
            to_balance: preview.to_balance.to_string(),
            refunded: preview.refunded.to_string(),
        }
    }
}
