//! The repository of stakes.

use super::{Stake, StakeKey, StakePurpose, StakeStatus, StakeSubject};
use crate::billing::Scope;
use crate::shared::{ClockId, CustomerId, Listed, MethodId, Mode, Page, StakeId, StorageError, SubscriptionId, Timestamp};
use async_trait::async_trait;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StakeFilter {
    /// Empty matches any status.
    pub statuses: Vec<StakeStatus>,
    pub purpose: Option<StakePurpose>,
    pub customer_id: Option<CustomerId>,
    /// Stakes that this subscription names or is the subject of.
    pub subscription_id: Option<SubscriptionId>,
    /// Only stakes that an owner should check: [`Stake::needs_attention`].
    pub needs_attention: bool,
    /// Only stakes that the store has returned or tries to return.
    pub returns: Option<StakeReturns>,
}

/// The returns of stakes that a list contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StakeReturns {
    All,
    /// A part was returned, and the network declined no later try.
    Succeeded,
    /// The network declined the last try: [`Stake::has_failed_release`].
    Failed,
}

impl StakeReturns {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

#[async_trait]
pub trait Stakes: Send {
    /// [`StorageError::Duplicate`] when a stake with the same key is not final yet; the caller must then drop the unit of work.
    async fn insert(&mut self, stake: &Stake) -> Result<(), StorageError>;
    async fn find(&mut self, id: &StakeId) -> Result<Option<Stake>, StorageError>;
    async fn find_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError>;
    /// The stake with this key that is not final.
    async fn find_open(&mut self, key: &StakeKey) -> Result<Option<Stake>, StorageError>;
    /// The newest stake with this key, final or not.
    async fn find_newest(&mut self, key: &StakeKey) -> Result<Option<Stake>, StorageError>;
    /// The stakes for this object that are not final, whoever has placed them, oldest first.
    async fn open_of_subject(&mut self, subject: &StakeSubject, purpose: StakePurpose) -> Result<Vec<Stake>, StorageError>;
    /// Locks and returns a stake until this unit of work ends. Lock order: after subscriptions, before invoices.
    async fn lock(&mut self, id: &StakeId) -> Result<Option<Stake>, StorageError> {
        Ok(self.lock_all(std::slice::from_ref(id)).await?.into_iter().next())
    }
    /// As [`Stakes::lock`], for several stakes, ids ascending.
    async fn lock_all(&mut self, ids: &[StakeId]) -> Result<Vec<Stake>, StorageError>;
    /// Writes amounts, reservation, status, reason, times, waiting days, failures and reference of a stake that still has the status, the
    /// amounts and the reservation of `before` (compare-and-set). False: it has changed, and the caller must drop the unit of work.
    async fn update(&mut self, before: &Stake, after: &Stake) -> Result<bool, StorageError>;
    /// Deletes a final stake into which nothing was ever paid, and that no subscription, plan change or attempt names. The caller has removed
    /// it from its checkout session. False: it is kept.
    async fn delete_unused(&mut self, id: &StakeId) -> Result<bool, StorageError>;
    /// Stakes whose `return_at` has come and that no attempt moves, earliest first, except those of `paused` methods. With [`Scope::Wall`],
    /// stakes of customers with a test clock are compared with that clock's time.
    async fn due(&mut self, scope: &Scope, now: Timestamp, limit: u32, paused: &[MethodId]) -> Result<Vec<Stake>, StorageError>;
    /// Stakes of a method whose last transfer the network declined with this code and that will be tried again, earliest first.
    async fn declined_for(&mut self, method: &MethodId, code: &str, limit: u32) -> Result<Vec<Stake>, StorageError>;
    /// The time at which the next stake of a clock's customer is due.
    async fn next_due(&mut self, clock: &ClockId) -> Result<Option<Timestamp>, StorageError>;
    /// Claims stakes that a network holds or may hold, that no attempt moves, and that were not checked since `before`: sets their
    /// `checked_at` to `now`.
    async fn claim_unchecked(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<Vec<Stake>, StorageError>;
    /// Lists stakes, newest first.
    async fn list(&mut self, mode: Mode, filter: &StakeFilter, page: &Page) -> Result<Listed<Stake>, StorageError>;
}
