//! Test clocks: a test-mode customer's own time, which an owner or admin advances.

use crate::shared::{ClockId, CustomerId, Mode, StorageError, Timestamp};
use async_trait::async_trait;

/// Whose time a round of the engine goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everybody without a clock of their own.
    Wall,
    Clock(ClockId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestClock {
    pub id: ClockId,
    pub name: String,
    pub customer_id: CustomerId,
    /// The time that the customer lives in.
    pub now: Timestamp,
    /// Where it is being advanced to; `None` when it stands.
    pub target: Option<Timestamp>,
    /// What happened when, newest last, at most [`CLOCK_STORY_MAX`].
    pub story: Vec<ClockEvent>,
    pub created_at: Timestamp,
}

/// The most events that a clock remembers.
pub const CLOCK_STORY_MAX: usize = 200;

/// Something that happened while a clock was advanced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEvent {
    pub at: Timestamp,
    /// `renewed`, `trial_ended`, `payment_refused`, `retried`, `canceled`, `stake_returned`.
    pub what: String,
    /// The subscription or invoice it happened to.
    pub subject: String,
}

#[async_trait]
pub trait TestClocks: Send {
    /// [`StorageError::Duplicate`] when the customer has one.
    async fn insert(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    /// The customer's subscriptions, and their debts, live by the clock from now on.
    async fn adopt(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    async fn find(&mut self, id: &ClockId) -> Result<Option<TestClock>, StorageError>;
    async fn of_customer(&mut self, customer: &CustomerId) -> Result<Option<TestClock>, StorageError>;
    async fn list(&mut self, mode: Mode, limit: u32) -> Result<Vec<TestClock>, StorageError>;
    /// Sets the target of a clock that stands. False when it is being advanced already.
    async fn aim(&mut self, id: &ClockId, target: Timestamp) -> Result<bool, StorageError>;
    /// Moves a clock on, never back, and remembers what happened. With `arrived` it stands again.
    async fn tick(&mut self, id: &ClockId, now: Timestamp, story: &[ClockEvent], arrived: bool) -> Result<(), StorageError>;
    /// Clocks that are under way and that nobody has touched since `before`; they are touched at `now`.
    async fn claim_under_way(&mut self, before: Timestamp, now: Timestamp, limit: u32) -> Result<Vec<ClockId>, StorageError>;
}
