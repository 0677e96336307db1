//! Renders the emails of the domain and hands them to the mail server.

use super::confirmation::confirmation_email;
use super::email_service::EmailService;
use super::receipt::{Deduction, PaidBy, ReceiptDeduction, ReceiptDeposit, ReceiptSubscription};
use super::strings::money;
use super::{Attached, Download, MailError, Mailbox, Outgoing, Receipt, ReceiptItem, receipt_mail};
use crate::pdf::{PdfPrinter, describe, method_name};
use async_trait::async_trait;
use souk_domain::access::SignedLinks;
use souk_domain::billing::{
    BillingEmail, BillingEmailContent, BillingMailer, CreditNotePrinter, DownloadLink, ExpandedCreditNote, InvoiceItem, InvoicePrinter,
    PrintError, ReceiptMailer, ReceiptOrder, SaleEmail, SaleMailer,
};
use souk_domain::doctor::{OwnerMailer, OwnerNotice};
use souk_domain::mail::{CONFIRMATION_INTERVAL, ConfirmationEmail, ConfirmationMailer, Delivery, MailingError};
use souk_domain::publishing::access_tokens::{ExpiryReminder, TokenMailer};
use souk_domain::publishing::review::{ReviewEmail, ReviewMailer};
use souk_domain::publishing::staking::{DeveloperEmail, DeveloperMailer};
use souk_domain::shared::{Amount, Language};

/// Sends the store's emails to its customers.
pub struct StoreMails {
    pub mailbox: Mailbox,
    /// Keeps the emails that are not sent.
    pub folder: Mailbox,
    pub printer: PdfPrinter,
    /// Signs links so that they open their page without a sign-in.
    pub tokens: SignedLinks,
}

#[async_trait]
impl ReceiptMailer for StoreMails {
    async fn send(&self, order: &ReceiptOrder, delivery: Delivery) -> Result<(), MailingError> {
        let (printer, invoice, language) = (self.printer.clone(), order.invoice.clone(), order.language);
        let pdf = draw(move || printer.print(&invoice, language)).await?;
        self.deliver(&receipt_mail(&self.receipt(order, pdf), order.language), delivery).await
    }
}

#[async_trait]
impl BillingMailer for StoreMails {
    async fn send(&self, email: &BillingEmail, delivery: Delivery) -> Result<(), MailingError> {
        let mut outgoing = self.service().render(email);
        if let BillingEmailContent::Credited(note) = &email.content {
            outgoing.attachments.push(self.attached(note, email.recipient.language).await?);
        }
        self.deliver(&outgoing, delivery).await
    }
}

#[async_trait]
impl ConfirmationMailer for StoreMails {
    async fn send_link(&self, email: &ConfirmationEmail) -> Result<(), MailingError> {
        let token = self.tokens.confirmation_token(&email.request, email.requested_at.plus(CONFIRMATION_INTERVAL));
        let url = self.service().address(&format!("/confirm-email?token={token}"));
        let outgoing = confirmation_email(email, &self.printer.seller.name, &self.service().address("/"), &url);
        self.deliver(&outgoing, Delivery::Server).await
    }
}

#[async_trait]
impl OwnerMailer for StoreMails {
    async fn send(&self, notice: &OwnerNotice, delivery: Delivery) -> Result<(), MailingError> {
        self.deliver(&self.service().owner_notice(notice), delivery).await
    }
}

#[async_trait]
impl TokenMailer for StoreMails {
    async fn send_reminder(&self, reminder: &ExpiryReminder, delivery: Delivery) -> Result<(), MailingError> {
        self.deliver(&self.service().token_expiry(reminder), delivery).await
    }
}

#[async_trait]
impl ReviewMailer for StoreMails {
    async fn send_review(&self, email: &ReviewEmail, delivery: Delivery) -> Result<(), MailingError> {
        self.deliver(&self.service().review_step(email), delivery).await
    }
}

