//! Advances test clocks: runs everything that falls due until the target time, in order, each at its own time.

use super::reminders::passed_by_clock;
use super::{
    BillingError, ClockEvent, ClockStep, Notification, Scope, Stake, StakeFilter, StakeStatus, Subscription, TestClock, TimelineEvent,
    move_due_stakes, notify, renew_due, retry_due,
};
use crate::access::Did;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::{AttemptStatus, MandateDetails, SandboxOff, charge, paused_methods};
use crate::shared::{
    AttemptId, ClockId, CustomerId, EventId, MAX_PAGE_SIZE, MethodId, Mode, Page, StorageError, SubscriptionId, Timestamp,
};
use crate::storage::UnitOfWork;
use std::collections::HashMap;
use std::time::Duration;

/// The longest time by which a clock can be advanced at once.
pub const ADVANCE_MAX: Duration = Duration::from_secs(2 * 366 * 24 * 3_600);
/// The most subscriptions, invoices or stakes that one step processes each.
const BATCH_SIZE: u32 = 500;
/// After this time without progress, another worker can claim an advancing clock.
pub const CLOCK_LEASE: Duration = Duration::from_secs(60);
/// The most steps of one call: a message that runs too long counts as lost. The next call continues.
const MAX_STEPS: usize = 2_000;

/// Statuses of stakes that a network may hold.
const AT_NETWORK: [StakeStatus; 3] = [StakeStatus::Pending, StakeStatus::Held, StakeStatus::Releasing];

