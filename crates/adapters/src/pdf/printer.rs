//! Turns invoices of the domain into documents.

use super::{DocumentLine, DocumentPayment, DocumentStatus, InvoiceDocument, InvoiceFonts, Party, format_time, invoice_pdf};
use souk_domain::billing::{Calculation, ExpandedInvoice, InvoiceItem, InvoicePrinter, InvoiceStatus, PrintError};
use souk_domain::customer::Address;
use souk_domain::payment::{Currency, MethodSettings};
use souk_domain::shared::{Amount, Language};

/// Draws the invoices of this store.
#[derive(Clone)]
pub struct PdfPrinter {
    pub seller: Party,
    /// The store's address, which completes the explorer addresses of its own sandbox.
    pub public_url: String,
    pub fonts: InvoiceFonts,
}

impl InvoicePrinter for PdfPrinter {
    fn print(&self, invoice: &ExpandedInvoice, language: Language) -> Result<Vec<u8>, PrintError> {
        invoice_pdf(&self.document(invoice, language), language, &self.fonts).map_err(|error| PrintError(error.to_string()))
    }
}

/// An amount in decimal notation, with its currency.
#[must_use]
pub fn money(amount: Amount, currency: &Currency) -> String {
    format!("{} {}", amount.to_decimal(currency.decimals), currency.symbol)
}

/// Precedes deductions. The bundled font has this dash, but not the mathematical minus sign.
const MINUS: char = '–';

impl PdfPrinter {
    fn document(&self, expanded: &ExpandedInvoice, language: Language) -> InvoiceDocument {
        let ExpandedInvoice { invoice, items, currency, .. } = expanded;
        let less = |amount: Amount| format!("{MINUS}{}", money(amount, currency));
        let line = |item: &InvoiceItem| DocumentLine {
            description: item.title(language),
            detail: None,
            quantity: item.quantity.to_string(),
            unit_price: money(item.unit_amount, currency),
            amount: if item.calculation.is_credit() { less(item.amount) } else { money(item.amount, currency) },
        };
        // Applied credit is printed below the subtotal, not among the billed items.
        let (applied, billed): (Vec<_>, Vec<_>) = items.iter().partition(|item| matches!(item.calculation, Calculation::Applied { .. }));
        let credit = expanded.applied_credit().filter(|_| !applied.is_empty());
        let due = invoice.total.minus(invoice.amount_paid).unwrap_or_default();
        let mut details = vec![invoice.bill_to.email.clone(), invoice.bill_to.phone.clone()];
        details.extend(invoice.bill_to.address.as_ref().map(address_lines).unwrap_or_default());
        details.retain(|line| !line.is_empty());
        InvoiceDocument {
            seller: self.seller.clone(),
            customer: Party { name: invoice.bill_to.name.clone(), details },
            number: invoice.number_text().unwrap_or_else(|| invoice.id.to_string()),
            issued: format_time(invoice.finalized_at.unwrap_or(invoice.created_at), language),
            status: match invoice.status {
                InvoiceStatus::Draft => DocumentStatus::Draft,
                InvoiceStatus::Open => DocumentStatus::Open,
                InvoiceStatus::Paid => DocumentStatus::Paid,
                InvoiceStatus::Uncollectible => DocumentStatus::Uncollectible,
                InvoiceStatus::Void => DocumentStatus::Void,
            },
            paid_on: invoice.paid_at.map(|at| format_time(at, language)),
            lines: billed.into_iter().map(line).collect(),
            subtotal: money(expanded.subtotal().unwrap_or(invoice.total), currency),
            applied_credit: credit.map(less),
            total: money(invoice.total, currency),
            paid: money(invoice.amount_paid, currency),
            due: (!due.is_zero()).then(|| money(due, currency)),
            payment: self.payment(expanded),
            live: invoice.mode.is_live(),
        }
    }

    fn payment(&self, expanded: &ExpandedInvoice) -> Option<DocumentPayment> {
        let reference = expanded.intent.as_ref().map(|intent| intent.reference.clone()).filter(|reference| !reference.is_empty())?;
        let host = |host: &str| match host.strip_prefix('/') {
            Some(path) => format!("{}/{path}", self.public_url.trim_end_matches('/')),
            None => host.trim_end_matches('/').to_owned(),
        };
        let url = match &expanded.method.settings {
            MethodSettings::Arcblock { explorer_host, .. } => Some(format!("{}/txs/{reference}", host(explorer_host))),
            MethodSettings::Bitcoin { explorer_host } | MethodSettings::Evm { explorer_host, .. } => {
                Some(format!("{}/tx/{reference}", host(explorer_host)))
            }
            // Only the seller can open the processor's dashboard.
            MethodSettings::Stripe { .. } => None,
        };
        Some(DocumentPayment { method: expanded.method.name.clone(), reference: Some(reference), reference_url: url })
    }
}

fn address_lines(address: &Address) -> Vec<String> {
    let city = [address.postal_code.as_str(), address.city.as_str(), address.state.as_str()];
    let city = city.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    vec![address.line1.clone(), address.line2.clone(), city, address.country.to_ascii_uppercase()]
}
