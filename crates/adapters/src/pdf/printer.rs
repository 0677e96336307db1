//! Converts invoices and credit notes of the domain into documents.

use super::formula_text::formula_text;
use super::{
    CreditNoteDocument, CreditNoteLine, DocumentLine, DocumentPayment, DocumentStatus, InvoiceDocument, InvoiceFonts, Party,
    credit_note_pdf, credit_reason, describe, format_time, invoice_pdf, method_name,
};
use souk_domain::billing::{
    BillTo, CreditNotePrinter, CreditedLine, ExpandedCreditNote, ExpandedInvoice, InvoiceItem, InvoicePrinter, InvoiceStatus, PrintError,
};
use souk_domain::customer::Address;
use souk_domain::payment::{Currency, MethodSettings};
use souk_domain::shared::{Amount, Language};

/// Prints the invoices and credit notes of this store.
#[derive(Clone)]
pub struct PdfPrinter {
    pub seller: Party,
    /// The store's public address. The explorer addresses of its own sandbox are relative to it.
    pub public_url: String,
    pub fonts: InvoiceFonts,
}

impl InvoicePrinter for PdfPrinter {
    fn print(&self, invoice: &ExpandedInvoice, language: Language) -> Result<Vec<u8>, PrintError> {
        invoice_pdf(&self.document(invoice, language), language, &self.fonts).map_err(|error| PrintError(error.to_string()))
    }
}

/// Formats an amount as a decimal with its currency symbol.
#[must_use]
pub fn money(amount: Amount, currency: &Currency) -> String {
    format!("{} {}", amount.to_decimal(currency.decimals), currency.symbol)
}

/// Precedes deductions. The bundled font has this dash, but not the mathematical minus sign.
const MINUS: char = '–';

impl CreditNotePrinter for PdfPrinter {
    fn print_credit_note(&self, note: &ExpandedCreditNote, language: Language) -> Result<Vec<u8>, PrintError> {
        credit_note_pdf(&self.credit_note(note, language), language, &self.fonts).map_err(|error| PrintError(error.to_string()))
    }
}

/// A part of a credit note's total, and its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditDestination {
    pub description: String,
    pub amount: String,
}

/// Lists the destinations of a credit note's total: the amount due, the customer's balance, and refunds of payments.
pub(crate) fn credit_destinations(expanded: &ExpandedCreditNote, language: Language) -> Vec<CreditDestination> {
    let ExpandedCreditNote { note, refunds, currency, .. } = expanded;
    let translate = |english: String, chinese: String| if language == Language::Chinese { chinese } else { english };
    let part = |amount: Amount, description: String| {
        (!amount.is_zero()).then(|| CreditDestination { description, amount: money(amount, currency) })
    };
    let due = part(note.due_reduced, translate("Taken off the amount due".to_owned(), "抵减应付金额".to_owned()));
    let balance = part(note.to_balance, translate("Added to your account balance".to_owned(), "转入账户余额".to_owned()));
    let refunds = refunds.iter().filter_map(|route| {
        let method = method_name(route.method.kind, language);
        part(route.refund.amount, translate(format!("Refunded via {method}"), format!("通过{method}退款")))
    });
    due.into_iter().chain(balance).chain(refunds).collect()
}

/// Returns the recipient of a document.
fn party(bill_to: &BillTo) -> Party {
    let mut details = vec![bill_to.email.clone(), bill_to.phone.clone()];
    details.extend(bill_to.address.as_ref().map(address_lines).unwrap_or_default());
    details.retain(|line| !line.is_empty());
    Party { name: bill_to.name.clone(), details }
}