#[async_trait]
impl DeveloperMailer for StoreMails {
    async fn send_developer_news(&self, email: &DeveloperEmail, delivery: Delivery) -> Result<(), MailingError> {
        self.deliver(&self.service().developer_news(email), delivery).await
    }
}

#[async_trait]
impl SaleMailer for StoreMails {
    async fn send_sale(&self, email: &SaleEmail, delivery: Delivery) -> Result<(), MailingError> {
        self.deliver(&self.service().sale(email), delivery).await
    }
}

async fn draw(print: impl FnOnce() -> Result<Vec<u8>, PrintError> + Send + 'static) -> Result<Vec<u8>, MailingError> {
    match tokio::task::spawn_blocking(print).await {
        Ok(pdf) => pdf.map_err(|error| MailingError::Rejected(error.to_string())),
        Err(error) => Err(MailingError::Unavailable(error.to_string())),
    }
}

impl StoreMails {
    fn service(&self) -> EmailService<'_> {
        EmailService { store_name: &self.printer.seller.name, public_url: &self.printer.public_url, tokens: &self.tokens }
    }

    async fn attached(&self, note: &ExpandedCreditNote, language: Language) -> Result<Attached, MailingError> {
        let file_name = format!("{}.pdf", note.note.number_text());
        let (printer, note) = (self.printer.clone(), note.clone());
        let bytes = draw(move || printer.print_credit_note(&note, language)).await?;
        Ok(Attached { file_name, media_type: "application/pdf".to_owned(), bytes })
    }

    async fn deliver(&self, mail: &Outgoing, delivery: Delivery) -> Result<(), MailingError> {
        let mailbox = match delivery {
            Delivery::Server => &self.mailbox,
            Delivery::Folder => &self.folder,
        };
        mailbox.deliver(mail).await.map_err(|error| match error {
            MailError::Unavailable(reason) => MailingError::Unavailable(reason),
            MailError::Settings(reason) | MailError::Rejected(reason) => MailingError::Rejected(reason),
        })
    }

    fn receipt(&self, order: &ReceiptOrder, invoice_pdf: Vec<u8>) -> Receipt {
        let expanded = &order.invoice;
        let invoice = &expanded.invoice;
        let service = self.service();
        let item = |item: &InvoiceItem| ReceiptItem {
            title: describe(&item.description, order.language),
            quantity: item.quantity,
            amount: money(item.amount, &expanded.currency),
        };
        let applied = expanded.applied_credit().unwrap_or_default();
        let paid = invoice.amount_paid.minus(applied).unwrap_or_default();
        let deduction = |kind, amount: Amount| {
            (!amount.is_zero()).then(|| ReceiptDeduction { kind, amount: format!("−{}", money(amount, &expanded.currency)) })
        };
        let deductions = [deduction(Deduction::CreditNotes, invoice.amount_credited), deduction(Deduction::AccountBalance, applied)];
        let download = |one: &DownloadLink| Download { title: one.title.clone(), url: service.address(&one.path) };
        let subscription = invoice.subscription_id.as_ref().map(|id| ReceiptSubscription {
            title: describe(&invoice.description, order.language),
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
            deductions: deductions.into_iter().flatten().collect(),
            total: money(paid, &expanded.currency),
            deposit: order.deposit.map(|amount| ReceiptDeposit {
                amount: money(amount, &expanded.currency),
                sum: money(paid.plus(amount).unwrap_or(paid), &expanded.currency),
            }),
            paid_by: match (paid.is_zero(), applied.is_zero()) {
                (false, _) => PaidBy::Method(method_name(expanded.method.kind, order.language).to_owned()),
                (true, false) => PaidBy::Balance(money(applied, &expanded.currency)),
                (true, true) => PaidBy::Nothing,
            },
            paid_at: invoice.paid_at.unwrap_or(invoice.updated_at),
            downloads: order.downloads.iter().map(download).collect(),
            subscription,
            live: invoice.mode.is_live(),
        }
    }
}
