//! Renders the emails of the domain and hands them to the mail server.

use super::email_service::EmailService;
use super::receipt::{PaidBy, ReceiptSubscription};
use super::{Download, MailError, Mailbox, Outgoing, Receipt, ReceiptItem, receipt_mail};
use crate::pdf::{PdfPrinter, money};
use async_trait::async_trait;
use souk_domain::access::PageTokens;
use souk_domain::billing::{BillingEmail, BillingMailer, InvoiceItem, InvoicePrinter, MailingError, ReceiptMailer, ReceiptOrder};

/// Sends the store's emails to its customers.
pub struct StoreMails {
    pub mailbox: Mailbox,
    pub printer: PdfPrinter,
    /// Signs the links, so that they open their page without a sign-in.
    pub tokens: PageTokens,
}

#[async_trait]
impl ReceiptMailer for StoreMails {
    async fn send(&self, order: &ReceiptOrder) -> Result<(), MailingError> {
        let (printer, invoice, language) = (self.printer.clone(), order.invoice.clone(), order.language);
        let drawn = tokio::task::spawn_blocking(move || printer.print(&invoice, language)).await;
        let pdf = match drawn {
            Ok(pdf) => pdf.map_err(|error| MailingError::Rejected(error.to_string()))?,
            Err(error) => return Err(MailingError::Unavailable(error.to_string())),
        };
        self.deliver(&receipt_mail(&self.receipt(order, pdf), order.language)).await
    }
}

#[async_trait]
impl BillingMailer for StoreMails {
    async fn send(&self, email: &BillingEmail) -> Result<(), MailingError> {
        self.deliver(&self.service().render(email)).await
    }
}

impl StoreMails {
    fn service(&self) -> EmailService<'_> {
        EmailService { store_name: &self.printer.seller.name, public_url: &self.printer.public_url, tokens: &self.tokens }
    }

    async fn deliver(&self, mail: &Outgoing) -> Result<(), MailingError> {
        self.mailbox.deliver(mail).await.map_err(|error| match error {
            MailError::Unavailable(reason) => MailingError::Unavailable(reason),
            MailError::Settings(reason) | MailError::Rejected(reason) => MailingError::Rejected(reason),
        })
    }

    fn receipt(&self, order: &ReceiptOrder, invoice_pdf: Vec<u8>) -> Receipt {
        let expanded = &order.invoice;
        let invoice = &expanded.invoice;
        let service = self.service();
        let item = |item: &InvoiceItem| {
            let amount = money(item.amount, &expanded.currency);
            let amount = if item.calculation.is_credit() { format!("−{amount}") } else { amount };
            ReceiptItem { title: item.title(order.language), quantity: item.quantity, amount }
        };
        let download = |(title, path): &(String, String)| Download { title: title.clone(), url: service.address(path) };
        let subscription = invoice.subscription_id.as_ref().map(|id| ReceiptSubscription {
            title: invoice.description.clone(),
            reason: invoice.reason,
            period: invoice.period,
            url: service.subscription_url(id, order.links_from),
        });
        Receipt {
            invoice_id: invoice.id.to_string(),
            invoice_number: invoice.number_text().unwrap_or_else(|| invoice.id.to_string()),
            invoice_url: service.invoice_url(&invoice.id, order.links_from),
            invoice_pdf,
            store_name: self.printer.seller.name.clone(),
            store_url: service.address("/"),
            customer_name: invoice.bill_to.name.clone(),
            customer_email: invoice.bill_to.email.clone(),
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
