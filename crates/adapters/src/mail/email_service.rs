//! Renders the emails about subscriptions, refunds and credit notes, and the emails to the owner of the store.

use super::Outgoing;
use super::email_layout::{Block, as_html, as_text};
use super::mailbox::one_line;
use super::strings::{footer, greeting, mark_test, owner_footer, test_banner};
use super::template_writer::TemplateWriter;
use souk_domain::access::SignedLinks;
use souk_domain::billing::{BillingEmail, BillingEmailContent, Invoice};
use souk_domain::shared::{InvoiceId, SubscriptionId, Timestamp};

/// Renders emails in the name of a store, with links to its pages.
pub(super) struct EmailService<'a> {
    pub store_name: &'a str,
    pub public_url: &'a str,
    pub tokens: &'a SignedLinks,
}

impl EmailService<'_> {
    /// Returns the full address of a path within the store.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.trim_end_matches('/'))
    }

    /// Returns a link that gives access to this invoice only, until its token expires.
    pub fn invoice_url(&self, id: &InvoiceId, from: Timestamp) -> String {
        self.address(&format!("/customer/invoice/{id}?authToken={}", self.tokens.auth_token(id.as_str(), from)))
    }

    /// Returns a link that opens this invoice with an action, such as paying it.
    pub fn payment_url(&self, invoice: &Invoice, action: &str, from: Timestamp) -> String {
        let (id, token) = (&invoice.id, self.tokens.auth_token(invoice.id.as_str(), from));
        self.address(&format!("/customer/invoice/{id}?action={action}&authToken={token}"))
    }

    /// Returns a link that gives access to this subscription only, until its token expires.
    pub fn subscription_url(&self, id: &SubscriptionId, from: Timestamp) -> String {
        self.address(&format!("/customer/subscription/{id}?authToken={}", self.tokens.auth_token(id.as_str(), from)))
    }

    pub fn render(&self, email: &BillingEmail) -> Outgoing {
        let language = email.recipient.language;
        let writer = TemplateWriter { service: self, email, language };
        let (strings, mode) = match &email.content {
            BillingEmailContent::Started { plan, first_invoice } => (writer.started(plan, first_invoice.as_ref()), plan.subscription.mode),
            BillingEmailContent::TrialEnding(plan) => (writer.trial_ending(plan), plan.subscription.mode),
            BillingEmailContent::PaymentFailed { subscription, invoice, code } => {
                (writer.payment_failed(subscription, invoice, code), invoice.mode)
            }
            BillingEmailContent::Overdue { plan, overdue } => (writer.overdue(plan, overdue), plan.subscription.mode),
            BillingEmailContent::CancellationScheduled { plan, overdue } => {
                (writer.cancellation_scheduled(plan, overdue), plan.subscription.mode)
            }
            BillingEmailContent::Resumed { plan, from, overdue } => (writer.resumed(plan, *from, overdue), plan.subscription.mode),
            BillingEmailContent::Ended { plan, overdue } => (writer.ended(plan, overdue), plan.subscription.mode),
            BillingEmailContent::Refunded { refund, invoice } => (writer.refunded(refund, invoice.as_deref()), refund.mode),
            BillingEmailContent::Credited(expanded) => (writer.credited(expanded), expanded.note.mode),
            BillingEmailContent::RefundFailed(refund) => (writer.refund_failed(refund), refund.mode),
            BillingEmailContent::Disputed(dispute) => (writer.disputed(dispute), dispute.mode),
            BillingEmailContent::DashboardRefund { intent, reference, amount } => {
                (writer.dashboard_refund(intent, reference, *amount), intent.mode)
            }
        };
        let name = one_line(&email.recipient.name);
        let mut blocks = Vec::new();
        if !mode.is_live() {
            blocks.push(Block::Banner(test_banner(language)));
        }
        blocks.push(Block::Heading(strings.heading));
        if !name.is_empty() {
            blocks.push(Block::Paragraph(greeting(&name, language)));
        }
        blocks.extend(strings.body);
        let footer = if email.content.is_for_store() { owner_footer } else { footer };
        blocks.push(Block::Foot(footer(&one_line(self.store_name), &self.address("/"), language)));
        let subject = mark_test(&strings.subject, mode.is_live(), language);
        Outgoing {
            message_id: email.id.clone(),
            date: email.at,
            name,
            address: email.recipient.email.clone(),
            text: as_text(&blocks, language),
            html: as_html(&blocks, language, &subject),
            subject,
            attachments: Vec::new(),
        }
    }
}
