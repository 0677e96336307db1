//! The data of invoice documents and of emailed receipts.

use super::{CreditNote, CreditNoteFilter, Invoice, InvoiceItem, InvoicePayment, PaymentSource, Subscription};
use crate::customer::Customer;
use crate::mail::{Delivery, MailingError};
use crate::payment::{Currency, Intent, Method};
use crate::shared::{Amount, InvoiceId, Language, MAX_PAGE_SIZE, Page, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// An invoice with everything that its document shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedInvoice {
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
    /// Oldest first.
    pub payments: Vec<InvoicePayment>,
    /// Newest first.
    pub notes: Vec<CreditNote>,
    pub customer: Customer,
    pub currency: Currency,
    pub method: Method,
    pub intent: Option<Intent>,
    pub subscription: Option<Subscription>,
}

impl ExpandedInvoice {
    /// The amount paid from the customer's balance, less reversals. `None`: the sum overflows.
    #[must_use]
    pub fn applied_credit(&self) -> Option<Amount> {
        let by_balance = self.payments.iter().filter(|payment| matches!(payment.source, PaymentSource::Balance(_)));
        Amount::sum(by_balance.map(InvoicePayment::effective)).ok()
    }
}

/// Reads an invoice and the objects it refers to. `None`: there is no such invoice.
pub async fn expand_invoice(unit: &mut dyn UnitOfWork, id: &InvoiceId) -> Result<Option<ExpandedInvoice>, StorageError> {
    let Some(invoice) = unit.invoices().find(id).await? else { return Ok(None) };
    let items = unit.invoices().items(id).await?;
    let payments = unit.invoice_payments().of_invoices(std::slice::from_ref(id)).await?;
    let filter = CreditNoteFilter { invoice_id: Some(id.clone()), ..CreditNoteFilter::default() };
    let notes = unit.credit_notes().list(invoice.mode, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list;
    let customer = unit.customers().find(&invoice.customer_id).await?;
    let currency = unit.methods().find_currency(&invoice.currency_id).await?;
    let method = unit.methods().find(&invoice.method_id).await?;
    let intent = match &invoice.intent_id {
        Some(intent) => unit.intents().find(intent).await?,
        None => None,
    };
    let subscription = match &invoice.subscription_id {
        Some(subscription) => unit.subscriptions().find(subscription).await?,
        None => None,
    };
    let (Some(customer), Some(currency), Some(method)) = (customer, currency, method) else { return Ok(None) };
    Ok(Some(ExpandedInvoice { invoice, items, payments, notes, customer, currency, method, intent, subscription }))
}

#[derive(Debug, thiserror::Error)]
#[error("the invoice cannot be drawn: {0}")]
pub struct PrintError(pub String);

/// Renders invoices as PDF.
pub trait InvoicePrinter: Send + Sync {
    fn print(&self, invoice: &ExpandedInvoice, language: Language) -> Result<Vec<u8>, PrintError>;
}

/// An app that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadLink {
    /// The app's title, in the language of the receipt.
    pub title: String,
    /// A path within the store.
    pub path: String,
}

/// The contents of a receipt: the invoice, and the downloads that it paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptOrder {
    pub invoice: ExpandedInvoice,
    pub downloads: Vec<DownloadLink>,
    /// The refundable deposit that was paid together with the invoice.
    pub deposit: Option<Amount>,
    pub language: Language,
    /// The wall time at which the lifetime of the links begins.
    pub links_from: Timestamp,
}

/// Sends receipts. Sending one twice sends a message with the same id, so that mail servers can drop the duplicate.
#[async_trait]
pub trait ReceiptMailer: Send + Sync {
    async fn send(&self, order: &ReceiptOrder, delivery: Delivery) -> Result<(), MailingError>;
}
