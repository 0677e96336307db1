//! The emails that the store sends.

mod confirmation;
mod credit_templates;
mod developer_templates;
mod email_layout;
mod email_service;
mod mail_folder;
mod mailbox;
mod operation_templates;
mod payment_templates;
mod receipt;
mod review_templates;
mod sale_templates;
mod store_mails;
mod store_templates;
mod strings;
mod subscription_templates;
mod template_writer;
mod token_templates;

pub use mailbox::{Mailbox, check_sender, check_smtp};
pub use receipt::{Deduction, Download, PaidBy, Receipt, ReceiptDeduction, ReceiptItem, ReceiptSubscription, receipt_mail};
pub use store_mails::StoreMails;

use souk_domain::shared::Timestamp;

/// One email to one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Unique per email and equal for every attempt to send it. Letters, digits, `_`, `-` and `.`.
    pub message_id: String,
    /// The time of the event, which the Date header shows.
    pub date: Timestamp,
    /// The recipient's name. May be empty.
    pub name: String,
    pub address: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub attachments: Vec<Attached>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    pub file_name: String,
    /// The MIME type, such as `application/pdf`.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Reasons why an email was not sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The operator's settings are invalid.
    #[error("{0}")]
    Settings(String),
    /// The server will never accept this email.
    #[error("the email was rejected: {0}")]
    Rejected(String),
    /// The server could not be reached, or asked for a later attempt.
    #[error("the email could not be sent: {0}")]
    Unavailable(String),
}

impl MailError {
    /// Returns whether a later attempt may succeed.
    #[must_use]
    pub const fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

#[cfg(test)]
mod billing_email_tests;
#[cfg(test)]
mod credit_email_tests;
#[cfg(test)]
mod developer_tests;
#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod review_tests;
#[cfg(test)]
mod sale_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod token_tests;
