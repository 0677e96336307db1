//! Which emails reach the mail server. In test mode, anybody can cause emails to any address for free, so only addresses are sent to whose
//! holder has confirmed them by a link; other emails are written to the mail folder. Every address has a limit, in live mode too.

mod confirmation;
mod delivery;

pub use confirmation::*;
pub use delivery::*;

use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;

/// An email address as addresses are compared: in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MailAddress(String);

impl MailAddress {
    /// `None`: there is no address.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_lowercase()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The mailbox, by which emails are counted: most servers deliver `name+anything@host` to `name@host`.
    #[must_use]
    pub fn mailbox(&self) -> String {
        match self.0.split_once('@') {
            Some((local, host)) => format!("{}@{host}", local.split('+').next().unwrap_or(local)),
            None => self.0.clone(),
        }
    }
}

/// What is known about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAddress {
    pub address: MailAddress,
    /// When a link was last requested.
    pub requested_at: Timestamp,
    pub confirmed_at: Option<Timestamp>,
}

/// Why an email was not sent.
#[derive(Debug, thiserror::Error)]
pub enum MailingError {
    /// The mail server does not respond.
    #[error("{0}")]
    Unavailable(String),
    /// The mail server will never accept the email: the address or the settings are invalid.
    #[error("{0}")]
    Rejected(String),
}

#[async_trait]
pub trait MailAddresses: Send {
    async fn find(&mut self, address: &MailAddress) -> Result<Option<KnownAddress>, StorageError>;
    /// The address of a request that is the latest of its address and has not been used.
    async fn find_requested(&mut self, request: &str) -> Result<Option<KnownAddress>, StorageError>;
    /// Records a request for a link, which replaces an earlier one. False: the address is confirmed, or its last request was after `since`.
    async fn request(&mut self, address: &MailAddress, request: &str, now: Timestamp, since: Timestamp) -> Result<bool, StorageError>;
    /// How many addresses were requested after `since` and never confirmed: at most `limit`, so that counting takes bounded time.
    async fn count_unconfirmed(&mut self, since: Timestamp, limit: u32) -> Result<u32, StorageError>;
    /// Uses a request once. `None`: it was used or replaced, or it is older than `since`.
    async fn confirm(&mut self, request: &str, now: Timestamp, since: Timestamp) -> Result<Option<MailAddress>, StorageError>;
    /// Removes addresses that were requested before `before` and never confirmed.
    async fn prune_unconfirmed(&mut self, before: Timestamp, limit: u32) -> Result<u64, StorageError>;
}
