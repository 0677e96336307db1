//! Test clocks: a test-mode customer's own time, which an owner or admin advances.

use crate::context::Context;
use crate::shared::{ClockId, CustomerId, Listed, Page, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use async_trait::async_trait;

/// Which customers a batch of the engine processes, by the clock they follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All customers without a test clock.
    Wall,
    Clock(ClockId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestClock {
    pub id: ClockId,
    pub name: String,
    pub customer_id: CustomerId,
    /// The customer's current time.
    pub now: Timestamp,
    /// The time to which it is being advanced; `None` when it is not advancing.
    pub target: Option<Timestamp>,
    /// What happened while the clock advanced, newest last, at most [`CLOCK_TIMELINE_MAX`] events.
    pub timeline: Vec<ClockEvent>,
    pub created_at: Timestamp,
}

/// The most events that a clock keeps.
pub const CLOCK_TIMELINE_MAX: usize = 200;

/// Something that happened while a clock was advanced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEvent {
    pub at: Timestamp,
    pub what: TimelineEvent,
    /// The id of the subscription, invoice or stake concerned.
    pub subject: String,
}

/// What can happen while a clock advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimelineEvent {
    Renewed,
    TrialEnded,
    /// An invoice was paid, by the first attempt or by a retry.
    Paid,
    PaymentDeclined,
    Retried,
    /// A subscription became past due.
    PastDue,
    Canceled,
    /// The engine put a subscription on hold.
    PutOnHold,
    /// A stake waits for the time of its return.
    StakeWaits,
    StakeSlashed,
    StakeReturned,
}

impl TimelineEvent {
    pub const ALL: [Self; 11] = [
        Self::Renewed,
        Self::TrialEnded,
        Self::Paid,
        Self::PaymentDeclined,
        Self::Retried,
        Self::PastDue,
        Self::Canceled,
        Self::PutOnHold,
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
            Self::PaymentDeclined => "payment_declined",
            Self::Retried => "retried",
            Self::PastDue => "past_due",
            Self::Canceled => "canceled",
            Self::PutOnHold => "put_on_hold",
            Self::StakeWaits => "stake_waits",
            Self::StakeSlashed => "stake_slashed",
            Self::StakeReturned => "stake_returned",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// One step of an advancing clock. `arrived`: the clock has reached its target.
#[derive(Debug, Clone, Copy)]
pub struct ClockStep<'a> {
    pub now: Timestamp,
    pub timeline: &'a [ClockEvent],
    pub arrived: bool,
}

#[async_trait]
pub trait TestClocks: Send {
    /// [`StorageError::Duplicate`] when the customer has a clock already.
    async fn insert(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    /// From now on all of the customer's subscriptions, paused and ended ones included, and unpaid invoices follow the clock.
    async fn adopt(&mut self, clock: &TestClock) -> Result<(), StorageError>;
    async fn find(&mut self, id: &ClockId) -> Result<Option<TestClock>, StorageError>;
    async fn of_customer(&mut self, customer: &CustomerId) -> Result<Option<TestClock>, StorageError>;
    async fn list(&mut self, page: &Page) -> Result<Listed<TestClock>, StorageError>;
    /// Sets the target of a clock that is not advancing. False when it is advancing already.
    async fn aim(&mut self, id: &ClockId, target: Timestamp) -> Result<bool, StorageError>;
    /// Claims an advancing clock that no worker has touched since `before`. Of several concurrent callers, one gets true.
    async fn claim(&mut self, id: &ClockId, before: Timestamp, wall: Timestamp) -> Result<bool, StorageError>;
    /// Advances a clock, never back, and appends to its timeline. With `arrived` it stops advancing. `wall` is the wall time of this step,
    /// `touched` that of the previous one: false when another worker has touched the clock since.
    async fn record_step(&mut self, id: &ClockId, step: &ClockStep<'_>, touched: Timestamp, wall: Timestamp) -> Result<bool, StorageError>;
    /// Advancing clocks that no worker has touched since `before`.
    async fn under_way(&mut self, before: Timestamp, limit: u32) -> Result<Vec<ClockId>, StorageError>;
}

/// The current time of a customer: that of their test clock, else wall time.
pub async fn time_of(ctx: &Context, unit: &mut dyn UnitOfWork, clock: Option<&ClockId>) -> Result<Timestamp, StorageError> {
    let Some(clock) = clock else { return Ok(ctx.now()) };
    let clock = unit.clocks().find(clock).await?;
    Ok(clock.map_or_else(|| ctx.now(), |clock| clock.now))
}

/// As [`time_of`], by the customer.
pub(super) async fn time_of_customer(ctx: &Context, unit: &mut dyn UnitOfWork, customer: &CustomerId) -> Result<Timestamp, StorageError> {
    let clock = unit.clocks().of_customer(customer).await?;
    Ok(clock.map_or_else(|| ctx.now(), |clock| clock.now))
}
