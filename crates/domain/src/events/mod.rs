//! What leaves after a commit, through the outbox (invariant 6).

mod job;
mod realtime;

pub use job::{Handler, Job, JobError, MAX_ATTEMPTS};
pub use realtime::*;

use crate::shared::{EventId, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Ask the network what became of an attempt. Payload: `attempt`.
    SettleAttempt,
    /// Mail the receipt of a paid invoice. Payload: `invoice`.
    ReceiptMail,
    /// Send the attempts that a round of renewals wrote. Payload: `attempts`, ids joined by commas.
    Charge,
    /// Advance a test clock to its target. Payload: `clock`.
    AdvanceClock,
    /// Mail about a subscription. The payload is that of a [`crate::billing::Notification`].
    BillingMail,
    /// Pay unpaid invoices from a balance that has grown. Payload: `customer`, `currency`.
    ApplyBalance,
    /// End the subscriptions whose current period a credit note has refunded. Payload: `note`.
    EndRefunded,
    /// Ask a card network what has changed about a payment. Payload: `method`, and one of `payment`, `dispute`, `refund`.
    CheckCard,
    /// Tell the open pages. Payload: `event` and ids only: the channel is public.
    Realtime,
}

impl Topic {
    pub const ALL: [Self; 9] = [
        Self::SettleAttempt,
        Self::ReceiptMail,
        Self::Charge,
        Self::AdvanceClock,
        Self::BillingMail,
        Self::ApplyBalance,
        Self::EndRefunded,
        Self::CheckCard,
        Self::Realtime,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SettleAttempt => "settle_attempt",
            Self::ReceiptMail => "receipt_mail",
            Self::Charge => "charge",
            Self::AdvanceClock => "advance_clock",
            Self::BillingMail => "billing_mail",
            Self::ApplyBalance => "apply_balance",
            Self::EndRefunded => "end_refunded",
            Self::CheckCard => "check_card",
            Self::Realtime => "realtime",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }
}

/// A row of the outbox: a topic, ids, and the earliest time it may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub topic: Topic,
    pub payload: BTreeMap<String, String>,
    pub run_at: Timestamp,
}

impl Message {
    #[must_use]
    pub fn new(topic: Topic, run_at: Timestamp) -> Self {
        Self { topic, payload: BTreeMap::new(), run_at }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.payload.insert(name.to_owned(), value.to_string());
        self
    }
}

/// A message that will not be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub id: EventId,
    pub message: Message,
    pub attempts: u32,
    pub last_error: String,
    pub dead_at: Timestamp,
}

#[async_trait]
pub trait Outbox: Send {
    /// Writes a message in this unit of work; it is delivered at least once after the commit.
    async fn publish(&mut self, id: &EventId, message: &Message, now: Timestamp) -> Result<(), StorageError> {
        self.publish_all(&[(id.clone(), message.clone())], now).await
    }
    /// As [`Outbox::publish`], several.
    async fn publish_all(&mut self, messages: &[(EventId, Message)], now: Timestamp) -> Result<(), StorageError>;
    /// Newest first, at most `limit`.
    async fn dead_letters(&mut self, limit: u32) -> Result<Vec<DeadLetter>, StorageError>;
    /// Gives a dead letter [`MAX_ATTEMPTS`] more, from `now`. False when it is not dead.
    async fn retry_dead_letter(&mut self, id: &EventId, now: Timestamp) -> Result<bool, StorageError>;
}
