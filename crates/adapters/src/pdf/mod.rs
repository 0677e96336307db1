//! Invoices on paper.

mod fonts;
mod invoice;
mod printer;
mod sheet;
mod wording;
mod wrap;

pub use fonts::InvoiceFonts;
pub use printer::{PdfPrinter, money};
pub use wording::written_time;

use souk_domain::shared::Language;

/// What an invoice says, every text as it shall be read: amounts with their currency, dates with their zone ([`written_time`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoicePaper {
    pub seller: Party,
    pub customer: Party,
    pub number: String,
    pub issued: String,
    pub status: PaperStatus,
    /// When it was paid; `None` while it is not.
    pub paid_on: Option<String>,
    pub lines: Vec<PaperLine>,
    /// Before the customer's credit.
    pub subtotal: String,
    /// With its minus; `None`: none was taken off.
    pub applied_credit: Option<String>,
    pub total: String,
    pub paid: String,
    /// What is still to pay; `None` when nothing is.
    pub due: Option<String>,
    /// `None` where no payment has been made.
    pub payment: Option<PaperPayment>,
    /// False prints the test-mode mark on every page.
    pub live: bool,
}

/// A name, and below it what reaches the one named: address, URL, e-mail, phone, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Party {
    pub name: String,
    pub details: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperLine {
    pub description: String,
    /// A second, smaller line: a version, a period.
    pub detail: Option<String>,
    pub quantity: String,
    pub unit_price: String,
    pub amount: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperPayment {
    pub method: String,
    /// The network's own key of the payment: a transaction hash, a payment intent.
    pub reference: Option<String>,
    /// Where the reference can be looked up; http and https only, all else is not linked.
    pub reference_url: Option<String>,
}

/// The states of an invoice in SPEC.md 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperStatus {
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
pub fn invoice_pdf(invoice: &InvoicePaper, language: Language, fonts: &InvoiceFonts) -> Result<Vec<u8>, PdfError> {
    let pages = invoice::lay_out(invoice, language, fonts);
    let title = format!("{} {}", wording::wording(language).invoice, invoice.number);
    sheet::write(&pages, fonts, sheet::Title { title, author: invoice.seller.name.clone(), language })
}

#[cfg(test)]
mod tests;
