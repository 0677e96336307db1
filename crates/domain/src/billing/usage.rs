//! What metered items were used.

use crate::pricing::Aggregate;
use crate::shared::{Listed, Page, StorageError, SubscriptionItemId, Timestamp, UsageRecordId};
use async_trait::async_trait;

/// How a record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageAction {
    /// On top of what is there.
    Increment,
    /// Replaces what was counted before it.
    Set,
}

impl UsageAction {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Increment => "increment",
            Self::Set => "set",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Increment, Self::Set].into_iter().find(|action| action.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    pub id: UsageRecordId,
    pub item_id: SubscriptionItemId,
    /// The sender's own name of it: the same one is counted once.
    pub identifier: String,
    pub quantity: u64,
    pub action: UsageAction,
    pub at: Timestamp,
    pub created_at: Timestamp,
}

#[async_trait]
pub trait UsageRecords: Send {
    /// Writes a record. False when the item has one with this identifier, which stays as it is.
    async fn insert(&mut self, record: &UsageRecord) -> Result<bool, StorageError>;
    async fn find(&mut self, item: &SubscriptionItemId, identifier: &str) -> Result<Option<UsageRecord>, StorageError>;
    /// What an item was used from `from` (included) to `to` (excluded), in the order of the records' times. A sum that is set anew
    /// counts on from there.
    async fn used(&mut self, item: &SubscriptionItemId, aggregate: Aggregate, from: Timestamp, to: Timestamp) -> Result<u64, StorageError>;
    /// Newest first, by when it was used. Paged by number alone.
    async fn of_item(&mut self, item: &SubscriptionItemId, page: &Page) -> Result<Listed<UsageRecord>, StorageError>;
}
