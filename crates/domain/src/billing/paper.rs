//! Invoices on paper and by mail.

use super::{Invoice, InvoiceItem};
use crate::customer::Customer;
use crate::payment::{Currency, Intent, Method};
use crate::shared::{InvoiceId, Language, StorageError};
use crate::storage::UnitOfWork;

/// An invoice with everything its paper shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedInvoice {
    pub invoice: Invoice,
    pub items: Vec<InvoiceItem>,
    pub customer: Customer,
    pub currency: Currency,
    pub method: Method,
    pub intent: Option<Intent>,
}

/// Reads an invoice and what it refers to. `None`: no such invoice.
pub async fn expand_invoice(unit: &mut dyn UnitOfWork, id: &InvoiceId) -> Result<Option<ExpandedInvoice>, StorageError> {
    let Some(invoice) = unit.invoices().find(id).await? else { return Ok(None) };
    let items = unit.invoices().items(id).await?;
    let customer = unit.customers().find(&invoice.customer_id).await?;
    let currency = unit.methods().find_currency(&invoice.currency_id).await?;
    let method = unit.methods().find(&invoice.method_id).await?;
    let intent = match &invoice.intent_id {
        Some(intent) => unit.intents().find(intent).await?,
        None => None,
    };
    let (Some(customer), Some(currency), Some(method)) = (customer, currency, method) else { return Ok(None) };
    Ok(Some(ExpandedInvoice { invoice, items, customer, currency, method, intent }))
}

#[derive(Debug, thiserror::Error)]
#[error("the invoice cannot be drawn: {0}")]
pub struct PrintError(pub String);

/// Draws invoices as PDF.
pub trait InvoicePrinter: Send + Sync {
    fn print(&self, invoice: &ExpandedInvoice, language: Language) -> Result<Vec<u8>, PrintError>;
}
