//! Mail that leaves the store.

mod letter;
mod mailbox;
mod news;
mod receipt;
mod store_mails;
mod wording;

pub use mailbox::Mailbox;
pub use receipt::{Download, PaidBy, Receipt, ReceiptItem, ReceiptSubscription, receipt_mail};
pub use store_mails::StoreMails;

use souk_domain::shared::Timestamp;

/// One mail to one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The same for every attempt to send this mail, and for no other mail: letters, digits, `_`, `-` and `.`.
    pub message_id: String,
    /// The moment the mail speaks of; its Date header.
    pub date: Timestamp,
    /// May be empty.
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
    /// `application/pdf` and so on.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Why a mail did not leave.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The operator's settings are wrong.
    #[error("{0}")]
    Settings(String),
    /// This mail will never be accepted as it is.
    #[error("the mail was refused: {0}")]
    Refused(String),
    /// The server could not be reached, or asks to come back later.
    #[error("the mail could not be handed over: {0}")]
    Unavailable(String),
}

impl MailError {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub const fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

#[cfg(test)]
mod news_tests;
#[cfg(test)]
mod tests;
