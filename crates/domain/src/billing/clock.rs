//! Test clocks: a test-mode customer's own time, which an owner or admin advances.

use crate::context::Context;
use crate::shared::{ClockId, CustomerId, Listed, Page, StorageError, Timestamp};
use crate::storage::UnitOfWork;
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
    pub timeline: Vec<ClockEvent>,
    pub created_at: Timestamp,
}

/// The most events that a clock remembers.
pub const CLOCK_STORY_MAX: usize = 200;

/// Something that happened while a clock was advanced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEvent {
    pub at: Timestamp,
    pub what: TimelineEvent,
    /// The subscription or invoice it happened to.
    pub subject: String,
}

/// What can happen on the way of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimelineEvent {
    Renewed,
    TrialEnded,
    /// An invoice was paid; the first time, or when it was tried again.
    Paid,
    PaymentRefused,
    Retried,
    /// A subscription fell behind.
    PastDue,
    Canceled,
    /// A deposit waits for the time of its return.
    StakeWaits,
    StakeSlashed,
    StakeReturned,
}

impl TimelineEvent {
    pub const ALL: [Self; 10] = [
        Self::Renewed,
        Self::TrialEnded,
        Self::Paid,
        Self::PaymentRefused,
        Self::Retried,
        Self::PastDue,
        Self::Canceled,
        Self::StakeWaits,
        Self::StakeSlashed,
        Self::StakeReturned,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::TrialEnded => "trial_ended",
            Self::Paid => "paid",
            Self::PaymentRefused => "payment_refused",
            Self::Retried => "retried",
            Self::PastDue => "past_due",
            Self::Canceled => "canceled",
            Self::StakeWaits => "stake_waits",
            Self::StakeSlashed => "stake_slashed",
            Self::StakeReturned => "stake_returned",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|happening| happening.name() == name)
    }
}

/// One step of a clock.
#[derive(Debug, Clone, Copy)]
pub struct ClockStep<'a> {
    pub now: Timestamp,
    pub timeline: &'a [ClockEvent],
    pub arrived: bool,
}

#[async_trait]
pub trait TestClocks: Send {
    /// [`StorageError::Duplicate`] when the customer has one.
    async fn insert(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    /// All of the customer's subscriptions, those that are paused or over too, and what they owe live by the clock from now on.
    async fn adopt(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    async fn find(&mut self, id: &ClockId) -> Result<Option<TestClock>, StorageError>;
    async fn of_customer(&mut self, customer: &CustomerId) -> Result<Option<TestClock>, StorageError>;
    async fn list(&mut self, page: &Page) -> Result<Listed<TestClock>, StorageError>;
    /// Sets the target of a clock that stands. False when it is being advanced already.
    async fn aim(&mut self, id: &ClockId, target: Timestamp) -> Result<bool, StorageError>;
    /// Takes a clock that is under way in hand, unless somebody has touched it since `before`. True for one of several at once.
    async fn claim(&mut self, id: &ClockId, before: Timestamp, wall: Timestamp) -> Result<bool, StorageError>;
    /// Moves a clock on, never back, and remembers what happened. With `arrived` it stands again. `wall` is the time of day at
    /// which it is touched now, `touched` that of the last time: false when somebody else has touched it since.
    async fn tick(&mut self, id: &ClockId, tick: &ClockStep<'_>, touched: Timestamp, wall: Timestamp) -> Result<bool, StorageError>;
    /// Clocks that are under way and that nobody has touched since `before`.
    async fn under_way(&mut self, before: Timestamp, limit: u32) -> Result<Vec<ClockId>, StorageError>;
}

/// The time that a customer lives in: their test clock's, or everybody's.
pub async fn time_of(ctx: &Context, unit: &mut dyn UnitOfWork, clock: Option<&ClockId>) -> Result<Timestamp, StorageError> {
    let Some(clock) = clock else { return Ok(ctx.now()) };
    let clock = unit.clocks().find(clock).await?;
    Ok(clock.map_or_else(|| ctx.now(), |clock| clock.now))
}

/// As [`time_of`], for what belongs to a customer.
pub(super) async fn time_of_customer(ctx: &Context, unit: &mut dyn UnitOfWork, customer: &CustomerId) -> Result<Timestamp, StorageError> {
    let clock = unit.clocks().of_customer(customer).await?;
    Ok(clock.map_or_else(|| ctx.now(), |clock| clock.now))
}
