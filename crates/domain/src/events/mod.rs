//! Messages that are delivered after a commit, through the outbox (invariant 6).

mod job;
mod realtime;

pub use job::{Handler, Job, JobError, MAX_ATTEMPTS};
pub use realtime::*;

use crate::shared::{EventId, StorageError, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// The topics of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Reconcile an attempt with its network. Payload: `attempt`, `method`.
    SettleAttempt,
    /// Email the receipt of a paid invoice. Payload: `invoice`.
    ReceiptMail,
    /// Send attempts of one network. Payload: `attempts`, ids joined by commas; `method`.
    Charge,
    /// Advance a test clock to its target. Payload: `clock`.
    AdvanceClock,
    /// Send a billing email. The payload is that of a [`crate::billing::Notification`].
    BillingMail,
    /// As [`Self::BillingMail`], for an email that wall time is the reason for: the relay leaves it alone while the time is not known.
    ReminderMail,
    /// Email the link that confirms an address. Payload: `request`, `language`.
    ConfirmationMail,
    /// Pay unpaid invoices from a balance that has grown. Payload: `customer`, `currency`.
    ApplyBalance,
    /// End the subscription whose current period a credit note has refunded. Payload: `note`.
    EndRefunded,
    /// Query a card network for changes of a payment. Payload: `method`, and one of `payment`, `dispute`, `refund`.
    CheckCard,
    /// Delete a customer at a card processor, because the customer's data was erased. Payload: `method`, `customer`, an id of the processor.
    DeleteProviderCustomer,
    /// Notify open pages. Payload: `event` and ids only, since the channel is public; for a step of a review also the `status` after it.
    Realtime,
    /// End a connect session whose transactions the network has decided about. Payload: `token`, which is secret.
    ConcludeConnect,
    /// Send the state of a connect session to the pages that wait for it. Payload: `token`, which is secret.
    ConnectUpdate,
    /// Run the checks of an uploaded version. Payload: `version`.
    CheckVersion,
    /// Order the checks of the versions that contain some content, from one on. Payload: `sha256`, `after`.
    CheckContaining,
    /// Publish a version whose publication is scheduled. Payload: `version`.
    PublishVersion,
    /// Email the owner about a finding. The payload is that of the finding.
    OwnerMail,
    /// Email a developer that an access token expires. Payload: `token`.
    TokenMail,
    /// Email a developer or a reviewer about a step of a review. Payload: `entry`, `to`.
    ReviewMail,
    /// Email an owner or a developer about a passport that a deposit has granted. Payload: `passport`, `to`.
    DeveloperMail,
    /// Email a beneficiary about a sale. Payload: `invoice`, `to`; without `to`, it goes to the owner of the store.
    SaleMail,
}

impl Topic {
    pub const ALL: [Self; 22] = [
        Self::SettleAttempt,
        Self::ReceiptMail,
        Self::Charge,
        Self::AdvanceClock,
        Self::BillingMail,
        Self::ReminderMail,
        Self::ConfirmationMail,
        Self::ApplyBalance,
        Self::EndRefunded,
        Self::CheckCard,
        Self::DeleteProviderCustomer,
        Self::Realtime,
        Self::ConcludeConnect,
        Self::ConnectUpdate,
        Self::CheckVersion,
        Self::CheckContaining,
        Self::PublishVersion,
        Self::OwnerMail,
        Self::TokenMail,
        Self::ReviewMail,
        Self::DeveloperMail,
        Self::SaleMail,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SettleAttempt => "settle_attempt",
            Self::ReceiptMail => "receipt_mail",
            Self::Charge => "charge",
            Self::AdvanceClock => "advance_clock",
            Self::BillingMail => "billing_mail",
            Self::ReminderMail => "reminder_mail",
            Self::ConfirmationMail => "confirmation_mail",
            Self::ApplyBalance => "apply_balance",
            Self::EndRefunded => "end_refunded",
            Self::CheckCard => "check_card",
            Self::DeleteProviderCustomer => "delete_provider_customer",
            Self::Realtime => "realtime",
            Self::ConcludeConnect => "conclude_connect",
            Self::ConnectUpdate => "connect_update",
            Self::CheckVersion => "check_version",
            Self::CheckContaining => "check_containing",
            Self::PublishVersion => "publish_version",
            Self::OwnerMail => "owner_mail",
            Self::TokenMail => "token_mail",
            Self::ReviewMail => "review_mail",
            Self::DeveloperMail => "developer_mail",
            Self::SaleMail => "sale_mail",
        }
    }

    /// Whether its messages are sent because a time has come, so that a wrong clock would send or drop them too early.
    #[must_use]
    pub const fn depends_on_time(self) -> bool {
        matches!(self, Self::ReminderMail | Self::PublishVersion)
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }
}

/// A row of the outbox: a topic, ids, and the earliest time at which it may run.
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

    /// Messages of one lane share workers, so a consumer that hangs delays only its lane. Each topic has a lane; a topic whose consumer
    /// waits for a network has one for each network.
    #[must_use]
    pub fn lane(&self) -> String {
        match (self.topic, self.payload.get("method")) {
            (Topic::SettleAttempt | Topic::Charge | Topic::CheckCard | Topic::DeleteProviderCustomer, Some(method)) => {
                format!("{}:{method}", self.topic.name())
            }
            (topic, _) => topic.name().to_owned(),
        }
    }
}

/// A message that is not retried any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub id: EventId,
    pub message: Message,
    pub attempts: u32,
    pub last_error: String,
    pub dead_at: Timestamp,
}

/// A message to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: EventId,
    pub message: Message,
}

#[async_trait]
pub trait Outbox: Send {
    /// Writes a message in this unit of work. It is delivered at least once after the commit.
    async fn publish(&mut self, id: &EventId, message: &Message, now: Timestamp) -> Result<(), StorageError> {
        self.publish_all(&[NewMessage { id: id.clone(), message: message.clone() }], now).await
    }
    /// As [`Outbox::publish`], for several messages.
    async fn publish_all(&mut self, messages: &[NewMessage], now: Timestamp) -> Result<(), StorageError>;
    /// Dead letters, newest first, at most `limit`.
    async fn dead_letters(&mut self, limit: u32) -> Result<Vec<DeadLetter>, StorageError>;
    /// Retries a dead letter with [`MAX_ATTEMPTS`] more attempts from `now`. False: it is not a dead letter.
    async fn retry_dead_letter(&mut self, id: &EventId, now: Timestamp) -> Result<bool, StorageError>;
}
