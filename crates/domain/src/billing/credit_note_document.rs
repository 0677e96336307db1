//! The data of credit note documents.

use super::{CreditNote, CreditNoteItem, Invoice, InvoiceItem, PricingFormula, PrintError};
use crate::customer::Customer;
use crate::payment::{Currency, Description, Method, Refund};
use crate::shared::{CreditNoteId, Language, StorageError};
use crate::storage::UnitOfWork;

/// A credit note with everything that its document shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedCreditNote {
    pub note: CreditNote,
    pub items: Vec<CreditedLine>,
    pub invoice: Invoice,
    pub customer: Customer,
    pub currency: Currency,
    /// Its refunds over networks: one per payment that is refunded.
    pub refunds: Vec<RefundRoute>,
}

/// An item of a credit note with its invoice line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditedLine {
    pub item: CreditNoteItem,
    pub line: InvoiceItem,
}

impl CreditNoteItem {
    /// The description of the credit over `line`.
    #[must_use]
    pub fn description(&self, line: &InvoiceItem) -> Description {
        match self.pricing_formula {
            Some(PricingFormula::Prorated { .. }) => line.description.unused_time(),
            _ => line.description.clone(),
        }
    }
}

impl CreditedLine {
    #[must_use]
    pub fn description(&self) -> Description {
        self.item.description(&self.line)
    }
}

/// A refund and the method that sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundRoute {
    pub refund: Refund,
    pub method: Method,
}

/// Reads a credit note and the objects it refers to. `None`: there is no such note.
pub async fn expand_credit_note(unit: &mut dyn UnitOfWork, id: &CreditNoteId) -> Result<Option<ExpandedCreditNote>, StorageError> {
    let Some(note) = unit.credit_notes().find(id).await? else { return Ok(None) };
    let invoice = unit.invoices().find(&note.invoice_id).await?;
    let customer = unit.customers().find(&note.customer_id).await?;
    let currency = unit.methods().find_currency(&note.currency_id).await?;
    let (Some(invoice), Some(customer), Some(currency)) = (invoice, customer, currency) else { return Ok(None) };
    let lines = unit.invoices().items(&invoice.id).await?;
    let items = unit.credit_notes().items_of(std::slice::from_ref(id)).await?;
    let with_line = |item: CreditNoteItem| {
        let line = lines.iter().find(|line| line.id == item.invoice_item_id)?.clone();
        Some(CreditedLine { item, line })
    };
    let sent = unit.refunds().of_note(id).await?;
    let mut refunds = Vec::with_capacity(sent.len());
    for refund in sent {
        if let Some(method) = unit.methods().find(&refund.method_id).await? {
            refunds.push(RefundRoute { refund, method });
        }
    }
    Ok(Some(ExpandedCreditNote { items: items.into_iter().filter_map(with_line).collect(), note, invoice, customer, currency, refunds }))
}

/// Renders credit notes as PDF.
pub trait CreditNotePrinter: Send + Sync {
    fn print_credit_note(&self, note: &ExpandedCreditNote, language: Language) -> Result<Vec<u8>, PrintError>;
}
