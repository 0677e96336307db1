//! What leaves through the outbox: effects that must follow a commit, and those who carry them out.

use crate::shared::{EventId, Listed, Page, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::fmt;

/// A job is tried this often before it is dead.
pub const MAX_ATTEMPTS: u32 = 10;

macro_rules! topics {
    ($($(#[$doc:meta])* $topic:ident = $name:literal;)*) => {
        /// What a message is about; each topic has one consumer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Topic { $($(#[$doc])* $topic),* }

        impl Topic {
            pub const ALL: &'static [Self] = &[$(Self::$topic),*];

            /// The stored name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$topic => $name),* }
            }

            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$topic),)* _ => None }
            }
        }
    };
}
topics! {
    SessionCompleted = "checkout.session.completed";
    SessionExpired = "checkout.session.expired";
    InvoicePaid = "invoice.paid";
    /// Mail the customer a receipt.
    ReceiptMail = "mail.receipt";
    /// Ask the network what became of a payment attempt.
    SettleAttempt = "payment.settle";
    /// Tell connected browsers.
    RealtimePublish = "realtime.publish";
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Ids by name (`"session": "cs_..."`): a consumer loads what it needs by them, and does nothing when it is gone.
pub type Ids = BTreeMap<String, String>;

/// An effect to carry out at `run_at` or soon after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub topic: Topic,
    pub payload: Ids,
    pub run_at: Timestamp,
}

impl Message {
    #[must_use]
    pub fn new(topic: Topic, run_at: Timestamp) -> Self {
        Self { topic, payload: Ids::new(), run_at }
    }

    /// Names the subject, or one of them.
    #[must_use]
    pub fn with(mut self, name: &str, id: impl fmt::Display) -> Self {
        self.payload.insert(name.to_owned(), id.to_string());
        self
    }
}

/// Takes messages within a unit of work. An implementation guarantees: what is committed is delivered at least once,
/// and what is rolled back never.
#[async_trait]
pub trait Outbox: Send {
    async fn publish(&mut self, now: Timestamp, message: Message) -> Result<EventId, StorageError>;
}

/// A message in the hands of its consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: EventId,
    pub topic: Topic,
    pub payload: Ids,
    /// 1 for the first attempt. An attempt whose process died counts; a revived message counts on.
    pub attempt: u32,
}

impl Job {
    /// The id that the message carries under `name`; a message without it can never be carried out.
    pub fn id_named(&self, name: &'static str) -> Result<&str, JobError> {
        let id = self.payload.get(name).map(String::as_str);
        id.ok_or_else(|| JobError::Fail(format!("the message of {} names no {name}", self.topic)))
    }
}

/// Why a job did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Try again later, unless that was the last attempt.
    #[error("{0}")]
    Retry(String),
    /// Never try again.
    #[error("{0}")]
    Fail(String),
}

impl From<StorageError> for JobError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Corrupt { .. } => Self::Fail(error.to_string()),
            StorageError::Duplicate(_) | StorageError::Driver(_) => Self::Retry(error.to_string()),
        }
    }
}

/// Carries out jobs. The same job may come twice, also at the same time after a stall; its effect must not.
#[async_trait]
pub trait Handler: Send + Sync {
    async fn handle(&self, job: Job) -> Result<(), JobError>;
}

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub id: EventId,
    /// The stored name; it may be of a topic that this version no longer knows.
    pub topic: String,
    pub payload: Ids,
    pub attempts: u32,
    pub last_error: Option<String>,
    pub died_at: Timestamp,
}

/// What was given up, for people to look at.
#[async_trait]
pub trait DeadLetters: Send {
    /// Newest first.
    async fn list(&mut self, page: &Page) -> Result<Listed<DeadLetter>, StorageError>;

    /// Gives it [`MAX_ATTEMPTS`] more, from `now`. False when there is no such dead letter.
    async fn revive(&mut self, now: Timestamp, id: &EventId) -> Result<bool, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_is_found_by_its_stored_name() {
        for topic in Topic::ALL {
            assert_eq!(Topic::from_name(topic.name()), Some(*topic));
        }
        assert_eq!(Topic::from_name("unheard.of"), None);
    }
}