#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("A clock can only be advanced, by at most two years at a time")]
    BadTarget,
    #[error("There is no next invoice: this customer has no active subscription")]
    NothingDue,
    #[error("This clock is being advanced. Please wait for it.")]
    UnderWay,
    /// The customer has subscriptions or stakes at the sandbox.
    #[error(transparent)]
    SandboxOff(#[from] SandboxOff),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Requests that a clock is advanced to `target`, which happens in the background.
#[tracing::instrument(skip_all, fields(clock = %id))]
pub async fn aim_clock(ctx: &Context, id: &ClockId, target: Timestamp) -> Result<(), AdvanceError> {
    let (now, paused) = (ctx.now(), paused_methods(ctx).await?);
    let mut unit = ctx.store.begin().await?;
    let clock = unit.clocks().find(id).await?.ok_or(AdvanceError::NotFound)?;
    if target <= clock.now || target.since(clock.now) > ADVANCE_MAX {
        return Err(AdvanceError::BadTarget);
    }
    if is_paused(unit.as_mut(), &clock.customer_id, &paused).await? {
        return Err(SandboxOff.into());
    }
    if !unit.clocks().aim(id, target).await? {
        return Err(AdvanceError::UnderWay);
    }
    let message = Message::new(Topic::AdvanceClock, now).with("clock", id);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    unit.commit().await?;
    Ok(())
}

/// Advances a clock towards its target. Safe to call again after a crash: nothing is repeated. Returns false if steps remain.
#[tracing::instrument(skip_all, fields(clock = %id))]
pub async fn advance_clock(ctx: &Context, id: &ClockId) -> Result<bool, BillingError> {
    let mut unit = ctx.store.begin().await?;
    let wall = ctx.now();
    let is_claimed = unit.clocks().claim(id, wall.minus(CLOCK_LEASE), wall).await?;
    unit.commit().await?;
    if is_claimed { run_steps(ctx, id, wall).await } else { Ok(true) }
}

/// Advancing clocks that no worker holds: their message was lost, or their worker stopped.
#[tracing::instrument(skip_all)]
pub async fn lost_clocks(ctx: &Context, limit: u32) -> Result<Vec<ClockId>, BillingError> {
    let mut unit = ctx.store.read().await?;
    let lost = unit.clocks().under_way(ctx.now().minus(CLOCK_LEASE), limit).await?;
    Ok(lost)
}

/// Advances step by step until the clock has arrived, a charge is undecided, the customer's networks are paused, or another worker has
/// claimed the clock because a step took too long. `touched`: when this worker last wrote the clock.
async fn run_steps(ctx: &Context, id: &ClockId, mut touched: Timestamp) -> Result<bool, BillingError> {
    let (scope, paused) = (Scope::Clock(id.clone()), paused_methods(ctx).await?);
    // Several steps may have the same time, because each bills a limited number of subscriptions.
    let mut entered = None;
    for _ in 0..MAX_STEPS {
        let mut unit = ctx.store.read().await?;
        let Some(clock) = unit.clocks().find(id).await? else { return Ok(true) };
        let Some(target) = clock.target else { return Ok(true) };
        // The next step depends on the outcomes of earlier charges. The reconciler settles them at the clock's current time.
        if unit.attempts().has_open_for_clock(id).await? {
            return Ok(false);
        }
        if is_paused(unit.as_mut(), &clock.customer_id, &paused).await? {
            return Ok(false);
        }
        let due = unit.subscriptions().next_due(id).await?;
        let retry = unit.invoices().next_retry(id).await?;
        let stake = unit.stakes().next_due(id).await?;
        let next_due_at = [due, retry, stake].into_iter().flatten().min().filter(|at| *at <= target);
        // Overdue work runs first, at the clock's current time.
        let now = next_due_at.unwrap_or(target).max(clock.now);
        let next_time = if entered == Some(now) { NextTime::default() } else { NextTime::read(unit.as_mut(), &clock, now).await? };
        let past_due = unit.subscriptions().past_due_of(&clock.customer_id).await?;
        drop(unit);
        for payer in &next_time.payers {
            if let Some(time) = ctx.networks.sandbox_time() {
                time.set(payer, now).await?;
            }
        }
        entered = Some(now);
        let arrived = next_due_at.is_none();
        // The clock is set before the work of this step, because outcomes are recorded with the clock's time.
        let step = ClockStep { now, timeline: &[], arrived };
        if !record_step(ctx, id, &next_time.notifications, step, &mut touched).await? || arrived {
            return Ok(true);
        }
        let renewed = renew_due(ctx, &scope, now, BATCH_SIZE).await?;
        charge(ctx, &renewed.attempts).await?;
        if !record_step(ctx, id, &[], ClockStep { now, timeline: &renewed.timeline, arrived }, &mut touched).await? {
            return Ok(true);
        }
        let retried = retry_due(ctx, &scope, now, BATCH_SIZE).await?;
        charge(ctx, &retried.attempts).await?;
        let moved = move_due_stakes(ctx, &scope, now, BATCH_SIZE).await?;
        charge(ctx, &moved.attempts).await?;
        let attempts: Vec<_> = renewed.attempts.into_iter().chain(retried.attempts).collect();
        let became_past_due = became_past_due(ctx, &clock.customer_id, &past_due, now).await?;
        let timeline = [retried.timeline, moved.timeline, outcomes(ctx, &attempts, now).await?, became_past_due].concat();
        if !record_step(ctx, id, &[], ClockStep { now, timeline: &timeline, arrived }, &mut touched).await? {
            return Ok(true);
        }
    }
    // The clock stays unfinished; [`lost_clocks`] finds it.
    Ok(false)
}

/// Whether a clock has to wait: what is due in its time concerns a paused method.
async fn is_paused(unit: &mut dyn UnitOfWork, customer: &CustomerId, paused: &[MethodId]) -> Result<bool, StorageError> {
    if paused.is_empty() {
        return Ok(false);
    }
    if unit.subscriptions().live_of(customer).await?.iter().any(|one| paused.contains(&one.method_id)) {
        return Ok(true);
    }
    Ok(stakes_at_network(unit, customer).await?.iter().any(|stake| paused.contains(&stake.method_id)))
}

async fn stakes_at_network(unit: &mut dyn UnitOfWork, customer: &CustomerId) -> Result<Vec<Stake>, StorageError> {
    let filter = StakeFilter { customer_id: Some(customer.clone()), statuses: AT_NETWORK.to_vec(), ..StakeFilter::default() };
    Ok(unit.stakes().list(Mode::Test, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list)
}

/// Writes the clock's new time together with the notifications that it passed, so that each is requested once. False: another worker has
/// claimed the clock, and nothing was written.
async fn record_step(
    ctx: &Context,
    id: &ClockId,
    notifications: &[Notification],
    step: ClockStep<'_>,
    touched: &mut Timestamp,
) -> Result<bool, BillingError> {
    let wall = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if !unit.clocks().record_step(id, &step, *touched, wall).await? {
        return Ok(false);
    }
    for notification in notifications {
        notify(ctx, unit.as_mut(), notification, wall).await?;
    }
    unit.commit().await?;
    *touched = wall;
    Ok(true)
}

/// The outcomes of a step's charges.
async fn outcomes(ctx: &Context, attempts: &[AttemptId], now: Timestamp) -> Result<Vec<ClockEvent>, BillingError> {
    let mut timeline = Vec::new();
    let mut unit = ctx.store.read().await?;
    let attempts = unit.attempts().find_all(attempts).await?;
    let intents: Vec<_> = attempts.iter().filter_map(|attempt| attempt.purpose.intent()).cloned().collect();
    let intents = unit.intents().find_all(&intents).await?;
    let intents: HashMap<_, _> = intents.iter().map(|intent| (&intent.id, intent)).collect();
    for attempt in &attempts {
        let Some(intent) = attempt.purpose.intent().and_then(|id| intents.get(id)) else { continue };
        let what = match attempt.status {
            AttemptStatus::Settled => TimelineEvent::Paid,
            AttemptStatus::Declined => TimelineEvent::PaymentDeclined,
            AttemptStatus::Open | AttemptStatus::Unknown => continue,
        };
        timeline.extend(intent.invoices.iter().map(|invoice| ClockEvent { at: now, what, subject: invoice.to_string() }));
    }
    Ok(timeline)
}

/// The subscriptions that became past due in a step. `before`: those that were past due before it.
async fn became_past_due(
    ctx: &Context,
    customer: &CustomerId,
    before: &[SubscriptionId],
    now: Timestamp,
) -> Result<Vec<ClockEvent>, BillingError> {
    let past_due = ctx.store.read().await?.subscriptions().past_due_of(customer).await?;
    let new = past_due.into_iter().filter(|id| !before.contains(id));
    Ok(new.map(|id| ClockEvent { at: now, what: TimelineEvent::PastDue, subject: id.to_string() }).collect())
}

/// What happens when a clock enters its next time, before anything due then.
#[derive(Default)]
struct NextTime {
    notifications: Vec<Notification>,
    /// The wallets that pay for the customer's subscriptions and stakes; their sandbox network follows the clock.
    payers: Vec<Did>,
}

impl NextTime {
    async fn read(unit: &mut dyn UnitOfWork, clock: &TestClock, now: Timestamp) -> Result<Self, BillingError> {
        let subscriptions = unit.subscriptions().live_of(&clock.customer_id).await?;
        let notifications = subscriptions.iter().flat_map(|one| passed_by_clock(one, clock.now, now)).collect();
        let payers = payers(unit, &clock.customer_id, &subscriptions).await?;
        Ok(Self { notifications, payers })
    }
}

async fn payers(unit: &mut dyn UnitOfWork, customer: &CustomerId, subscriptions: &[Subscription]) -> Result<Vec<Did>, BillingError> {
    let ids: Vec<_> = subscriptions.iter().filter_map(|one| one.mandate_id.clone()).collect();
    let mandates = unit.mandates().find_all(&ids).await?;
    let mut payers = Vec::new();
    for mandate in mandates {
        if let Some(MandateDetails::Delegation { payer, .. }) = mandate.details
            && !payers.contains(&payer)
        {
            payers.push(payer);
        }
    }
    for stake in stakes_at_network(unit, customer).await? {
        if !payers.contains(&stake.payer) {
            payers.push(stake.payer);
        }
    }
    Ok(payers)
}
