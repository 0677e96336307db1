//! Mails of the domain, written and handed over.

use super::news::Desk;
use super::receipt::{PaidBy, ReceiptSubscription};
use super::{Download, MailError, Mailbox, Outgoing, Receipt, ReceiptItem, receipt_mail};
use crate::pdf::{PdfPrinter, money};
use async_trait::async_trait;
use souk_domain::access::PageTokens;
use souk_domain::billing::{BillingMailer, InvoiceItem, InvoicePrinter, Letter, MailingError, ReceiptMailer, ReceiptOrder};

/// What this store sends to its customers.
pub struct StoreMails {
    pub mailbox: Mailbox,
    pub printer: PdfPrinter,
    /// Makes the links open their page without a sign-in.
    pub tokens: PageTokens,
}

#[async_trait]
impl ReceiptMailer for StoreMails {
    async fn send(&self, order: &ReceiptOrder) -> Result<(), MailingError> {
        let (printer, invoice, language) = (self.printer.clone(), order.invoice.clone(), order.language);
        let drawn = tokio::task::spawn_blocking(move || printer.print(&invoice, language)).await;
        let pdf = match drawn {
            Ok(pdf) => pdf.map_err(|error| MailingError::Refused(error.to_string()))?,
            Err(error) => return Err(MailingError::Unavailable(error.to_string())),
        };
        self.deliver(&receipt_mail(&self.receipt(order, pdf), order.language)).await
    }
}

#[async_trait]
impl BillingMailer for StoreMails {
    async fn send(&self, letter: &Letter) -> Result<(), MailingError> {
        self.deliver(&self.desk().write(letter)).await
    }
}

impl StoreMails {
    fn desk(&self) -> Desk<'_> {
        Desk { store_name: &self.printer.seller.name, public_url: &self.printer.public_url, tokens: &self.tokens }
    }

    async fn deliver(&self, mail: &Outgoing) -> Result<(), MailingError> {
        self.mailbox.deliver(mail).await.map_err(|error| match error {
            MailError::Unavailable(reason) => MailingError::Unavailable(reason),
            MailError::Settings(reason) | MailError::Refused(reason) => MailingError::Refused(reason),
        })
    }

    fn receipt(&self, order: &ReceiptOrder, invoice_pdf: Vec<u8>) -> Receipt {
        let expanded = &order.invoice;
        let invoice = &expanded.invoice;
        let desk = self.desk();
        let item = |item: &InvoiceItem| {
            let amount = money(item.amount, &expanded.currency);
            let amount = if item.calculation.is_credit() { format!("−{amount}") } else { amount };
            ReceiptItem { title: item.title(order.language), quantity: item.quantity, amount }
        };
        let download = |(title, path): &(String, String)| Download { title: title.clone(), url: desk.address(path) };
        let subscription = invoice.subscription_id.as_ref().map(|id| ReceiptSubscription {
            title: invoice.description.clone(),
            reason: invoice.reason,
            period: invoice.period,
            url: desk.subscription_url(id, order.links_from),
        });
        Receipt {
            invoice_id: invoice.id.to_string(),
            invoice_number: invoice.number_text().unwrap_or_else(|| invoice.id.to_string()),
            invoice_url: desk.invoice_url(&invoice.id, order.links_from),
            invoice_pdf,
            store_name: self.printer.seller.name.clone(),
            store_url: desk.address("/"),
            customer_name: invoice.bill_to.name.clone(),
            customer_mail: invoice.bill_to.email.clone(),
            items: expanded.items.iter().map(item).collect(),
            total: money(invoice.total, &expanded.currency),
            paid_by: match expanded.applied_credit() {
                _ if !invoice.total.is_zero() => PaidBy::Method(expanded.method.name.clone()),
                Some(credit) if !credit.is_zero() => PaidBy::Credit(money(credit, &expanded.currency)),
                _ => PaidBy::Nothing,
            },
            paid_at: invoice.paid_at.unwrap_or(invoice.updated_at),
            downloads: order.downloads.iter().map(download).collect(),
            subscription,
            live: invoice.mode.is_live(),
        }
    }
}
