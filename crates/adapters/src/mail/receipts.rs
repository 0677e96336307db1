//! Receipts of the domain, written and handed over.

use super::{Download, MailError, Mailbox, Receipt, ReceiptItem, receipt_mail};
use crate::pdf::{PdfPrinter, money};
use async_trait::async_trait;
use souk_domain::billing::{InvoicePrinter, ReceiptError, ReceiptMailer, ReceiptOrder};

pub struct ReceiptMails {
    pub mailbox: Mailbox,
    pub printer: PdfPrinter,
}

#[async_trait]
impl ReceiptMailer for ReceiptMails {
    async fn send(&self, order: &ReceiptOrder) -> Result<(), ReceiptError> {
        let (printer, invoice, language) = (self.printer.clone(), order.invoice.clone(), order.language);
        let drawn = tokio::task::spawn_blocking(move || printer.print(&invoice, language)).await;
        let pdf = match drawn {
            Ok(pdf) => pdf.map_err(|error| ReceiptError::Refused(error.to_string()))?,
            Err(error) => return Err(ReceiptError::Unavailable(error.to_string())),
        };
        let mail = receipt_mail(&self.receipt(order, pdf), order.language);
        self.mailbox.deliver(&mail).await.map_err(|error| match error {
            MailError::Unavailable(reason) => ReceiptError::Unavailable(reason),
            MailError::Settings(reason) | MailError::Refused(reason) => ReceiptError::Refused(reason),
        })
    }
}

impl ReceiptMails {
    fn receipt(&self, order: &ReceiptOrder, invoice_pdf: Vec<u8>) -> Receipt {
        let expanded = &order.invoice;
        let invoice = &expanded.invoice;
        let address = |path: &str| format!("{}{path}", self.printer.public_url.trim_end_matches('/'));
        let item = |item: &souk_domain::billing::InvoiceItem| ReceiptItem {
            title: item.description.clone(),
            quantity: item.quantity,
            amount: money(item.amount, &expanded.currency),
        };
        let download = |(title, path): &(String, String)| Download { title: title.clone(), url: address(path) };
        Receipt {
            invoice_id: invoice.id.to_string(),
            invoice_number: invoice.number_text().unwrap_or_else(|| invoice.id.to_string()),
            invoice_url: address(&format!("/customer/invoice/{}", invoice.id)),
            invoice_pdf,
            store_name: self.printer.seller.name.clone(),
            store_url: address("/"),
            customer_name: invoice.bill_to.name.clone(),
            customer_mail: invoice.bill_to.email.clone(),
            items: expanded.items.iter().map(item).collect(),
            total: money(invoice.total, &expanded.currency),
            method: expanded.method.name.clone(),
            paid_at: invoice.paid_at.unwrap_or(invoice.updated_at),
            downloads: order.downloads.iter().map(download).collect(),
            live: invoice.mode.is_live(),
        }
    }
}
