//! Where stakes are kept.

use super::{Stake, StakeKey, StakePurpose, StakeStatus};
use crate::billing::Scope;
use crate::shared::{ClockId, CustomerId, Listed, Mode, Page, StakeId, StorageError, SubscriptionId, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StakeFilter {
    /// Empty: any.
    pub statuses: Vec<StakeStatus>,
    pub purpose: Option<StakePurpose>,
    pub customer_id: Option<CustomerId>,
    /// Those that this subscription names or is the subject of.
    pub subscription_id: Option<SubscriptionId>,
    /// Only those that an owner should look at: [`Stake::needs_attention`].
    pub needs_attention: bool,
}

#[async_trait]
pub trait Stakes: Send {
    /// [`StorageError::Duplicate`] when a stake with the same key is not final, and the unit of work must be dropped.
    async fn insert(&mut self, stake: &Stake) -> Result<(), StorageError>;
    async fn find(&mut self, id: &StakeId) -> Result<Option<Stake>, StorageError>;
    async fn find_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError>;
    /// The one with this key that is not final.
    async fn find_open(&mut self, key: &StakeKey) -> Result<Option<Stake>, StorageError>;
    /// Reads a stake; nobody else changes it until this unit of work ends. It is locked after subscriptions and before invoices.
    async fn lock(&mut self, id: &StakeId) -> Result<Option<Stake>, StorageError> {
        Ok(self.lock_all(std::slice::from_ref(id)).await?.into_iter().next())
    }
    /// As [`Stakes::lock`], ids ascending.
    async fn lock_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError>;
    /// Writes amounts, reservation, status, reason, times, failures and reference of a stake that still has the status, the amounts and
    /// the reservation of `before` (compare-and-set). False: it changed, and the unit of work must be dropped.
    async fn update(&mut self, before: &Stake, after: &Stake) -> Result<bool, StorageError>;
    /// Those whose `return_at` has come and that no attempt moves, earliest first. In the scope of the wall, a customer with a test clock
    /// lives at the time of that clock.
    async fn due(&mut self, scope: &Scope, now: Timestamp, limit: u32) -> Result<Vec<Stake>, StorageError>;
    /// When the next one of a clock's customer is due.
    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// Takes those that a network holds, or may hold, and that nobody has asked about since `before`: their `checked_at` becomes `now`.
    async fn claim_unchecked(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<Vec<Stake>, StorageError>;
    /// Newest first.
    async fn list(&mut self, mode: Mode, filter: &StakeFilter, page: &Page) -> Result<Listed<Stake>, StorageError>;
}
