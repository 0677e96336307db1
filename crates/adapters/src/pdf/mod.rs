//! Invoices and credit notes as PDF documents.

mod credit_note;
mod fonts;
mod invoice;
mod layout;
mod printer;
mod sheet;
mod strings;
mod wrap;

pub use fonts::InvoiceFonts;
pub(crate) use printer::{CreditDestination, credit_destinations};
pub use printer::{PdfPrinter, money};
pub(crate) use strings::{credit_reason, method_name};
pub use strings::format_time;

use souk_domain::shared::Language;

/// The content of an invoice; amounts are formatted with their currency, times with their zone ([`format_time`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceDocument {
    pub seller: Party,
    pub customer: Party,
    pub number: String,
    pub issued: String,
    pub status: DocumentStatus,
    /// `None`: it is not paid.
    pub paid_on: Option<String>,
    pub lines: Vec<DocumentLine>,
    pub total: String,
    /// What credit notes took off the amount due, with a minus sign; `None`: nothing.
    pub credited: Option<String>,
    /// What the customer's balance paid, with a minus sign; `None`: nothing.
    pub applied_credit: Option<String>,
    /// What was paid otherwise.
    pub paid: String,
    /// The amount that remains to be paid; `None`: nothing remains.
    pub due: Option<String>,
    /// `None`: no payment was made.
    pub payment: Option<DocumentPayment>,
    /// False prints the test-mode banner on every page.
    pub live: bool,
}

/// A name, and below it the contact details: address, URL, email, phone, one per line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Party {
    pub name: String,
    pub details: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLine {
    pub description: String,
    /// A second, smaller line: a version, a period.
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
    /// Where the reference can be looked up. Only http and https addresses become links.
    pub reference_url: Option<String>,
}

/// The content of a credit note, formatted as that of an [`InvoiceDocument`].
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
    /// What the store wrote to the customer.
    pub memo: Option<String>,
    /// False prints the test-mode banner on every page.
    pub live: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditNoteLine {
    pub description: String,
    /// A second, smaller line: how the amount was computed.
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

/// Why there is no PDF.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error("the invoice font cannot be read")]
    Font,
    #[error("the invoice could not be written as PDF: {0}")]
    Write(String),
}

/// The invoice as A4 pages. The same invoice gives the same bytes.
pub fn invoice_pdf(invoice: &InvoiceDocument, language: Language, fonts: &InvoiceFonts) -> Result<Vec<u8>, PdfError> {
    let pages = invoice::lay_out(invoice, language, fonts);
    let title = format!("{} {}", strings::strings(language).invoice, invoice.number);
    sheet::write(&pages, fonts, sheet::Title { title, author: invoice.seller.name.clone(), language })
}

/// The credit note as A4 pages. The same note gives the same bytes.
pub fn credit_note_pdf(note: &CreditNoteDocument, language: Language, fonts: &InvoiceFonts) -> Result<Vec<u8>, PdfError> {
    let pages = credit_note::lay_out(note, language, fonts);
    let title = format!("{} {}", strings::strings(language).credit_note, note.number);
    sheet::write(&pages, fonts, sheet::Title { title, author: note.seller.name.clone(), language })
}

#[cfg(test)]
mod tests;