impl PdfPrinter {
    fn document(&self, expanded: &ExpandedInvoice, language: Language) -> InvoiceDocument {
        let ExpandedInvoice { invoice, items, currency, .. } = expanded;
        let less = |amount: Amount| (!amount.is_zero()).then(|| format!("{MINUS}{}", money(amount, currency)));
        let line = |item: &InvoiceItem| DocumentLine {
            description: describe(&item.description, language),
            detail: None,
            quantity: item.quantity.to_string(),
            unit_price: money(item.unit_amount, currency),
            amount: money(item.amount, currency),
        };
        let applied = expanded.applied_credit().unwrap_or_default();
        let due = invoice.remaining();
        InvoiceDocument {
            seller: self.seller.clone(),
            customer: party(&invoice.bill_to),
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
            lines: items.iter().map(line).collect(),
            total: money(invoice.total, currency),
            credited: less(invoice.amount_credited),
            applied_credit: less(applied),
            paid: money(invoice.amount_paid.minus(applied).unwrap_or_default(), currency),
            due: (!due.is_zero()).then(|| money(due, currency)),
            payment: self.payment(expanded, language),
            live: invoice.mode.is_live(),
        }
    }

    fn credit_note(&self, expanded: &ExpandedCreditNote, language: Language) -> CreditNoteDocument {
        let ExpandedCreditNote { note, items, invoice, currency, .. } = expanded;
        let line = |credited: &CreditedLine| CreditNoteLine {
            description: describe(&credited.description(), language),
            detail: credited
                .item
                .pricing_formula
                .as_ref()
                .map(|formula| formula_text(formula, language, &|amount| money(amount, currency))),
            amount: money(credited.item.amount, currency),
        };
        CreditNoteDocument {
            seller: self.seller.clone(),
            customer: party(&invoice.bill_to),
            number: note.number_text(),
            issued: format_time(note.created_at, language),
            invoice_number: invoice.number_text().unwrap_or_else(|| invoice.id.to_string()),
            reason: credit_reason(note.reason, language).to_owned(),
            lines: items.iter().map(line).collect(),
            total: money(note.total, currency),
            destinations: credit_destinations(expanded, language),
            memo: Some(note.memo.clone()).filter(|memo| !memo.is_empty()),
            live: note.mode.is_live(),
        }
    }

    fn payment(&self, expanded: &ExpandedInvoice, language: Language) -> Option<DocumentPayment> {
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
            // No link: only the seller can open the processor's dashboard.
            MethodSettings::Stripe { .. } => None,
        };
        Some(DocumentPayment {
            method: method_name(expanded.method.kind, language).to_owned(),
            reference: Some(reference),
            reference_url: url,
        })
    }
}

/// The countries whose addresses end with "City, ST 94105".
const STATE_BEFORE_POSTAL_CODE: [&str; 3] = ["AU", "CA", "US"];

fn address_lines(address: &Address) -> Vec<String> {
    let Address { city, state, postal_code, .. } = address;
    let country = address.country.to_ascii_uppercase();
    let city = if STATE_BEFORE_POSTAL_CODE.contains(&country.as_str()) {
        joined(&[city, &joined(&[state, postal_code], " ")], ", ")
    } else {
        joined(&[postal_code, city, state], " ")
    };
    vec![address.line1.clone(), address.line2.clone(), city, country]
}

/// Joins the parts that are not empty.
fn joined(parts: &[&str], separator: &str) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::{Address, address_lines};

    #[test]
    fn the_state_precedes_the_postal_code_where_that_is_usual() {
        let line = |country: &str, city: &str, state: &str, postal_code: &str| {
            let [country, city, state, postal_code] = [country, city, state, postal_code].map(str::to_owned);
            address_lines(&Address { country, city, state, postal_code, ..Address::default() })[2].clone()
        };
        assert_eq!(line("us", "San Francisco", "CA", "94105"), "San Francisco, CA 94105");
        assert_eq!(line("ca", "Toronto", "ON", "M5V 2T6"), "Toronto, ON M5V 2T6");
        assert_eq!(line("au", "", "NSW", "2000"), "NSW 2000");
        assert_eq!(line("us", "San Francisco", "", ""), "San Francisco");
        assert_eq!(line("de", "Köln", "", "50667"), "50667 Köln");
    }
}
