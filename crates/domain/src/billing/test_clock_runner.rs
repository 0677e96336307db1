//! Advancing a test clock: what would have happened meanwhile happens now, in order, each at its own time.

use super::reminders::passed_by_clock;
use super::{
    BillingError, ClockEvent, ClockStep, Notification, Scope, StakeFilter, StakeStatus, Subscription, TimelineEvent, move_due_stakes,
    notify, renew_due, retry_due,
};
use crate::access::Did;
use crate::context::Context;
use crate::events::{Message, Topic};
use crate::payment::{Attempt, AttemptStatus, MandateDetails, Purpose, charge};
use crate::shared::{AttemptId, ClockId, CustomerId, EventId, MAX_PAGE_SIZE, Mode, Page, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// The furthest that a clock is advanced in one go.
pub const ADVANCE_MAX: Duration = Duration::from_secs(2 * 366 * 24 * 3_600);
/// Subscriptions of one step.
const BATCH: u32 = 500;
/// A clock under way that nobody has touched for so long is in nobody's hand.
pub const CLOCK_LEASE: Duration = Duration::from_secs(60);
/// The most steps of one call: a message that runs too long is taken for lost. What is left goes on in the next.
const STEPS: usize = 2_000;

/// The stakes that a network may hold.
const AT_NETWORK: [StakeStatus; 3] = [StakeStatus::Pending, StakeStatus::Held, StakeStatus::Releasing];

#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("A clock goes forward, by two years at most")]
    BadTarget,
    #[error("Nothing comes next: this customer has no running subscription")]
    NothingDue,
    #[error("This clock is being advanced. Please wait for it.")]
    UnderWay,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Asks for a clock to be advanced. It happens in the background.
pub async fn aim_clock(ctx: &Context, id: &ClockId, target: Timestamp) -> Result<(), AdvanceError> {
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let clock = unit.clocks().find(id).await?.ok_or(AdvanceError::NotFound)?;
    if target <= clock.now || target.since(clock.now) > ADVANCE_MAX {
        return Err(AdvanceError::BadTarget);
    }
    if !unit.clocks().aim(id, target).await? {
        return Err(AdvanceError::UnderWay);
    }
    let message = Message::new(Topic::AdvanceClock, now).with("clock", id);
    unit.outbox().publish(&EventId::new(now, ctx.random.as_ref()), &message, now).await?;
    unit.commit().await?;
    Ok(())
}

/// Lives through the time up to the clock's target. Safe to call again after a crash: what has happened is not repeated.
/// False: there is more to live through.
pub async fn advance_clock(ctx: &Context, id: &ClockId) -> Result<bool, BillingError> {
    let mut unit = ctx.store.begin().await?;
    let wall = ctx.now();
    let is_ours = unit.clocks().claim(id, wall.minus(CLOCK_LEASE), wall).await?;
    unit.commit().await?;
    if is_ours { live_through(ctx, id, wall).await } else { Ok(true) }
}

/// Clocks under way that nobody has in hand: their message got lost, or whoever had them died.
pub async fn lost_clocks(ctx: &Context, limit: u32) -> Result<Vec<ClockId>, BillingError> {
    let mut unit = ctx.store.read().await?;
    Ok(unit.clocks().under_way(ctx.now().minus(CLOCK_LEASE), limit).await?)
}

/// Goes on until the clock has arrived, a charge's outcome has not been seen, or somebody else has it in hand because a step took too long. `touched`: when we last did.
async fn live_through(ctx: &Context, id: &ClockId, mut touched: Timestamp) -> Result<bool, BillingError> {
    let scope = Scope::Clock(id.clone());
    for _ in 0..STEPS {
        let mut unit = ctx.store.read().await?;
        let Some(clock) = unit.clocks().find(id).await? else { return Ok(true) };
        let Some(target) = clock.target else { return Ok(true) };
        // What comes next depends on what became of the charges before. The reconciler finds out, at the time where the clock stands.
        if unit.attempts().has_open_for_clock(id).await? {
            return Ok(false);
        }
        let due = unit.subscriptions().next_due(id).await?;
        let retry = unit.invoices().next_retry(id).await?;
        let stake = unit.stakes().next_due(id).await?;
        let next = [due, retry, stake].into_iter().flatten().min().filter(|at| *at <= target);
        // What was due before goes first, at the time where the clock stands.
        let now = next.unwrap_or(target).max(clock.now);
        let live = unit.subscriptions().live_of(&clock.customer_id).await?;
        let payers = payers(unit.as_mut(), &clock.customer_id, &live).await?;
        drop(unit);
        let notifications: Vec<_> = live.iter().flat_map(|one| passed_by_clock(one, clock.now, now)).collect();
        for payer in &payers {
            if let Some(time) = ctx.networks.sandbox_time() {
                time.set(payer, now).await?;
            }
        }
        let arrived = next.is_none();
        // The customer lives at `now` before anything happens there: outcomes are written with the clock's time.
        if !tick(ctx, id, &notifications, ClockStep { now, timeline: &[], arrived }, &mut touched).await? || arrived {
            return Ok(true);
        }
        let renewed = renew_due(ctx, &scope, now, BATCH).await?;
        charge(ctx, &renewed.attempts).await?;
        if !tick(ctx, id, &[], ClockStep { now, timeline: &renewed.timeline, arrived }, &mut touched).await? {
            return Ok(true);
        }
        let retried = retry_due(ctx, &scope, now, BATCH).await?;
        charge(ctx, &retried.attempts).await?;
        let moved = move_due_stakes(ctx, &scope, now, BATCH).await?;
        charge(ctx, &moved.attempts).await?;
        let attempts: Vec<_> = renewed.attempts.into_iter().chain(retried.attempts).collect();
        let timeline = [retried.timeline, moved.timeline, outcomes(ctx, &attempts, &live, now).await?].concat();
        if !tick(ctx, id, &[], ClockStep { now, timeline: &timeline, arrived }, &mut touched).await? {
            return Ok(true);
        }
    }
    // Left for the next who looks for clocks in nobody's hand.
    Ok(false)
}

/// The clock stands at its new time, and the mails whose moments it passed are asked for: once, because they are written with it.
/// False: somebody else has the clock in hand, and nothing was written.
async fn tick(
    ctx: &Context,
    id: &ClockId,
    notifications: &[Notification],
    tick: ClockStep<'_>,
    touched: &mut Timestamp,
) -> Result<bool, BillingError> {
    let wall = ctx.now();
    let mut unit = ctx.store.begin().await?;
    if !unit.clocks().tick(id, &tick, *touched, wall).await? {
        return Ok(false);
    }
    for notification in notifications {
        notify(ctx, unit.as_mut(), notification, wall).await?;
    }
    unit.commit().await?;
    *touched = wall;
    Ok(true)
}

/// What became of the charges of a step, and which of these subscriptions, as they were before it, fell behind.
async fn outcomes(ctx: &Context, attempts: &[AttemptId], before: &[Subscription], now: Timestamp) -> Result<Vec<ClockEvent>, BillingError> {
    let mut timeline = Vec::new();
    let mut unit = ctx.store.read().await?;
    for id in attempts {
        let Some(Attempt { purpose: Purpose::Payment(intent), status, .. }) = unit.attempts().find(id).await? else { continue };
        let what = match status {
            AttemptStatus::Settled => TimelineEvent::Paid,
            AttemptStatus::Declined => TimelineEvent::PaymentRefused,
            AttemptStatus::Open | AttemptStatus::Unknown => continue,
        };
        let Some(intent) = unit.intents().find(&intent).await? else { continue };
        timeline.extend(intent.invoices.iter().map(|invoice| ClockEvent { at: now, what, subject: invoice.to_string() }));
    }
    let ids: Vec<_> = before.iter().filter(|one| one.past_due_since.is_none()).map(|one| one.id.clone()).collect();
    let behind = unit.subscriptions().find_all(&ids).await?.into_iter().filter(|one| one.past_due_since.is_some());
    timeline.extend(behind.map(|one| ClockEvent { at: now, what: TimelineEvent::PastDue, subject: one.id.to_string() }));
    Ok(timeline)
}

/// The wallets that pay for the customer's subscriptions and stakes: their network follows the clock.
async fn payers(unit: &mut dyn UnitOfWork, customer: &CustomerId, live: &[Subscription]) -> Result<Vec<Did>, BillingError> {
    let ids: Vec<_> = live.iter().filter_map(|one| one.mandate_id.clone()).collect();
    let mandates = unit.mandates().find_all(&ids).await?;
    let mut payers = Vec::new();
    for mandate in mandates {
        if let Some(MandateDetails::Delegation { payer, .. }) = mandate.details
            && !payers.contains(&payer)
        {
            payers.push(payer);
        }
    }
    let filter = StakeFilter { customer_id: Some(customer.clone()), statuses: AT_NETWORK.to_vec(), ..StakeFilter::default() };
    for stake in unit.stakes().list(Mode::Test, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list {
        if !payers.contains(&stake.payer) {
            payers.push(stake.payer);
        }
    }
    Ok(payers)
}
