//! Invoices and credit notes as PDF documents.

mod credit_note;
mod fonts;
mod formula_text;
mod invoice;
mod layout;
mod printer;
mod sheet;
mod strings;
mod wrap;

pub use fonts::InvoiceFonts;
pub(crate) use printer::{CreditDestination, credit_destinations};
pub use printer::{PdfPrinter, money};
pub use strings::format_time;
pub(crate) use strings::{credit_reason, describe, method_name, names_text};

use souk_domain::shared::Language;

/// The content of an invoice. Amounts are formatted with their currency, and times with their zone ([`format_time`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceDocument {
    pub seller: Party,
    pub customer: Party,
    pub number: String,
    pub issued: String,
    pub status: DocumentStatus,
    /// `None` if the invoice is not paid.
    pub paid_on: Option<String>,
    pub lines: Vec<DocumentLine>,
    pub total: String,
    /// The credit that reduced the amount due, with a minus sign; `None` if there is none.
    pub credited: Option<String>,
    /// The amount paid by the customer's balance, with a minus sign; `None` if there is none.
    pub applied_credit: Option<String>,
    /// The amount paid by other means than the balance.
    pub paid: String,
    /// The amount that remains to be paid; `None` if nothing remains.
    pub due: Option<String>,
    /// `None` if no payment was made.
    pub payment: Option<DocumentPayment>,
    /// False prints the test-mode banner on every page.
    pub live: bool,
}

/// A seller or customer: the name, and the contact details below it (address, URL, email, phone), one per line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Party {
    pub name: String,
    pub details: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLine {
    pub description: String,
    /// A second line in smaller type, such as a version or a period.
    pub detail: Option<String>,
    pub quantity: String,
    pub unit_price: String,
    pub amount: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPayment {
    pub method: String,
    /// The payment's id at its network: a transaction hash, a payment intent.
    pub reference: Option<String>,
    /// The address where the reference can be looked up. Only http and https addresses become links.
    pub reference_url: Option<String>,
}

/// The content of a credit note, with amounts and times formatted as in an [`InvoiceDocument`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteDocument {
    pub seller: Party,
    pub customer: Party,
    pub number: String,
    pub issued: String,
    /// The number of the invoice that it credits.
    pub invoice_number: String,
    pub reason: String,
    pub lines: Vec<CreditNoteLine>,
    pub total: String,
    pub destinations: Vec<CreditDestination>,
    /// A message from the store to the customer.
    pub memo: Option<String>,
    /// False prints the test-mode banner on every page.
    pub live: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteLine {
    pub description: String,
    /// A second line in smaller type that explains how the amount was computed.
    pub detail: Option<String>,
    pub amount: String,
}

/// The states of an invoice in SPEC.md 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentStatus {
    Draft,
    Open,
    Paid,
    Uncollectible,
    Void,
}

/// Reasons why a PDF could not be created.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error("the invoice font cannot be read")]
    Font,
    #[error("the invoice could not be written as PDF: {0}")]
    Write(String),
}

/// Renders the invoice on A4 pages. The bytes are reproducible: equal invoices give equal bytes.
pub fn invoice_pdf(invoice: &InvoiceDocument, language: Language, fonts: &InvoiceFonts) -> Result<Vec<u8>, PdfError> {
    let pages = invoice::lay_out(invoice, language, fonts);
    let title = format!("{} {}", strings::strings(language).invoice, invoice.number);
    sheet::write(&pages, fonts, sheet::Title { title, author: invoice.seller.name.clone(), language })
}

/// Renders the credit note on A4 pages. The bytes are reproducible: equal notes give equal bytes.
pub fn credit_note_pdf(note: &CreditNoteDocument, language: Language, fonts: &InvoiceFonts) -> Result<Vec<u8>, PdfError> {
    let pages = credit_note::lay_out(note, language, fonts);
    let title = format!("{} {}", strings::strings(language).credit_note, note.number);
    sheet::write(&pages, fonts, sheet::Title { title, author: note.seller.name.clone(), language })
}

#[cfg(test)]
mod tests;
