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
    /// `renewed`, `trial_ended`, `payment_refused`, `retried`, `canceled`, `stake_waits`, `stake_slashed`, `stake_returned`.
    pub what: String,
    /// The subscription or invoice it happened to.
    pub subject: String,
}

/// One step of a clock.
#[derive(Debug, Clone, Copy)]
pub struct Tick<'a> {
    pub now: Timestamp,
    pub story: &'a [ClockEvent],
    pub arrived: bool,
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
    /// Takes a clock that is under way in hand, unless somebody has touched it since `before`. True for one of several at once.
    async fn claim(&mut self, id: &ClockId, before: Timestamp, wall: Timestamp) -> Result<bool, StorageError>;
    /// Moves a clock on, never back, and remembers what happened. With `arrived` it stands again. `wall` is the time of day at
    /// which it was touched.
    async fn tick(&mut self, id: &ClockId, tick: &Tick<'_>, wall: Timestamp) -> Result<(), StorageError>;
    /// Clocks that are under way and that nobody has touched since `before`.
    async fn under_way(&mut self, before: Timestamp, limit: u32) -> Result<Vec<ClockId>, StorageError>;
}
