//! Usage records of metered items.

use crate::pricing::Aggregate;
use crate::shared::{Listed, Page, StorageError, SubscriptionItemId, Timestamp, UsageRecordId};
use async_trait::async_trait;

/// How a record changes the counted usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageAction {
    /// Adds to the usage counted before.
    Increment,
    /// Replaces the usage counted before.
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
    /// The sender's idempotency identifier: records with the same one count once.
    pub identifier: String,
    pub quantity: u64,
    pub action: UsageAction,
    pub at: Timestamp,
    pub created_at: Timestamp,
}

/// Asks for the usage of an item from `from` (inclusive) to `to` (exclusive), in the order of the records' times. A `Set` record restarts a
/// sum at its quantity.
#[derive(Debug, Clone)]
pub struct UsageQuery {
    pub item: SubscriptionItemId,
    pub aggregate: Aggregate,
    pub from: Timestamp,
    pub to: Timestamp,
}

#[async_trait]
pub trait UsageRecords: Send {
    /// Inserts a record. False: the item has a record with this identifier already, which stays unchanged.
    async fn insert(&mut self, record: &UsageRecord) -> Result<bool, StorageError>;
    async fn find(&mut self, item: &SubscriptionItemId, identifier: &str) -> Result<Option<UsageRecord>, StorageError>;
    async fn find_by_id(&mut self, id: &UsageRecordId) -> Result<Option<UsageRecord>, StorageError>;
    /// The answers to these queries, in their order.
    async fn used_all(&mut self, queries: &[UsageQuery]) -> Result<Vec<u64>, StorageError>;
    /// As [`UsageRecords::used_all`], for one item.
    async fn used(&mut self, item: &SubscriptionItemId, aggregate: Aggregate, from: Timestamp, to: Timestamp) -> Result<u64, StorageError> {
        let used = self.used_all(&[UsageQuery { item: item.clone(), aggregate, from, to }]).await?;
        Ok(used.first().copied().unwrap_or_default())
    }
    /// An item's records, newest usage first. Pages are addressed by number only.
    async fn of_item(&mut self, item: &SubscriptionItemId, page: &Page) -> Result<Listed<UsageRecord>, StorageError>;
}
